"""A C program that knows nothing of partitions (``preload/app.c``): how it is made, and what it prints.

Where pages are and how they are bound says the program itself, from the kernel.
"""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

from jobs import ROOT, launcher, run_command

import pyshmem

SOURCES = ROOT / "tests/pes/preload"
FIRST = {"SHMEM_SYMMETRIC_PARTITION1": "size=64M:kind=NODES(0)", "SHMEM_SYMMETRIC_PARTITION2": "size=8M"}
HOW = ("malloc", "align", "shmalloc", "shmemalign", "realloc")
MPOL_DEFAULT, MPOL_PREFERRED, MPOL_BIND = 0, 1, 2  # numaif.h
PAGES = 256  # of 4 KiB in each of the program's allocations
ALL_BOUND = {(pe, what): (PAGES, MPOL_BIND, 1) for pe in (0, 1) for what in HOW}
NONE_BOUND = {(pe, what): (PAGES, MPOL_DEFAULT, 0) for pe in (0, 1) for what in HOW}


def wrapper() -> str:
    """The engine's own compiler."""
    return pyshmem.build_info()["oshcc"] or "oshcc"


def compiled(made: Path, *arguments: str, compiler: tuple[str, ...] = ()) -> str:
    """A program or library, made with the engine's wrapper unless told otherwise."""
    tool = [*(compiler or [wrapper()]), "-std=c11", "-Wall", "-Wextra", "-O1"]
    result = run_command([*tool, *arguments, "-o", str(made)])
    assert result.status == 0, result.output
    return str(made)


def package_flags(package: str) -> list[str]:
    """What pkg-config says of one of ours."""
    path = run_command([*launcher(), "config", "--pkg-config-path"]).output.strip()
    result = run_command(["pkg-config", "--cflags", "--libs", package],
                         {"PKG_CONFIG_PATH": path, "PATH": os.environ["PATH"]})
    assert result.status == 0, result.output
    return shlex.split(result.output)


def bindings(output: str) -> dict[tuple[int, str], tuple[int, int, int]]:
    """``{(PE, what): (pages on node 0, policy, nodes)}`` from the program's lines."""
    form = r"PE (\d): (\w+): node 0 has (\d+) pages, absent 0, policy (\d+) of nodes (\w+), at 0x\w+"
    return {(int(pe), what): (int(pages), int(policy), int(nodes, 16))
            for pe, what, pages, policy, nodes in re.findall(form, output)}


def places(output: str) -> dict[tuple[str, str], int]:
    """What was allocated and how far from the first allocation: the same in the same heap, wherever that is."""
    found = {(pe, what): int(at, 16) for pe, what, at in re.findall(r"PE (\d): (\w+): node .* at (0x\w+)", output)}
    return {key: at - found[key[0], "malloc"] for key, at in found.items()}
