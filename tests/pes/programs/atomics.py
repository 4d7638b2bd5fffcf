"""Atomics: totals over all PEs, values before, limits of each dtype."""

import numpy as np
import pytest

import pyshmem as shmem

shmem.init()
me, count = shmem.my_pe(), shmem.n_pes()
ROUNDS = 50

for dtype in ["i4", "i8", "u4", "u8", "l", "q", "L", "Q"]:
    counter = shmem.zeros(1, dtype=dtype)
    taken = [shmem.atomic_fetch_add(counter, 1, 0) for _ in range(ROUNDS)]
    shmem.barrier_all()
    # tickets: every number was handed out once, and to each PE in ascending order
    assert taken == sorted(set(taken))
    handed = shmem.zeros(ROUNDS * count, dtype="i8")
    for ticket in taken:
        shmem.atomic_inc(handed[ticket : ticket + 1], 0)
    shmem.barrier_all()
    if me == 0:
        assert (handed == 1).all()
        assert counter[0] == ROUNDS * count
    shmem.barrier_all()
    shmem.atomic_add(counter, np.int32(2), 0)
    shmem.atomic_inc(counter, 0)
    shmem.barrier_all()
    assert shmem.atomic_fetch(counter, 0) == (ROUNDS + 3) * count
    assert type(shmem.atomic_fetch(counter, 0)) is int
    shmem.barrier_all()
    limits = np.iinfo(dtype)
    for value in (limits.max, limits.min):
        shmem.atomic_set(counter, value, me)
        assert shmem.atomic_fetch(counter, me) == value
    for value in (limits.max + 1, limits.min - 1):
        with pytest.raises(OverflowError, match="does not fit"):
            shmem.atomic_set(counter, value, me)
        assert counter[0] == limits.min
    with pytest.raises(TypeError, match="does not fit"):
        shmem.atomic_add(counter, 1.5, me)
    shmem.barrier_all()
    shmem.free(handed)
    shmem.free(counter)

for dtype in ["f4", "f8"]:
    cell = shmem.zeros(1, dtype=dtype)
    shmem.atomic_set(cell, 0.5 + me, (me + 1) % count)
    shmem.barrier_all()
    assert cell[0] == 0.5 + (me - 1) % count
    assert shmem.atomic_fetch(cell, (me + 1) % count) == 0.5 + me
    with pytest.raises(TypeError, match="no atomic_inc for dtype float"):
        shmem.atomic_inc(cell, 0)
    shmem.barrier_all()
    shmem.free(cell)

for dtype in ["i1", "i2", "?", "g", "D", "S1", ">i4"]:
    cell = shmem.zeros(1, dtype=dtype)
    for call in (lambda: shmem.atomic_set(cell, 1, 0), lambda: shmem.atomic_fetch_add(cell, 1, 0)):
        with pytest.raises(TypeError, match="OpenSHMEM has no atomic"):
            call()
    shmem.free(cell)
print("all well")
