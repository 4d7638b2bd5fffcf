"""Measuring: every contender in turn, round after round, on the same memory and the same peer.

A machine that is slow for a while is slow for all of them, so that what is compared is compared within a round.
"""

from __future__ import annotations

import ctypes
import math
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import permutations, repeat
from pathlib import Path
from typing import Any

import numpy as np
from operations import LARGEST, SHMEM_NAMES, Case, Operation

import pyshmem as shmem

LEAST_CALLS, MOST_CALLS = 4, 20_000  # of one loop: fewer would time its beginning and its end
SANDIA, OPEN_MPI = "Sandia OpenSHMEM", "Open MPI OSHMEM"

Loop = Callable[[int], float]  # how many calls: nanoseconds per call


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
    """Nanoseconds per call, by round, of each contender."""

    rounds: dict[str, list[float]]

    def median(self, name: str) -> float | None:
        """None: it was not measured."""
        return statistics.median(self.rounds[name]) if name in self.rounds else None

    def above_c(self, name: str) -> list[float]:
        return [binding - c for binding, c in zip(self.rounds[name], self.rounds["C"], strict=True)]

    def of_c(self, name: str) -> list[float]:
        """C's time over this one's: the share of C's bandwidth."""
        return [c / binding for binding, c in zip(self.rounds[name], self.rounds["C"], strict=True)]


# ---- the contenders --------------------------------------------------------------------------------------------------

TEMPLATE = """
def loop(calls, {names}):
    start = now()
    for _ in repeat(None, calls):
        {statement}
    {closing}
    return now() - start
"""


def python_loop(statement: str, closing: str, names: dict[str, Any]) -> Loop:
    """A loop over a statement whose names are local variables, as in a careful program; the loop itself taken off."""

    def compiled(statement: str, closing: str) -> Callable[[int], float]:
        scope = {**names, "now": time.perf_counter_ns, "repeat": repeat}
        arguments = ", ".join(f"{name}={name}" for name in scope)
        exec(TEMPLATE.format(names=arguments, statement=statement, closing=closing or "pass"), scope)
        return scope["loop"]  # type: ignore[no-any-return]

    full, empty = compiled(statement, closing), compiled("pass", "")
    return lambda calls: (full(calls) - empty(calls)) / calls


class OfC:
    """The loops of calls.c, compiled with the engine's own compiler wrapper."""

    def __init__(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            library = Path(directory, "calls.so")
            oshcc = shmem.build_info()["oshcc"] or "oshcc"
            source = Path(__file__).with_name("calls.c")
            subprocess.run([oshcc, "-std=c11", "-O2", "-fPIC", "-shared", str(source), "-o", str(library)], check=True)
            self.library = ctypes.CDLL(str(library))
        if self.library.c_open() != 0:
            raise MemoryError("no symmetric memory for the work areas of reductions")

    def loop(self, case: Case, target: Any, source: Any, pe: int) -> Loop:
        function = getattr(self.library, f"c_{case.operation.c}")
        function.restype = ctypes.c_double
        function.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_long]
        return lambda calls: float(function(target.ctypes.data, source.ctypes.data, case.bytes, pe, calls))


class OfShmem:
    """pyshmem or shmem4py: the same statements."""

    def __init__(self, module: Any) -> None:
        self.names = {name: getattr(module, name) for name in SHMEM_NAMES if hasattr(module, name)}
        self.names["GE"] = module.CMP.GE

    def loop(self, case: Case, target: Any, source: Any, pe: int) -> Loop | None:
        names = {**self.names, "target": target, "source": source, "pe": pe}
        if not names.keys() >= set(compile(case.operation.shmem, "", "exec").co_names):
            return None  # shmem4py has no p and g
        return python_loop(case.operation.shmem, case.operation.closing, names)


class OfMpi:
    """One-sided MPI by mpi4py, in a window that is open all the time; MPI and OpenSHMEM are one library here."""

    def __init__(self, mpi: Any) -> None:
        self.window = mpi.Win.Allocate(LARGEST, 1, comm=mpi.COMM_WORLD)
        self.window.Lock_all()
        window, world = self.window, mpi.COMM_WORLD
        self.names = {"Put": window.Put, "Get": window.Get, "Flush": window.Flush, "Barrier": world.Barrier,
                      "Fetch_and_op": window.Fetch_and_op, "Allreduce": world.Allreduce,
                      "one": np.ones(1, dtype="i8"), "result": np.zeros(1, dtype="i8")}

    def loop(self, case: Case, target: Any, source: Any, pe: int) -> Loop | None:
        if not case.operation.mpi:
            return None
        return python_loop(case.operation.mpi, "", {**self.names, "source": source, "pe": pe})

    def close(self) -> None:
        self.window.Unlock_all()
        self.window.Free()


# ---- rounds ----------------------------------------------------------------------------------------------------------

class Measurement:
    """All contenders in this job, and how they are measured."""

    def __init__(self, contenders: dict[str, Any], nanoseconds: float) -> None:
        self.contenders, self.nanoseconds = contenders, nanoseconds
        self.pe = shmem.n_pes() - 1
        # Who waits for PE 0 drives what MPI needs of it, except where threads do that and want its core.
        self.nap = 0.001 if shmem.build_info()["engine"] == SANDIA else 0.0
        self.done = shmem.zeros(1, dtype="i8")
        self.cases = 0

    def measure(self, case: Case, rounds: int) -> Times:
        """Measure one case. Collective; the times are those of PE 0."""
        elements = max(case.bytes // 8, 1)
        target = shmem.zeros(elements, dtype="i8")  # one for all, so that caches favour nobody
        make = shmem.zeros if case.operation.symmetric_source else np.zeros
        source = make(elements, dtype="i8")
        loops = {name: loop for name, contender in self.contenders.items()
                 if (loop := contender.loop(case, target, source, self.pe))}
        times = Times({name: [] for name in loops})
        if case.operation.collective:
            self.take_turns(loops, times, rounds, case.operation)
        else:
            self.alone(loops, times, rounds, case.operation)
        shmem.barrier_all()
        shmem.free(target)
        if case.operation.symmetric_source:
            shmem.free(source)
        return times

    def alone(self, loops: dict[str, Loop], times: Times, rounds: int, operation: Operation) -> None:
        """PE 0 measures, and the others wait until it is done."""
        self.cases += 1
        if shmem.my_pe() == 0:
            self.take_turns(loops, times, rounds, operation)
            for pe in range(1, shmem.n_pes()):
                shmem.p(self.done, self.cases, pe)
            shmem.quiet()
        while shmem.my_pe() != 0 and not shmem.test(self.done, "==", self.cases):
            time.sleep(self.nap)

    def take_turns(self, loops: dict[str, Loop], times: Times, rounds: int, operation: Operation) -> None:
        """All loops in each round, in all orders, so that nobody always follows the same one."""
        calls = {name: self.calls_of(loop, operation) for name, loop in loops.items()}
        orders = list(permutations(loops))
        for number in range(rounds):
            for name in orders[number % len(orders)]:
                if operation.collective:
                    shmem.barrier_all()  # PEs must start together
                times.rounds[name].append(loops[name](calls[name]))

    def calls_of(self, loop: Loop, operation: Operation) -> int:
        """How many calls fill the time of one loop; the same on all PEs. Warms up as well."""
        calls, enough = LEAST_CALLS, False
        loop(calls)  # connections, page tables
        while not enough and calls < MOST_CALLS:
            quickest = min(loop(calls) for _ in range(3))  # a machine that was busy elsewhere must not decide it
            enough = agreed(quickest * calls >= self.nanoseconds / 2, operation)
            calls = calls if enough else min(2 * calls, MOST_CALLS)
        return calls


def agreed(enough: bool, operation: Operation) -> bool:
    """PE 0's answer, where all take part."""
    if not operation.collective:
        return enough
    mine, answer = shmem.full(1, int(enough), dtype="i8"), shmem.zeros(1, dtype="i8")
    shmem.broadcast(answer, mine, 0)
    result = bool(answer[0])
    shmem.free(mine)
    shmem.free(answer)
    return result


def contenders() -> tuple[dict[str, Any], dict[str, str]]:
    """Those that are here, C first; and why the others are not. Collective."""
    found: dict[str, Any] = {"C": OfC(), "pyshmem": OfShmem(shmem)}
    missing = {}
    try:
        import shmem4py

        shmem4py.rc.initialize = shmem4py.rc.finalize = False
        from shmem4py import shmem as other
    except ImportError:
        missing["shmem4py"] = "not installed (OSHCC=... pip install --no-cache-dir shmem4py==1.0.0)"
    else:
        if other.info_get_name() == shmem.info_get_name():
            found["shmem4py"] = OfShmem(other)
        else:  # pip keeps what it has built, for whichever engine that was
            missing["shmem4py"] = f"built for {other.info_get_name()} (pip install --no-cache-dir)"
    if shmem.build_info()["engine"] != OPEN_MPI:
        missing["mpi4py"] = "no MPI in this engine"
        return found, missing
    try:
        from mpi4py import MPI

        found["mpi4py"] = OfMpi(MPI)
    except ImportError:
        missing["mpi4py"] = "not installed"
    return found, missing


def let_threads_run() -> None:
    """Sandia OpenSHMEM on sockets: a thread serves each PE, and does not get to run where PEs spin on all cores."""
    if shmem.build_info()["engine"] == SANDIA:
        os.environ.setdefault("SHMEM_OFI_TX_POLL_LIMIT", "0")
        os.environ.setdefault("SHMEM_OFI_RX_POLL_LIMIT", "0")
