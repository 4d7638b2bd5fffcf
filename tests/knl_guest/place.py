"""Run by the guest tests as one PE of a job: places partitions and says where the kernel put their pages.

Counts by itself (page_counts.py), not through the library, and prints one line of JSON per PE.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from knl_guest.page_counts import page_counts

import pyshmem as shmem


def counted(array: np.ndarray) -> dict[str, int]:
    """Pages of an array on each node, as move_pages says."""
    found = page_counts(array.ctypes.data, array.nbytes)
    return {str(node): pages for node, pages in found.nodes.items()} | (
        {"none": found.not_present} if found.not_present else {}
    )


def main() -> None:
    """Fill every partition, by this PE or by a put of its neighbour, and count."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--touch", choices=["here", "remote", "none"], default="here")
    options = parser.parse_args()
    shmem.init()
    right = (shmem.my_pe() + 1) % shmem.n_pes()
    report = {"pe": shmem.my_pe(), "cpus": sorted(os.sched_getaffinity(0)), "partitions": {}}
    for one in shmem.partitions():
        array = one.empty(one.largest_free, dtype="u1")
        shmem.barrier_all()
        if options.touch == "here":
            array[...] = 1
        elif options.touch == "remote":
            piece = np.ones(1 << 20, dtype="u1")
            for start in range(0, array.size, piece.size):
                shmem.put(array[start : start + piece.size], piece[: array.size - start], right)
        shmem.barrier_all()
        told = {"none" if node is None else str(node): size for node, size in one.placement(array).items()}
        report["partitions"][one.name] = {"counted": counted(array), "told": told, "nodes": one.nodes,
                                          "fell_back": one.fell_back}
    text = shmem.report()
    sys.stdout.write("REPORT " + json.dumps(report) + "\n" + (text + "\n" if shmem.my_pe() == 0 else ""))
    sys.stdout.flush()
    shmem.barrier_all()


main()
