"""Collective calls that differ between PEs end the job soon, with one message: two PEs, and how they differ."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from jobs import check_job, run_job

SECONDS = 30  # of which most is starting Python several times on a busy machine
CHECKED = {"PYSHMEM_DEBUG": "collectives"}
START = """
import sys
import numpy as np
import pyshmem as shmem
from pyshmem import TEAM_WORLD, TEAM_SHARED
shmem.init(partitions={"one": "size=1M", "two": "size=1M"})
me, count = shmem.my_pe(), shmem.n_pes()
a, b = shmem.zeros(12), shmem.zeros(12, "i4")
c, d = shmem.zeros(12, partition="one"), shmem.zeros(24, partition="one")
team = TEAM_WORLD.split_strided(count - 1, -1)
shmem.barrier_all()
if me == 1:
    {odd}
else:
    {others}
for _ in range(5):  # an allocation meets more than once
    shmem.barrier_all()
print("went on")
"""

# What PE 1 does, what the others do, what the message says.
ALLOCATIONS = {
    "size": ("shmem.zeros(11)", "shmem.zeros(10)", ["80 bytes", "88 bytes", "the default heap"]),
    "size in a partition": ("shmem.zeros(11, partition='one')", "shmem.zeros(10, partition='one')",
                            ["80 bytes", "88 bytes", "partition"]),
    "dtype": ("shmem.zeros(10, 'f4')", "shmem.zeros(10)", ["80 bytes", "40 bytes"]),
    "size of many": ("[shmem.empty(100 + (i == 7)) for i in range(9)]", "[shmem.empty(100) for i in range(9)]",
                     ["800 bytes", "808 bytes"]),
    "partition": ("shmem.zeros(10, partition='two')", "shmem.zeros(10, partition='one')",
                  ["partition 2", "partition 3"]),
    "partition or not": ("shmem.zeros(10, partition='one')", "shmem.zeros(10)", ["partition 2", "the default heap"]),
    "alignment": ("shmem.zeros(10, align=256)", "shmem.zeros(10, align=512)", ["256", "512"]),
    "hints": ("shmem.zeros(10, hints=1)", "shmem.zeros(10, hints=2)", ["hints 1", "hints 2"]),
    "shape of an array": ("shmem.array([1, 2])", "shmem.array([1, 2, 3])", ["16 bytes", "24 bytes"]),
    "alloc": ("shmem.alloc(10, 8)", "shmem.alloc(10, 16)", ["80 bytes", "160 bytes"]),
    "nothing here": ("shmem.zeros(0)", "shmem.zeros(10)", ["80 bytes"]),
    "nothing there": ("shmem.zeros(10)", "shmem.zeros(0)", ["80 bytes"]),
    "free": ("shmem.free(a)", "shmem.free(b)", ["frees allocation", "96 bytes", "48 bytes"]),
    "free in a partition": ("shmem.free(c)", "shmem.free(d)", ["frees allocation", "96 bytes", "192 bytes"]),
    "free in another heap": ("shmem.free(a)", "shmem.free(c)", ["frees allocation", "partition 2", "default heap"]),
    "order": ("shmem.zeros(5); shmem.free(a)", "shmem.free(a); shmem.zeros(5)", ["frees allocation", "40 bytes"]),
    "order in a partition": ("shmem.zeros(5, partition='one'); shmem.free(c)",
                             "shmem.free(c); shmem.zeros(5, partition='one')", ["frees allocation", "40 bytes"]),
    "realloc": ("shmem.realloc(a, 10)", "shmem.realloc(a, 20)", ["80 bytes", "160 bytes"]),
    "realloc of another": ("shmem.realloc(c, 10)", "shmem.realloc(d, 10)", ["resizes allocation"]),
    "block": ("with shmem.heap(): shmem.zeros(0)", "with shmem.heap(): shmem.zeros(3)", ["24 bytes"]),
    "end of a block": ("z = shmem.heap(); z.__enter__(); q = shmem.zeros(1); z.__exit__(None, None, None)",
                       "q = shmem.zeros(1); shmem.heap().__enter__().__exit__(None, None, None)",
                       ["frees the 1 ", "frees the 0 "]),
    "barrier instead": ("shmem.barrier_all()", "shmem.zeros(10)", ["80 bytes"]),
    "barrier instead, in a partition": ("shmem.barrier_all()", "shmem.zeros(10, partition='one')", ["80 bytes"]),
    "barrier instead of free": ("shmem.barrier_all()", "shmem.free(a)", ["frees allocation"]),
    "barrier instead of free, in a partition": ("shmem.barrier_all()", "shmem.free(c)", ["frees allocation"]),
    "exits": ("sys.exit()", "shmem.zeros(10)", ["80 bytes"]),
    "exits, in a partition": ("sys.exit()", "shmem.zeros(10, partition='one')", ["80 bytes"]),
    "exits instead of free": ("sys.exit()", "shmem.free(c)", ["frees allocation"]),
    "finalizes": ("shmem.finalize(); sys.exit()", "shmem.zeros(10, partition='one')", ["80 bytes"]),
}
COLLECTIVES = {
    "broadcast root": ("shmem.broadcast(a, a, 1)", "shmem.broadcast(a, a, 0)", ["from PE 0", "from PE 1"]),
    "broadcast size": ("shmem.broadcast(a, a, 0, 3)", "shmem.broadcast(a, a, 0, 4)", ["3 elements", "4 elements"]),
    "broadcast dtype": ("shmem.broadcast(a, a, 0)", "shmem.broadcast(b, b, 0)", ["8 bytes", "4 bytes"]),
    "collect dtype": ("shmem.collect(a, a, 1)", "shmem.collect(b, b, 1)", ["8 bytes", "4 bytes"]),
    "fcollect size": ("shmem.fcollect(a, c, 1)", "shmem.fcollect(a, c, 2)", ["1 elements", "2 elements"]),
    "alltoall size": ("shmem.alltoall(a, c, 1)", "shmem.alltoall(a, c, 2)", ["1 elements", "2 elements"]),
    "alltoalls stride": ("shmem.alltoalls(a, c, 2, 1, 1)", "shmem.alltoalls(a, c, 1, 2, 1)", ["strides 2 and 1"]),
    "operation": ("shmem.sum_reduce(a, a)", "shmem.max_reduce(a, a)", ["sum", "max", "double"]),
    "reduction dtype": ("shmem.sum_reduce(a, a)", "shmem.sum_reduce(b, b)", ["double", "int"]),
    "scan": ("shmem.sum_inscan(a, a)", "shmem.sum_exscan(a, a)", ["scans 12 elements"]),
    "scan size": ("shmem.sum_inscan(a, a, 5)", "shmem.sum_inscan(a, a, 6)", ["scans 5", "scans 6"]),
    "barrier or sync": ("shmem.barrier_all()", "shmem.sync_all()", ["calls barrier", "calls sync"]),
    "barrier or reduction": ("shmem.barrier_all()", "shmem.sum_reduce(a, a)", ["calls barrier", "reduces 12"]),
    "sync of a team": ("team.sync()", "shmem.barrier(team)", ["calls barrier", "calls sync"]),
    "reduction in a team": ("shmem.sum_reduce(a, a, 3, team)", "shmem.sum_reduce(a, a, 4, team)",
                            ["reduces 3", "reduces 4"]),
    "split": ("TEAM_WORLD.split_strided(0, 1, 1)", "TEAM_WORLD.split_strided(0, 1, 2)", ["splits the team"]),
    "grid": ("TEAM_WORLD.split_2d(1)", "TEAM_WORLD.split_2d(2)", ["splits the team"]),
    "split or grid": ("TEAM_WORLD.split_2d(1)", "TEAM_WORLD.split_strided(1, 0)", ["splits the team"]),
    "split, other contexts": ("TEAM_WORLD.split_strided(num_contexts=1)", "TEAM_WORLD.split_strided(0, 1, count - 1)",
                              ["splits the team"]),
    "left out": ("pass", "shmem.sum_reduce(a, a)", ["calls barrier", "reduces 12"]),
    "allocation instead": ("shmem.zeros(3)", "shmem.sum_reduce(a, a)", ["24 bytes", "reduces 12"]),
    # Sandia OpenSHMEM's sync waits for other words than its barrier: without the check both would wait for ever.
    "sync instead of allocation": ("shmem.sync_all()", "shmem.zeros(10, partition='one')", ["80 bytes", "calls sync"]),
    "exits": ("sys.exit()", "shmem.sum_reduce(a, a)", ["reduces 12"]),
    "exits before a barrier": ("sys.exit()", "pass", ["calls barrier"]),
}


def check_difference(program, pes, environment, texts):
    result = run_job(pes, program, environment, timeout=60)
    assert result.status != 0, result.output
    assert result.seconds < SECONDS, result.output
    assert "went on" not in result.output, result.output
    said = re.findall(r"SymmetryError: (PEs differ in a collective call: .*)", result.output)
    assert len(said) == 1, result.output
    assert len(set(re.findall(r"\bPE (\d) ", said[0].split(": ", 1)[1]))) >= 2, said
    for text in texts:
        assert text in said[0], said
    assert result.output.count("Traceback") == 1, result.output


@pytest.fixture
def write(tmp_path):
    def write(odd, others):
        path = tmp_path / "program.py"
        path.write_text(START.replace("{odd}", odd).replace("{others}", others))
        return [str(path)]

    return write


@pytest.mark.parametrize("case", ALLOCATIONS)
def test_allocations_that_differ(case, write):
    odd, others, texts = ALLOCATIONS[case]
    check_difference(write(odd, others), 2 + len(case) % 2, {}, texts)


@pytest.mark.parametrize("case", COLLECTIVES)
def test_collectives_that_differ(case, write):
    odd, others, texts = COLLECTIVES[case]
    check_difference(write(odd, others), 2 + len(case) % 2, CHECKED, texts)


@pytest.mark.parametrize("program", ["collectives", "model"])
def test_right_programs_pass_the_check(program):
    output = check_job(2, [str(Path(__file__).parent / "programs" / f"{program}.py")], CHECKED)
    assert output.count("all well") == 2, output
