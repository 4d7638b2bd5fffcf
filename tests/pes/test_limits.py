"""What containers and batch systems take away: the outcome that the policy says, and a message with the cure."""

from __future__ import annotations

from pathlib import Path

import pytest
from jobs import check_job, run_job

from pyshmem.build import build_info

RESTRICTED = str(Path(__file__).with_name("restricted.py"))
CURE = "allow mbind, move_pages and get_mempolicy (docker: --cap-add SYS_NICE)"
PROGRAM = """\
import sys
import numpy as np
import pyshmem as shmem
shmem.init()
a = shmem.zeros(1000, dtype="i8", partition=2)
shmem.put(a, np.full(1000, shmem.my_pe() + 1), (shmem.my_pe() + 1) % shmem.n_pes())
shmem.barrier_all()
assert (a == (shmem.my_pe() - 1) % shmem.n_pes() + 1).all()
print("right")
"""
ALL = "mbind,get_mempolicy,move_pages"


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return str(path)


def definition(text):
    return {"SHMEM_SYMMETRIC_PARTITION2": text}


@pytest.mark.parametrize("forbidden, policy", [(ALL, "MANDATORY"), (ALL, "INTERLEAVED"), ("mbind", "MANDATORY"),
                                               ("move_pages", "MANDATORY")])
def test_forbidden_calls_fail_what_must_be_placed(program, forbidden, policy):
    result = run_job(2, [RESTRICTED, "--forbid", forbidden, program], definition(f"size=1M:kind=DDR:policy={policy}"))
    assert result.status != 0 and "right" not in result.output, result.output
    assert result.output.count("the job cannot start") == 1 and CURE in result.output, result.output
    assert "Traceback" not in result.output, result.output


def test_forbidden_calls_are_said_once_where_placement_is_only_preferred(program):
    output = check_job(2, [RESTRICTED, "--forbid", ALL, program], definition("size=1M:kind=DDR:policy=PREFERRED"))
    assert output.count("right") == 2 and output.count("warning:") == 1 and output.count(CURE) == 1, output


def test_forbidden_calls_matter_to_nobody_without_a_kind(program):
    output = check_job(2, [RESTRICTED, "--forbid", ALL, program], definition("size=1M") | {"PYSHMEM_REPORT": "1"})
    assert output.count("right") == 2 and "warning:" not in output, output
    assert output.count("not known") == 1, output  # the report, of the pages


def test_no_memory_that_may_be_locked_is_no_matter(program):
    """Nothing is locked here: populated pages can be moved, and only networks pin them."""
    output = check_job(2, [RESTRICTED, "--locked-memory", "0", program], definition("size=4M:kind=DDR"))
    assert output.count("right") == 2 and "warning:" not in output, output


def test_largest_pages_fit_the_heap_and_only_the_kernel_can_refuse_them(program):
    """Pages of 1 GiB, of which hardly any machine has some: where the heap lies is not the reason."""
    result = run_job(2, [program], definition("size=1G:kind=DDR:policy=P:pgsize=1G"))
    if Path("/sys/kernel/mm/hugepages/hugepages-1048576kB").exists():
        assert result.status == 0 and result.output.count("right") == 2, result.output
        assert "no multiple of such a page" not in result.output and "too few of them" in result.output, result.output
    else:
        assert result.status != 0 and "asks for pages of 1 GiB; this machine has 4 KiB" in result.output, result.output


@pytest.mark.parametrize("size", ["8G", "2G"])  # more than the limit; or, where heaps are shared, with the views of all
def test_address_space_that_is_too_small(program, size):
    limit = 6 << 30 if size == "8G" else 5 << 30
    result = run_job(2, [RESTRICTED, "--address-space", str(limit), program], definition(f"size={size}"))
    if size == "2G" and "Open MPI" not in build_info()["engine"]:  # each PE has its own heap alone
        assert result.status == 0 and result.output.count("right") == 2, result.output
        return
    assert result.status != 0 and "right" not in result.output, result.output
    assert result.output.count("ulimit -v") == 1 and "GiB" in result.output, result.output
