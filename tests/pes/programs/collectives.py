"""Collectives against the same operation in NumPy, for every dtype and for odd sizes."""

import time
from functools import reduce

import numpy as np
import pytest

import pyshmem as shmem

shmem.init()
me, count = shmem.my_pe(), shmem.n_pes()
UFUNC = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum, "and": np.bitwise_and,
         "or": np.bitwise_or, "xor": np.bitwise_xor}
INTEGERS = [*"bhilqBHILQ"]
REALS = [*"fdg"]
COMPLEXES = [*"FDG"]


def values(pe, length, dtype, low=1):
    return (np.random.default_rng(pe).integers(low, 4, length)).astype(dtype)


for op, ufunc in UFUNC.items():
    for dtype in INTEGERS + (REALS if op in ("sum", "prod", "max", "min") else []) + (
            COMPLEXES if op in ("sum", "prod") else []):
        for length in (1, 7, 5000):
            source = shmem.array(values(me, length, dtype))
            target = shmem.zeros(length, dtype=dtype)
            shmem.reduce(target, source, op)
            with np.errstate(over="ignore"):
                expected = reduce(ufunc, [values(pe, length, dtype) for pe in range(count)])
            assert (target == expected).all(), (op, dtype, length, target, expected)
            assert (source == values(me, length, dtype)).all()
            shmem.barrier_all()
            getattr(shmem, f"{op}_reduce")(source, source)  # in place
            assert (source == expected).all(), (op, dtype)
            shmem.free(source)
            shmem.free(target)
for op, dtype in [("and", "f8"), ("max", "D"), ("sum", "?"), ("sum", "S1")]:
    one = shmem.zeros(1, dtype=dtype)
    with pytest.raises(TypeError, match=f"no {op} reduction"):
        shmem.reduce(one, one, op)
    shmem.free(one)
one = shmem.zeros(1)
with pytest.raises(ValueError, match="op must be one of"):
    shmem.reduce(one, one, "mean")

for dtype in ["i1", "i2", "i4", "f8", "D", "g", "G", "S1", "?"]:
    for length in (1, 3, 8, 1001):
        source = shmem.array(values(me, length * count, dtype))
        target = shmem.zeros(length * count, dtype=dtype)
        zero = bytes(target.itemsize)
        shmem.fcollect(target, source, length)
        assert (target == np.concatenate([values(pe, length * count, dtype)[:length] for pe in range(count)])).all()
        shmem.barrier_all()
        target[...] = 0
        shmem.barrier_all()
        shmem.alltoall(target, source)
        expected = [values(pe, length * count, dtype)[length * me : length * (me + 1)] for pe in range(count)]
        assert (target == np.concatenate(expected)).all(), (dtype, length)
        shmem.barrier_all()
        for root in range(count):
            target.view("u1")[...] = 0
            shmem.barrier_all()
            shmem.broadcast(target, source, root, length)
            assert (target[:length] == values(root, length * count, dtype)[:length]).all(), (dtype, root)
            assert target[length:].tobytes() == zero * length * (count - 1)
            shmem.barrier_all()
        shmem.free(source)
        shmem.free(target)

# what all bring together must fit, and what differs between PEs may
source, target = shmem.full(4, me, dtype="i8"), shmem.full(4 * count - 1, -1, dtype="i8")
too_much = f"bring {4 * count} elements together, target has {4 * count - 1}"
with pytest.raises(ValueError, match="small" if count == 1 else too_much):
    shmem.collect(target, source)
assert (target == -1).all()
shmem.barrier_all()
shmem.collect(target, source, 3 if me == count - 1 else 4)
assert target.tolist() == np.repeat(np.arange(count), 4)[:-1].tolist()
shmem.barrier_all()
shmem.free(source)
shmem.free(target)

# many in a row without a barrier between them, more than any ring of work areas holds
source = shmem.full(1, me, dtype="i8")
targets = [shmem.zeros(1, dtype="i8") for _ in range(100)]
for target in targets:
    shmem.sum_reduce(target, source)
assert all(target[0] == count * (count - 1) // 2 for target in targets)

# and in place, each PE late by turns, on all PEs and on others in between: nothing of one gets into the next
rest, values_in_turn = shmem.TEAM_WORLD.split_strided(count - 1, -1, count), shmem.zeros(7, dtype="i8")
for turn in range(300):
    if turn % 50 == 10 * me:
        time.sleep(0.01)
    length = turn % 7 + 1
    values_in_turn[:] = np.arange(7) + me * turn
    shmem.sum_reduce(values_in_turn, values_in_turn, length, team=rest if turn % 3 == 0 else None)
    expected = np.arange(7) * count + turn * count * (count - 1) // 2
    assert values_in_turn[:length].tolist() == expected[:length].tolist(), (turn, values_in_turn, expected)
    assert values_in_turn[length:].tolist() == (np.arange(7) + me * turn)[length:].tolist()
print("all well")
