"""What is measured, and what must be reached: one table for C, pyshmem, shmem4py and mpi4py."""

from __future__ import annotations

from dataclasses import dataclass

KIB, MIB = 1 << 10, 1 << 20


@dataclass(frozen=True)
class Operation:
    """One operation as programs write it; each loop ends with `closing`, which completes what it has begun."""

    name: str
    c: str  # the loop in calls.c
    shmem: str  # of pyshmem and shmem4py alike
    closing: str = ""
    mpi: str = ""  # nothing: MPI has nothing like it
    collective: bool = False
    symmetric_source: bool = False


@dataclass(frozen=True)
class Target:
    """What pyshmem must reach."""

    above_c: float | None = None  # at most so many ns above C
    times_less: float | None = None  # at least so many times less above C than shmem4py
    bandwidth: float | None = None  # at least so much of C's


@dataclass(frozen=True)
class Case:
    """One operation with one size."""

    operation: Operation
    bytes: int
    name: str
    target: Target | None = None


PUT = Operation("put", "put", "put(target, source, pe)", "quiet()", mpi="Put(source, pe); Flush(pe)")
GET = Operation("get", "get", "get(source, target, pe)", mpi="Get(source, pe); Flush(pe)")
P = Operation("p", "p", "p(target, 1, pe)", "quiet()")
G = Operation("g", "g", "g(target, pe)")
PUT_NBI = Operation("put_nbi", "put_nbi", "put_nbi(target, source, pe)", "quiet()")
PUT_NBI_QUIET = Operation("put_nbi+quiet", "put_nbi_quiet", "put_nbi(target, source, pe); quiet()",
                          mpi="Put(source, pe); Flush(pe)")
FETCH_ADD = Operation("atomic_fetch_add", "fetch_add", "atomic_fetch_add(target, 1, pe)",
                      mpi="Fetch_and_op(one, result, pe); Flush(pe)")
INC = Operation("atomic_inc", "inc", "atomic_inc(target, pe)", "quiet()")
WAIT = Operation("wait_until", "wait", "wait_until(target, GE, 0)")
SUM = Operation("sum_reduce", "sum", "sum_reduce(target, source)", mpi="Allreduce(one, result)", collective=True,
                symmetric_source=True)
BARRIER = Operation("barrier_all", "barrier", "barrier_all()", mpi="Barrier()", collective=True)
ALLOCATE = Operation("empty+free", "allocate", "free(empty(100))", collective=True)

# Every function of pyshmem and shmem4py that stands above.
SHMEM_NAMES = ("put", "get", "p", "g", "put_nbi", "quiet", "atomic_fetch_add", "atomic_inc", "wait_until", "sum_reduce",
               "barrier_all", "empty", "free")

SMALL = Target(above_c=100, times_less=20)
ATOMIC = Target(above_c=110, times_less=15)
SAME = Target(above_c=100)
WIDE = Target(bandwidth=0.98)

CASES = [
    Case(PUT, 8, "put 8 B", SMALL),
    Case(GET, 8, "get 8 B", SMALL),
    Case(PUT, 4 * KIB, "put 4 KiB", SMALL),
    Case(GET, 4 * KIB, "get 4 KiB"),
    Case(PUT, MIB, "put 1 MiB", WIDE),
    Case(GET, MIB, "get 1 MiB", WIDE),
    Case(PUT, 16 * MIB, "put 16 MiB", WIDE),
    Case(GET, 16 * MIB, "get 16 MiB", WIDE),
    Case(P, 8, "p 8 B", SAME),
    Case(G, 8, "g 8 B", SAME),
    Case(PUT_NBI, 8, "put_nbi 8 B", SAME),
    Case(PUT_NBI_QUIET, 8, "put_nbi+quiet"),
    Case(FETCH_ADD, 8, "atomic_fetch_add", ATOMIC),
    Case(INC, 8, "atomic_inc"),
    Case(WAIT, 8, "wait_until, set", SAME),
    Case(SUM, 8, "sum_reduce of 1", SAME),
    Case(BARRIER, 8, "barrier_all", Target(above_c=150)),
    Case(ALLOCATE, 800, "empty+free 800 B", Target(above_c=1000, times_less=8)),
]

SWEPT = (PUT, GET)
LARGEST = 16 * MIB


def size_text(size: int) -> str:
    """A number of bytes as people read it."""
    return f"{size} B" if size < KIB else f"{size // KIB} KiB" if size < MIB else f"{size // MIB} MiB"


def swept(factor: int) -> list[Case]:
    """The cases of the picture: each size `factor` times the one before, but for those that are measured anyway."""
    sizes = [8 * factor**step for step in range(22) if 8 * factor**step <= LARGEST]
    there = {(case.operation.name, case.bytes) for case in CASES}
    return [Case(operation, size, f"{operation.name} {size_text(size)}") for operation in SWEPT for size in sizes
            if (operation.name, size) not in there]
