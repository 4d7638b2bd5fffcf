"""What a call costs from C, from pyshmem and from shmem4py, in one job on the engine pyshmem was built with.

    python benchmarks/calls.py [--pes 2] [--rounds 101] [--milliseconds 0.5] [--only TEXT]

All three call in turn, round after round, on the same symmetric memory and the same peer, so that a machine that is
slow for a while is slow for all.  Times are medians of the rounds; what a binding adds to C is the median of the
differences within each round, with its 95 % interval, and a verdict that the interval leaves open says so.
shmem4py is measured if it is installed (``OSHCC=... pip install shmem4py==1.0.0``).
"""

from __future__ import annotations

import argparse
import ctypes
import math
import statistics
import subprocess
import sys
import tempfile
import timeit
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
from tabulate import tabulate

import pyshmem as shmem
from pyshmem import launch

KIB, MIB = 1 << 10, 1 << 20
LEAST_CALLS, MOST_CALLS = 4, 20_000  # of one loop: fewer would time the end of the barrier before it
SLOW_CALL = 2_000  # ns; where the engine takes longer, factors of overhead are factors of noise


@dataclass(frozen=True)
class Case:
    """One thing to measure: the C loop, how much data, and what it must reach."""

    name: str
    loop: str
    bytes: int
    above_c: float | None = None  # at most so many ns above C
    times_less: float | None = None  # at least so many times less overhead than shmem4py
    bandwidth: float | None = None  # at least so much of C's


CASES = [
    Case("put 8 B", "put", 8, 100, 20),
    Case("get 8 B", "get", 8, 100, 20),
    Case("put 4 KiB", "put", 4 * KIB, 100, 20),
    Case("put 1 MiB", "put", MIB, bandwidth=0.98),
    Case("get 1 MiB", "get", MIB, bandwidth=0.98),
    Case("put 16 MiB", "put", 16 * MIB, bandwidth=0.98),
    Case("get 16 MiB", "get", 16 * MIB, bandwidth=0.98),
    Case("atomic fetch-add", "fetch_add", 8, 110, 15),
    Case("atomic inc", "inc", 8, 110, 15),
    Case("barrier_all", "barrier", 8, 150),
    Case("wait_until, satisfied", "wait", 8),
    Case("allocate + free 800 B", "allocate", 800, 1000, 8),
]
COLLECTIVE = {"barrier", "allocate"}

# The calls as a program makes them, of pyshmem and shmem4py alike.
STATEMENTS = {
    "put": "put(target, source, pe)",
    "get": "get(source, target, pe)",
    "fetch_add": "atomic_fetch_add(target, 1, pe)",
    "inc": "atomic_inc(target, pe)",
    "barrier": "barrier_all()",
    "wait": "wait_until(target, GE, 0)",
    "allocate": "free(empty(100))",
}
NAMES = ("put", "get", "atomic_fetch_add", "atomic_inc", "barrier_all", "wait_until", "empty", "free")
SETUP = "; ".join([*(f"{name} = module.{name}" for name in NAMES), "GE = module.CMP.GE",
                   "target, source, pe = arguments"])


@dataclass(frozen=True)
class Interval:
    """A median and the 95 % interval around it, whatever the distribution."""

    low: float
    middle: float
    high: float

    @classmethod
    def of(cls, values: Iterable[float]) -> Interval:
        """From one value per round."""
        ordered = sorted(values)
        reach = math.sqrt(len(ordered))
        low = max(math.floor(len(ordered) / 2 - reach), 0)
        return cls(ordered[low], statistics.median(ordered), ordered[len(ordered) - 1 - low])


@dataclass(frozen=True)
class Times:
    """Nanoseconds per call, by round, of C and the modules."""

    rounds: dict[str, list[float]]

    def median(self, name: str) -> float:
        return statistics.median(self.rounds[name])

    def above_c(self, name: str) -> list[float]:
        return [binding - c for binding, c in zip(self.rounds[name], self.rounds["C"], strict=True)]

    def bandwidth(self, name: str) -> list[float]:
        return [c / binding for binding, c in zip(self.rounds[name], self.rounds["C"], strict=True)]

    def compares(self) -> bool:
        """Whether the overheads of the two bindings can be compared."""
        return "shmem4py" in self.rounds and self.median("C") < SLOW_CALL


def c_loops() -> ctypes.CDLL:
    """Compile calls.c with the engine's own compiler wrapper, and load it."""
    with tempfile.TemporaryDirectory() as directory:
        library = Path(directory, "calls.so")
        oshcc = shmem.build_info()["oshcc"] or "oshcc"
        subprocess.run([oshcc, "-std=c11", "-O2", "-fPIC", "-shared", str(Path(__file__).with_name("calls.c")),
                        "-o", str(library)], check=True)
        return ctypes.CDLL(str(library))


def time_c(loop: Any, target: Any, source: Any, case: Case, pe: int, calls: int) -> float:
    """Nanoseconds per call of a C loop."""
    loop.restype = ctypes.c_double
    loop.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_long]
    return float(loop(target.ctypes.data, source.ctypes.data, case.bytes, pe, calls))


def python_timer(module: Any, target: Any, source: Any, case: Case, pe: int) -> Callable[[int], float]:
    """What gives nanoseconds per call of a Python function, the loop itself taken off; compiled once."""
    names = {"module": module, "arguments": (target, source, pe)}
    loop, empty = timeit.Timer(STATEMENTS[case.loop], SETUP, globals=names), timeit.Timer("pass")
    return lambda calls: (loop.timeit(calls) - empty.timeit(calls)) * 1e9 / calls


def calls_per_loop(loop: Any, target: Any, source: Any, case: Case, pe: int, nanoseconds: float) -> int:
    """How many calls fill the time of one loop, on this engine and machine; the same on all PEs."""
    measured, agreed = shmem.zeros(1), shmem.zeros(1)
    calls, enough = LEAST_CALLS, False
    time_here = shmem.my_pe() == 0 or case.loop in COLLECTIVE
    if time_here:
        time_c(loop, target, source, case, pe, calls)  # connections, page tables
    while not enough and calls < MOST_CALLS:
        if time_here:
            measured[0] = time_c(loop, target, source, case, pe, calls) * calls
        shmem.broadcast(agreed, measured, 0)
        enough = agreed[0] >= nanoseconds / 2
        calls = calls if enough else calls * 2
    shmem.free(measured)
    shmem.free(agreed)
    return min(calls, MOST_CALLS)


def measure(case: Case, rounds: int, nanoseconds: float, modules: dict[str, Any], loops: ctypes.CDLL) -> Times:
    """Measure one case; PE 0 calls, the others join in what is collective."""
    pe = shmem.n_pes() - 1
    source = np.zeros(max(case.bytes // 8, 1), dtype="i8")
    target = shmem.zeros(source.size, dtype="i8")  # one for all, so that caches favour nobody
    loop = getattr(loops, f"c_{case.loop}")
    timers = {"C": lambda calls: time_c(loop, target, source, case, pe, calls)}
    timers |= {name: python_timer(module, target, source, case, pe) for name, module in modules.items()}
    times: dict[str, list[float]] = {name: [] for name in timers}
    calls = calls_per_loop(loop, target, source, case, pe, nanoseconds)
    orders = list(permutations(timers))  # all of them, so that nobody always follows the same one
    for one_round in range(rounds + 1):
        for name in orders[one_round % len(orders)]:
            shmem.barrier_all()  # nothing slow may stand between this and the loop: PEs must start together
            if shmem.my_pe() != 0 and case.loop not in COLLECTIVE:
                continue
            took = timers[name](calls)
            if one_round:  # the first warms up
                times[name].append(took)
    shmem.barrier_all()
    shmem.free(target)
    return Times(times)


def judged(*margins: Interval) -> str:
    """Whether all margins, by how much a limit is kept, are positive, and whether the rounds agree on it."""
    worst = min(margins, key=lambda margin: (margin.high >= 0, margin.middle >= 0, margin.low >= 0))
    unsure = worst.low < 0 <= worst.high
    return ("met" if worst.middle >= 0 else "MISSED") + (" (within noise)" if unsure else "")


def verdict(case: Case, times: Times) -> tuple[str, str]:
    """The target in words, and whether it is met."""
    if case.bandwidth is not None:
        reached = times.bandwidth("pyshmem")
        result = judged(Interval.of(ratio - case.bandwidth for ratio in reached))
        return f"{case.bandwidth:.2f} of C", f"{statistics.median(reached):.3f}, {result}"
    if case.above_c is None:
        return "-", "-"
    ours = times.above_c("pyshmem")
    # Where C itself takes microseconds the binding must simply disappear.
    allowed = max(case.above_c, 0.02 * times.median("C"))
    words, margins = f"C + {allowed:,.0f}", [Interval.of(allowed - above for above in ours)]
    if case.times_less is not None and times.compares():
        words += f", {case.times_less:.0f}x less"
        pairs = zip(times.above_c("shmem4py"), ours, strict=True)
        margins.append(Interval.of(theirs - case.times_less * above for theirs, above in pairs))
    return words, judged(*margins)


def row(case: Case, times: Times) -> list[str]:
    """One line of the table."""
    above, less, theirs = Interval.of(times.above_c("pyshmem")), "-", "-"
    if "shmem4py" in times.rounds:
        theirs = f"{times.median('shmem4py'):,.0f}"
    if times.compares() and case.bandwidth is None:
        less = f"{statistics.median(times.above_c('shmem4py')) / max(above.middle, 1):.1f}"
    return [case.name, f"{times.median('C'):,.0f}", f"{times.median('pyshmem'):,.0f}", theirs, f"{above.middle:+,.0f}",
            f"{above.low:+,.0f} to {above.high:+,.0f}", less, *verdict(case, times)]


def run_job(rounds: int, milliseconds: float, only: str) -> None:
    """Measure, as one PE of the job."""
    shmem.init()
    modules: dict[str, Any] = {"pyshmem": shmem}
    try:
        import shmem4py

        shmem4py.rc.initialize = False
        shmem4py.rc.finalize = False
        from shmem4py import shmem as other

        modules["shmem4py"] = other
    except ImportError:
        pass
    loops = c_loops()
    rows = []
    for case in (case for case in CASES if only in case.name):
        times = measure(case, rounds, milliseconds * 1e6, modules, loops)
        if shmem.my_pe() == 0:
            rows.append(row(case, times))
    if shmem.my_pe() == 0:
        info = shmem.build_info()
        engine = f"{info['engine']} {info['engine_version']}"
        print(f"{engine}, {shmem.n_pes()} PEs, medians of {rounds} rounds, ns per call")
        if "shmem4py" not in modules:
            print("shmem4py is not installed, and so not measured")
        print(tabulate(rows, ["call", "C", "pyshmem", "shmem4py", "above C", "95 %", "times less", "target", ""],
                       colalign=("left", *["right"] * 6, "left", "left"), disable_numparse=True), flush=True)


def main() -> None:
    """Start the job, or be one of its PEs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--pes", type=int, default=2, help="PEs of the job (default 2)")
    parser.add_argument("--rounds", type=int, default=101, help="rounds of each case (default 101)")
    parser.add_argument("--milliseconds", type=float, default=0.5, help="what one loop of a round takes (default 0.5)")
    parser.add_argument("--only", default="", metavar="TEXT", help="only the calls with this in their name")
    parser.add_argument("--in-job", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.in_job:
        run_job(options.rounds, options.milliseconds, options.only)
    else:
        program = [str(Path(__file__).resolve()), "--in-job", "--rounds", str(options.rounds),
                   "--milliseconds", str(options.milliseconds), "--only", options.only]
        launch.run(launch.job(options.pes, [], program))
    sys.exit(0)


if __name__ == "__main__":
    main()
