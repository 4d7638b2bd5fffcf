"""``cimport pyshmem`` and the capsules: extension modules of others on symmetric arrays."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import numpy
import pytest
from jobs import PE_COUNTS, check_job

import pyshmem

SOURCE = Path(__file__).parent / "extension" / "others.pyx"
PROGRAM = """\
import ctypes, sys
import numpy as np
import pytest
import pyshmem as shmem
from pyshmem._core import binding

sys.path.insert(0, sys.argv[1])
import others

shmem.init()
me, count = shmem.my_pe(), shmem.n_pes()
letters = shmem.zeros(4, dtype="u1")
others.put_bytes(letters, b"abcd", (me + 1) % count)
shmem.barrier_all()
assert letters.tobytes() == b"abcd"
backwards = shmem.TEAM_WORLD.split_strided(count - 1, -1, count)
with backwards.create_ctx() as ctx:
    mark = shmem.zeros(1, dtype="u1")
    others.put_bytes(mark, bytes([7 + me]), (backwards.my_pe() + 1) % count, ctx)
    assert others.context_address(ctx) not in (0, others.context_address(None))
shmem.barrier_all()
assert mark[0] == 7 + (me + 1) % count
counter = shmem.zeros(1, dtype="l")
seen = others.count_up(counter, 0)
shmem.barrier_all()
assert 0 <= seen < count and (me != 0 or counter[0] == count)
with pytest.raises(ValueError, match="not in symmetric memory"):
    others.put_bytes(np.zeros(4, "u1"), b"abcd", 0)
with pytest.raises(ValueError, match="out of range"):
    others.put_bytes(letters, b"abcd", count)

# The capsules, for those who do not use Cython.
capsule = binding.__pyx_capi__["symmetric_bytes"]
name, pointer = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
name.restype, name.argtypes = ctypes.c_char_p, [ctypes.py_object]
pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
symmetric_bytes = ctypes.PYFUNCTYPE(ctypes.c_ssize_t, ctypes.py_object)(pointer(capsule, name(capsule)))
assert symmetric_bytes(letters) == 4
print("all well")
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The extension, compiled as its author would: Cython, then the engine's compiler wrapper."""
    directory = tmp_path_factory.mktemp("extension")
    package = Path(pyshmem.__file__).parent
    subprocess.run([sys.executable, "-m", "cython", "-3", "-I", str(package.parent), str(SOURCE), "-o",
                    str(directory / "others.c")], check=True, cwd=directory)
    oshcc = pyshmem.build_info()["oshcc"] or os.environ.get("CC", "cc")
    subprocess.run([oshcc, "-shared", "-fPIC", "-O1", "-w", f"-I{sysconfig.get_paths()['include']}",
                    f"-I{numpy.get_include()}", "others.c", "-o", "others.so"], check=True, cwd=directory)
    return directory


@pytest.mark.parametrize("pes", PE_COUNTS)
def test_extension_of_others(built, pes, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    assert check_job(pes, [str(program), str(built)]).count("all well") == pes
