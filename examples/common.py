"""What the examples share: arguments, mistakes said once, timing over all PEs, and where pages are."""

from __future__ import annotations

import argparse
import sys
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

import pyshmem as shmem
from pyshmem.memory import describe_placement

EPSILON = 1e-8  # what the kernels allow between result and reference


def positive(text: str) -> int:
    """An argument that must be a whole number of 1 or more."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be 1 or more, not {text}")
    return number


def parser(description: str, **positionals: str) -> argparse.ArgumentParser:
    """A command line of counts, given as ``name="help"``, and ``--partition``."""
    made = argparse.ArgumentParser(description=description, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    for name, text in positionals.items():
        made.add_argument(name, type=positive, help=text)
    made.add_argument("--partition", metavar="NAME", help="partition for the arrays (by default the default heap)")
    return made


def start(made: argparse.ArgumentParser) -> argparse.Namespace:
    """Start OpenSHMEM and read the command line; what is wrong with it is said by PE 0 alone."""
    shmem.init()
    try:
        options = made.parse_args() if shmem.my_pe() == 0 else _parse_quietly(made)
        if options.partition is not None:
            shmem.partition(options.partition)
    except KeyError as error:
        refuse(str(error))
    return options


def _parse_quietly(made: argparse.ArgumentParser) -> argparse.Namespace:
    made.error = lambda message: sys.exit(2)  # type: ignore[method-assign]
    made.print_help = lambda file=None: None  # type: ignore[method-assign]
    return made.parse_args()


def refuse(message: str) -> NoReturn:
    """End on all PEs, since all find the same mistake; PE 0 says it."""
    if shmem.my_pe() == 0:
        print(f"{sys.argv[0]}: {message}", file=sys.stderr, flush=True)
    shmem.barrier_all()
    sys.exit(2)


def over_all(value: float, operation: str) -> float:
    """Combine one number over all PEs. Collective."""
    cell = shmem.array([value], dtype="f8")
    shmem.reduce(cell, cell, operation)  # type: ignore[arg-type]
    result = float(cell[0])
    shmem.free(cell)
    return result


def report(name: str, valid: bool, detail: str, rate: str, seconds: float, array: NDArray[Any]) -> None:
    """Say on PE 0 whether the solution validates, how fast it was, and where its pages are; leave if it does not."""
    lines = _placement_lines(array)
    if shmem.my_pe() == 0:
        verdict = "solution validates" if valid else "SOLUTION DOES NOT VALIDATE"
        print(f"{name} on {shmem.n_pes()} PEs: {verdict} ({detail})")
        print(f"rate: {rate}, average time {seconds * 1e3:.3f} ms")
        print("\n".join(lines), flush=True)
    if not valid:
        sys.exit(1)


def _placement_lines(array: NDArray[Any]) -> list[str]:
    """One line per PE; every PE writes its own into symmetric memory, and PE 0 reads them all."""
    text = describe_placement(shmem.placement(array)).encode()[:200]
    mine = shmem.zeros(200, dtype="u1")
    mine[: len(text)] = np.frombuffer(text, dtype="u1")
    shmem.barrier_all()
    lines = []
    if shmem.my_pe() == 0:
        line = np.zeros(200, dtype="u1")
        for pe in range(shmem.n_pes()):
            shmem.get(line, mine, pe)
            lines.append(f"pages of PE {pe}: {line.tobytes().rstrip(bytes(1)).decode()}")
    shmem.barrier_all()
    shmem.free(mine)
    return lines
