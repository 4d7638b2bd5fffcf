"""Packages of others in the same job: mpi4py, where MPI and OpenSHMEM are one library, and numba."""

from __future__ import annotations

from pathlib import Path

import pytest
from jobs import PE_COUNTS, check_job

from pyshmem.build import build_info

PROGRAMS = Path(__file__).parent / "interoperability"
CASES = [("with_numba.py",)]
if "Open MPI" in build_info()["engine"]:
    CASES += [("with_mpi4py.py", "mpi first"), ("with_mpi4py.py", "shmem first")]


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """What numba has compiled once is not compiled again."""
    return {"NUMBA_CACHE_DIR": str(tmp_path_factory.mktemp("numba"))}


@pytest.mark.parametrize("pes", PE_COUNTS)
@pytest.mark.parametrize("program", CASES, ids=" ".join)
def test_package(program, pes, cache):
    output = check_job(pes, [str(PROGRAMS / program[0]), *program[1:]], cache)
    assert output.count("all well") == pes, output
