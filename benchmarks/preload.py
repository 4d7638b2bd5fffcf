"""What the preload library costs a C program that knows nothing of it, and what partition 1 costs in place of the heap.

    python benchmarks/preload.py [--rounds N]

runs a program on 2 PEs as it is, with the library preloaded and nothing defined, and with its heap in a partition; job
after job in turn, and compares within each round.
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

HERE = Path(__file__).parent
PARTITION = "SHMEM_SYMMETRIC_PARTITION1=size=64M:kind=NODES(0)"
PRELOADED = f"LD_PRELOAD={preload_library()}"
WAYS = {"plain": [], "preloaded": [PRELOADED], "partition": [PRELOADED, PARTITION]}
Figures = dict[str, list[float]]


def program(directory: Path) -> Path:
    made = directory / "unaware"
    subprocess.run([build_info()["oshcc"] or "oshcc", "-std=c11", "-O2", f"-I{HERE}", str(HERE / "unaware.c"),
                    "-o", str(made)], check=True)
    return made


def run(command: list[str]) -> dict[str, float]:
    launcher = [str(Path(sys.executable).parent / "pyshmem"), "run", "-n", "2", "--"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("SHMEM_", "SMA_"))}
    done = subprocess.run([*launcher, "env", *command], check=True, stdout=subprocess.PIPE, text=True, env=environment)
    return {name: float(value) for name, value in map(str.split, done.stdout.splitlines())}


def measured(rounds: int) -> dict[str, Figures]:
    """Figures of each way, by call, a value a round."""
    found: dict[str, Figures] = {way: {} for way in WAYS}
    with tempfile.TemporaryDirectory() as scratch:
        made = str(program(Path(scratch)))
        for number in range(rounds):
            for way in list(WAYS)[number % 3:] + list(WAYS)[:number % 3]:  # none is always the first
                for name, value in run([*WAYS[way], made]).items():
                    found[way].setdefault(name, []).append(value)
    return found


def rows(found: dict[str, Figures]) -> list[list[str]]:
    def ratio(way: str, name: str) -> str:
        return f"{statistics.median(a / b for a, b in zip(found[way][name], found['plain'][name], strict=True)):.3f}"

    return [[name.replace(",", ", "), *(f"{statistics.median(found[way][name]):.0f}" for way in WAYS),
             ratio("preloaded", name), ratio("partition", name)] for name in found["plain"]]


def main() -> None:
    parser = argparse.ArgumentParser(description="What preloading costs a C program.")
    parser.add_argument("--rounds", type=int, default=15)
    found = measured(parser.parse_args().rounds)
    print(tabulate(rows(found), ["ns a call", *WAYS, "preloaded/plain", "partition/plain"]))
    print(f"\n2 PEs, {build_info()['engine']} {build_info()['engine_version']}; medians of jobs, ratios within rounds")


if __name__ == "__main__":
    main()
