"""What a call costs from C, from pyshmem and from shmem4py, in one job on the engine pyshmem was built with.

    python benchmarks/calls.py [--pes 2] [--rounds 15]

All three call in turn, round after round, on the same symmetric memory and the same peer, so that a machine that is
slow for a while is slow for all; figures are medians of the rounds.  shmem4py is measured if it is installed
(``OSHCC=... pip install shmem4py==1.0.0``).
"""

from __future__ import annotations

import argparse
import ctypes
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np
from tabulate import tabulate

import pyshmem as shmem
from pyshmem import launch

KIB, MIB = 1 << 10, 1 << 20


@dataclass(frozen=True)
class Case:
    """One thing to measure: the C loop, the Python call, how much data, and what it must reach."""

    name: str
    loop: str
    bytes: int
    calls: int  # per round
    above_c: float | None  # at most so many ns above C
    times_less: float | None  # at least so many times less overhead than shmem4py
    bandwidth: float | None = None  # at least so much of C's


CASES = [
    Case("put 8 B", "put", 8, 20_000, 100, 20),
    Case("get 8 B", "get", 8, 20_000, 100, 20),
    Case("put 4 KiB", "put", 4 * KIB, 10_000, 100, 20),
    Case("put 1 MiB", "put", MIB, 100, None, None, 0.98),
    Case("get 1 MiB", "get", MIB, 100, None, None, 0.98),
    Case("put 16 MiB", "put", 16 * MIB, 4, None, None, 0.98),
    Case("atomic fetch-add", "fetch_add", 8, 20_000, 110, 15),
    Case("atomic inc", "inc", 8, 20_000, 110, 15),
    Case("barrier_all", "barrier", 8, 3_000, 150, None),
    Case("wait_until, satisfied", "wait", 8, 20_000, None, None),
    Case("allocate + free 800 B", "allocate", 800, 1_000, 1000, 8),
]


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


def time_python(function: Callable[..., Any], arguments: tuple[Any, ...], calls: int) -> float:
    """Nanoseconds per call of a Python function, the loop itself taken off."""
    start = time.perf_counter_ns()
    for _ in repeat(None, calls):
        function(*arguments)
    took = time.perf_counter_ns() - start
    start = time.perf_counter_ns()
    for _ in repeat(None, calls):
        pass
    return (took - (time.perf_counter_ns() - start)) / calls


Call = tuple[Callable[..., Any], tuple[Any, ...]]


def python_call(module: Any, case: Case, target: Any, source: Any, pe: int) -> Call:
    """The call as a program makes it."""
    if case.loop == "put":
        return module.put, (target, source, pe)
    if case.loop == "get":
        return module.get, (source, target, pe)
    if case.loop == "fetch_add":
        return module.atomic_fetch_add, (target, 1, pe)
    if case.loop == "inc":
        return module.atomic_inc, (target, pe)
    if case.loop == "barrier":
        return module.barrier_all, ()
    if case.loop == "wait":
        return module.wait_until, (target, module.CMP.GE, 0)
    return (lambda: module.free(module.empty(100))), ()


COLLECTIVE = {"barrier", "allocate"}


def measure(case: Case, rounds: int, modules: dict[str, Any], loops: ctypes.CDLL) -> dict[str, float]:
    """Medians of a case for C and each module; PE 0 calls, the others join in what is collective."""
    me, pe = shmem.my_pe(), shmem.n_pes() - 1
    times: dict[str, list[float]] = {"C": [], **{name: [] for name in modules}}
    source = np.zeros(max(case.bytes // 8, 1), dtype="i8")
    target = shmem.zeros(source.size, dtype="i8")  # one for all, so that caches favour nobody
    active = me == 0 or case.loop in COLLECTIVE
    for one_round in range(rounds + 1):
        order = list(times) if one_round % 2 else list(reversed(times))
        for name in order:
            shmem.barrier_all()
            if not active:
                continue
            if name == "C":
                took = time_c(getattr(loops, f"c_{case.loop}"), target, source, case, pe, case.calls)
            else:
                took = time_python(*python_call(modules[name], case, target, source, pe), case.calls)
            if one_round:  # the first warms up
                times[name].append(took)
    shmem.barrier_all()
    shmem.free(target)
    medians = {name: statistics.median(values) for name, values in times.items() if values}
    # Bandwidths are compared round by round: large copies drift with the machine more than they differ.
    pairs = [c / ours for c, ours in zip(times["C"], times["pyshmem"], strict=True)]
    return medians | ({"C/pyshmem": statistics.median(pairs)} if pairs else {})


def row(case: Case, took: dict[str, float]) -> list[str]:
    """One line of the table."""
    c, ours, theirs = took["C"], took["pyshmem"], took.get("shmem4py")
    above = ours - c
    less = f"{(theirs - c) / max(above, 1):.0f}" if theirs is not None and case.bandwidth is None else "-"
    return [case.name, f"{c:,.0f}", f"{ours:,.0f}", f"{theirs:,.0f}" if theirs is not None else "-", f"{above:+,.0f}",
            less, *verdict(case, took)]


def verdict(case: Case, took: dict[str, float]) -> tuple[str, str]:
    """The target in words, and whether it is met."""
    c, ours, theirs = took["C"], took["pyshmem"], took.get("shmem4py")
    if case.bandwidth is not None:
        reached = took["C/pyshmem"]
        return f"{case.bandwidth:.2f} of C", f"{'met' if reached >= case.bandwidth else 'MISSED'} ({reached:.3f})"
    if case.above_c is None:
        return "-", "-"
    # Where C itself takes microseconds the binding must simply disappear.
    allowed = max(case.above_c, 0.02 * c)
    good = ours - c <= allowed
    words = f"C + {allowed:,.0f}"
    if case.times_less is not None and theirs is not None and c < 2000:
        good = good and theirs - c >= case.times_less * (ours - c)
        words += f", {case.times_less:.0f}x less"
    return words, "met" if good else "MISSED"


def run_job(rounds: int) -> None:
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
    rows = [(case, measure(case, rounds, modules, loops)) for case in CASES]
    if shmem.my_pe() == 0:
        info = shmem.build_info()
        engine = f"{info['engine']} {info['engine_version']}"
        print(f"{engine}, {shmem.n_pes()} PEs, medians of {rounds} rounds, ns per call")
        if "shmem4py" not in modules:
            print("shmem4py is not installed, and so not measured")
        print(tabulate([row(*one) for one in rows],
                       ["call", "C", "pyshmem", "shmem4py", "above C", "times less", "target", ""],
                       colalign=("left", *["right"] * 5, "left", "left"), disable_numparse=True), flush=True)


def main() -> None:
    """Start the job, or be one of its PEs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--pes", type=int, default=2, help="PEs of the job (default 2)")
    parser.add_argument("--rounds", type=int, default=15, help="rounds of each case (default 15)")
    parser.add_argument("--in-job", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.in_job:
        run_job(options.rounds)
    else:
        program = [str(Path(__file__).resolve()), "--in-job", "--rounds", str(options.rounds)]
        launch.run(launch.job(options.pes, [], program))
    sys.exit(0)


if __name__ == "__main__":
    main()
