"""The examples on real input, at 1 to 4 PEs, in the default heap and in a partition."""

from __future__ import annotations

import os
import shutil

import pytest
from jobs import PE_COUNTS, ROOT, check_job, launcher, run_command, run_job

EXAMPLES = ROOT / "examples"
FAST = {"SHMEM_SYMMETRIC_PARTITION2": "size=32M:kind=DDR:name=near"}
KERNELS = {
    "stencil": (["4", "120"], "reference 10)"),  # 2 * (iterations + 1)
    "transpose": (["4", "120"], "absolute error 0)"),
    "p2p": (["4", "120", "30"], "reference 740)"),  # (iterations + 1) * (rows + columns - 2)
}


@pytest.mark.parametrize("pes", PE_COUNTS)
@pytest.mark.parametrize("kernel", KERNELS)
def test_kernel_validates(kernel, pes):
    arguments, reference = KERNELS[kernel]
    output = check_job(pes, [str(EXAMPLES / f"{kernel}.py"), *arguments, "--partition", "near"], FAST)
    assert f"{kernel} on {pes} PEs: solution validates" in output
    assert reference in output
    assert "rate: " in output
    for pe in range(pes):
        assert f"pages of PE {pe}: node 0" in output


def test_kernel_in_the_default_heap_and_other_radius():
    assert "validates" in check_job(3, [str(EXAMPLES / "stencil.py"), "3", "61", "--radius", "4"])


@pytest.mark.parametrize("pes", PE_COUNTS)
def test_hello(pes):
    output = check_job(pes, [str(EXAMPLES / "hello.py")])
    for pe in range(pes):
        assert f"PE {pe} of {pes}" in output


@pytest.mark.parametrize("pes", PE_COUNTS)
def test_first_steps(pes):
    """The three programs of docs/first-steps.md."""
    assert check_job(pes, [str(EXAMPLES / "ring.py")]).count(f"{pes} rounds from PE") == pes
    assert "as on one PE" in check_job(pes, [str(EXAMPLES / "halo.py"), "20", "100"])
    output = check_job(pes, [str(EXAMPLES / "work_stealing.py")])
    assert "area of the circle: 3.141592" in output
    assert sum(int(line.split(": did ")[1].split(" of ")[0]) for line in output.splitlines() if ": did " in line) == 200


@pytest.mark.parametrize("program, text", [
    (["stencil.py", "3", "4", "--radius", "2"], "needs a grid of 5 or more"),
    (["stencil.py", "0", "100"], "must be 1 or more"),
    (["stencil.py"], "required"),
    (["transpose.py", "3", "101"], "cannot be shared by 2 PEs"),
    (["p2p.py", "3", "2", "9"], "take more rows than PEs"),
    (["stencil.py", "3", "100", "--partition", "nowhere"], "there is no partition 'nowhere'"),
])
def test_mistakes_are_said_once(program, text):
    result = run_job(2, [str(EXAMPLES / program[0]), *program[1:]])
    assert result.status != 0
    assert result.output.count(text) == 1, result.output
    assert "Traceback" not in result.output


@pytest.fixture(scope="module")
def seven(tmp_path_factory):
    """The C example, built as a user builds it: with make, against the installed copy."""
    import pyshmem

    directory = shutil.copytree(EXAMPLES / "c", tmp_path_factory.mktemp("c") / "c")
    oshcc = pyshmem.build_info()["oshcc"] or "oshcc"
    result = run_command(["make", f"PYSHMEM={launcher()[0]}", f"OSHCC={oshcc}"], cwd=directory)
    assert result.status == 0 and "warning" not in result.output, result.output
    assert os.access(directory / "seven", os.X_OK)
    return str(directory / "seven")


@pytest.mark.parametrize("pes", PE_COUNTS)
def test_seven_partitions_in_c(seven, pes):
    output = check_job(pes, [seven])
    assert output.count("all patterns are right") == pes
    for number in range(2, 9):
        assert f"partition {number} " in output


def test_c_program_is_placed_by_the_environment(seven):
    output = check_job(2, [seven], {"SHMEM_SYMMETRIC_PARTITION4": "size=8M:kind=DDR:name=mine"})
    assert 'partition 4 "mine": 8 MiB' in output and "on NUMA node 0" in output


def test_c_program_ends_on_a_bad_definition(seven):
    result = run_job(2, [seven], {"SHMEM_SYMMETRIC_PARTITION4": "size=8M:kind=FASTMEN"})
    assert result.status != 0
    assert result.output.count("did you mean") == 1, result.output
