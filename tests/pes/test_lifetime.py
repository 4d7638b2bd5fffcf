"""Arrays that are dropped, over many rounds and on four PEs each in its own way, and arrays that are not."""

from __future__ import annotations

from pathlib import Path

import pytest
from jobs import check_job

import pyshmem

# Each round meets several times, and Sandia OpenSHMEM's emulated network takes its time for that.
ROUNDS = 300 if pyshmem.build_info()["engine"].startswith("Sandia") else 10_000


def test_arrays_dropped_in_any_order_neither_hang_nor_grow():
    output = check_job(4, [str(Path(__file__).with_name("stress_drops.py")), str(ROUNDS)])
    assert output.count("all well") == 4, output


LEAVES_TWO = """\
import pyshmem as shmem
shmem.init()
kept, dropped, freed = shmem.zeros(10), shmem.zeros(3), shmem.zeros(5)
shmem.free(freed)
del dropped
shmem.barrier_all()
{end}
"""


@pytest.mark.parametrize("end", ["shmem.finalize()", "pass"])
def test_what_is_alive_at_the_end_is_reported_if_asked(tmp_path, end):
    program = tmp_path / "leaves.py"
    program.write_text(LEAVES_TWO.format(end=end))
    assert "alive" not in check_job(2, [str(program)])
    output = check_job(2, [str(program)], {"PYSHMEM_DEBUG": "leaks"})
    assert output.count("alive at finalize") == 1 and "80 bytes in the default heap, made at " in output, output
    assert f"{program.name}:3" in output and "40 bytes" not in output and "unknown" not in output, output
