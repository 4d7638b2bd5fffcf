"""The size of the default heap: the specification's own variable counts on every engine."""

from __future__ import annotations

import pytest
from jobs import check_job, run_job

PROGRAM = """
import pyshmem as shmem, sys
shmem.init()
try:
    shmem.free(shmem.empty(int(sys.argv[1]), dtype='u1'))
    print('granted')
except MemoryError as error:
    print('refused', error)
"""


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return str(path)


@pytest.mark.parametrize("variable", ["SHMEM_SYMMETRIC_SIZE", "SMA_SYMMETRIC_SIZE"])
def test_variable_counts(variable, program):
    assert "granted" in check_job(1, [program, str(900 << 20)], {variable: "1g"})


def test_small_heap_is_refused_with_the_variable(program):
    output = check_job(2, [program, str(900 << 20)], {"SHMEM_SYMMETRIC_SIZE": "64M"})
    assert output.count("refused") == 2 and "SHMEM_SYMMETRIC_SIZE" in output


def test_partitions_come_on_top(program):
    environment = {"SHMEM_SYMMETRIC_SIZE": "1G", "SHMEM_SYMMETRIC_PARTITION3": "size=1G"}
    assert "granted" in check_job(1, [program, str(900 << 20)], environment)


def test_two_that_differ_are_refused(program):
    result = run_job(2, [program, "1"], {"SHMEM_SYMMETRIC_SIZE": "1G", "SMA_SYMMETRIC_SIZE": "2G"})
    assert result.status != 0
    assert "SMA_SYMMETRIC_SIZE" in result.output and "SHMEM_SYMMETRIC_SIZE" in result.output
