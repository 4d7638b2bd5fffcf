"""Flags: data before flag, every comparison, and other threads that run meanwhile."""

import threading

import numpy as np
import pytest

import pyshmem as shmem

shmem.init(thread_level=shmem.THREAD.MULTIPLE)
me, count = shmem.my_pe(), shmem.n_pes()
right, left = (me + 1) % count, (me - 1) % count

data = shmem.zeros(1000)
flag = shmem.zeros(1, dtype="i8")
for turn in range(1, 101):
    shmem.put(data, np.full(1000, turn + me / 8), right)
    shmem.fence()
    shmem.atomic_set(flag, turn, right)
    shmem.wait_until(flag, shmem.CMP.GE, turn)
    assert (data == turn + left / 8).all()
    shmem.barrier_all()

SATISFIED = {"==": (5,), "!=": (4, 6), ">": (4,), ">=": (4, 5), "<": (6,), "<=": (5, 6)}
for dtype in ["i1", "u1", "i2", "u2", "i4", "i8", "u4", "u8", "f4", "f8", "g"]:
    cell = shmem.full(1, 5, dtype=dtype)
    for text, operands in SATISFIED.items():
        for operand in operands:
            shmem.wait_until(cell, text, operand)  # must return at once
    shmem.free(cell)
cell = shmem.full(1, 5, dtype="i4")
shmem.wait_until(cell, shmem.CMP_EQ, np.array([5], dtype="i4"))
for bad in ("=", "=>", 99, None):
    with pytest.raises(ValueError, match="cmp must be one of"):
        shmem.wait_until(cell, bad, 5)
with pytest.raises(OverflowError):
    shmem.wait_until(cell, "==", 2**40)
with pytest.raises(TypeError, match="cannot wait"):
    shmem.wait_until(shmem.zeros(1, dtype="D"), "==", 0)

# A thread that ends the wait must be able to run.
gate = shmem.zeros(1, dtype="i8")
opener = threading.Timer(0.2, gate.__setitem__, (0, 1))
opener.start()
shmem.wait_until(gate, "==", 1)
opener.join()
print("all well")
