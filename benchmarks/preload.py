"""What the preload library costs a C program that knows nothing of it, and what partition 1 costs in place of the heap.

    python benchmarks/preload.py [--jobs N]

Starts unaware.c on 2 PEs as it is, with the library preloaded and nothing defined, and with its heap in a partition.
Each job compares what it calls by name with the engine's own function, round by round: as it is, that is one function.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from tabulate import tabulate

from pyshmem.build import build_info, preload_library

SOURCE = Path(__file__).with_name("unaware.c")
PARTITION = "SHMEM_SYMMETRIC_PARTITION1=size=64M:kind=NODES(0)"
PRELOADED = f"LD_PRELOAD={preload_library()}"
WAYS = {"plain": [], "preloaded": [PRELOADED], "partition": [PRELOADED, PARTITION]}
Figures = dict[str, list[float]]  # by call: nanoseconds by name, of the engine's own, and the ratio


def compiled(directory: Path) -> str:
    made = directory / "unaware"
    subprocess.run([build_info()["oshcc"] or "oshcc", "-std=c11", "-O2", str(SOURCE), "-o", str(made), "-ldl"],
                   check=True)
    return str(made)


def run(command: list[str]) -> Figures:
    launcher = [str(Path(sys.executable).parent / "pyshmem"), "run", "-n", "2", "--"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("SHMEM_", "SMA_"))}
    done = subprocess.run([*launcher, "env", *command], check=True, stdout=subprocess.PIPE, text=True, env=environment)
    lines = [line.split() for line in done.stdout.splitlines()]
    return {name: [float(figure) for figure in figures] for name, *figures in lines}


def rows(found: dict[str, list[Figures]]) -> list[list[str]]:
    """A row a call: medians over jobs."""
    def median(way: str, name: str, figure: int) -> float:
        return statistics.median(job[name][figure] for job in found[way])

    return [[name.replace(",", ", "), f"{median('plain', name, 1):.0f}",
             *(f"{median(way, name, 2):.3f}" for way in WAYS)] for name in found["plain"][0]]


def main() -> None:
    parser = argparse.ArgumentParser(description="What preloading costs a C program.")
    parser.add_argument("--jobs", type=int, default=7, help="of each sort (default 7)")
    jobs = parser.parse_args().jobs
    with tempfile.TemporaryDirectory() as scratch:
        program = compiled(Path(scratch))
        found = {way: [run([*variables, program]) for _ in range(jobs)] for way, variables in WAYS.items()}
    print(tabulate(rows(found), ["", "engine, ns", *(f"{way} / engine" for way in WAYS)]))
    print(f"\n2 PEs, {build_info()['engine']} {build_info()['engine_version']}; medians of {jobs} jobs")


if __name__ == "__main__":
    main()
