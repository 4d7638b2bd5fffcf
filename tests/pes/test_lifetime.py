"""Dropped arrays over many rounds, on four PEs that drop them each in its own way."""

from __future__ import annotations

from pathlib import Path

from jobs import check_job

import pyshmem

# Each round meets several times, and Sandia OpenSHMEM's emulated network takes its time for that.
ROUNDS = 300 if pyshmem.build_info()["engine"].startswith("Sandia") else 10_000


def test_arrays_dropped_in_any_order_neither_hang_nor_grow():
    output = check_job(4, [str(Path(__file__).with_name("stress_drops.py")), str(ROUNDS)])
    assert output.count("all well") == 4, output
