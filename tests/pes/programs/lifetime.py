"""Symmetric memory that is dropped, on some PEs sooner than on others; blocks; views; what was freed; resizing."""

import gc
import os

os.environ["SHMEM_SYMMETRIC_SIZE"] = "48M"

import numpy as np
import pytest

import pyshmem as shmem

shmem.init(partitions={"side": "size=4M"})
me, count = shmem.my_pe(), shmem.n_pes()
side = shmem.partition("side")
MOST = {"side": 6 * (4 << 20) // 10, None: 6 * (48 << 20) // 10}  # of which only one fits
gc.freeze()


def settle():
    """The next collective allocation finds what has been dropped."""
    gc.collect()
    shmem.zeros(1, "u1", partition="side")


for where, most in MOST.items():
    # dropped by all: there is room again, as often as one likes
    for turn in range(3):
        big = shmem.empty(most, "u1", partition=where)
        big[[0, -1]] = turn
        del big
    # one PE after the other is late, and keeps the memory alive on all
    for late in range(count):
        big = shmem.empty(most, "u1", partition=where)
        kept = big[5:9] if me == late else None  # a view is enough
        del big
        for _ in range(1 + (late == 0)):
            with pytest.raises(MemoryError, match="SHMEM_SYMMETRIC_SIZE" if where is None else "side"):
                shmem.empty(most, "u1", partition=where)
        small = shmem.ones(100, partition=where)  # nothing is lost
        assert small.sum() == 100
        if me == late:
            kept[...] = 3
            assert kept.tolist() == [3] * 4
        kept = None
        again = shmem.empty(most, "u1", partition=where)
        with pytest.raises(MemoryError):
            shmem.empty(most, "u1", partition=where)
        shmem.free(again)
        del again
        # dropped in a cycle, which only the collector finds, and only here
        big = shmem.empty(most, "u1", partition=where)
        if me == late:
            cycle = [big]
            cycle.append(cycle)
            del cycle
        del big
        if me == late:
            gc.collect()
        big = shmem.empty(most, "u1", partition=where)
        shmem.free(big)
    # what was freed by hand and is dropped afterwards counts once
    for _ in range(3):
        big = shmem.empty(most, "u1", partition=where)
        shmem.free(big)
        big = shmem.empty(most, "u1", partition=where)
        del big

# ---- figures: nothing is left over, whatever the order
settle()
settle()
base = side.used
rows = [shmem.full(50 + i, i, partition="side") for i in range(20)]
assert side.live >= 20 and side.used > base
order = np.random.default_rng(me).permutation(20)
for i in order[:10]:
    rows[i] = None
settle()
for i, row in enumerate(rows):
    assert row is None or (row == i).all()  # what one PE has dropped and another has not is whole
for i in order[10:]:
    rows[i] = None
del row
settle()
settle()
assert side.used == base, (side.used, base)
# more than are told in one go
rows = [shmem.zeros(1, "u1", partition="side") for _ in range(280)]  # 256 at a time
del rows[me % 2 :: 2]
settle()
rows.clear()
settle()
settle()
assert side.used == base, (side.used, base)
memory = side.alloc(100)
array = shmem.fromalloc(memory, 3)
del memory
settle()
array[...] = 7
assert array.tolist() == [7, 7, 7]
del array
settle()
settle()
assert side.used == base

# ---- blocks
with shmem.heap():
    work = shmem.full(10, me, partition="side")
    view, other = work[3:5], shmem.zeros(3)
    inner_memory = shmem.alloc(10)
    shmem.put(work, np.full(10, 9), (me + 1) % count)
    shmem.barrier_all()
    assert work.tolist() == [9] * 10
    shmem.free(freed_inside := shmem.zeros(5, partition="side"))
    dropped_inside = shmem.zeros(5, partition="side")
    del dropped_inside
    with shmem.heap() as block:
        inner = shmem.zeros(4, partition="side")
        assert block is not None
    with pytest.raises(shmem.FreedError):
        shmem.put(inner, np.zeros(4), me)
    shmem.put(work, np.zeros(10, "i8"), me)
    outside = shmem.zeros(7, partition="side")
settle()
settle()
assert side.used == base
for gone in (work, view, other, inner, outside, freed_inside):
    for call in (lambda: shmem.put(gone, np.zeros_like(gone), me), lambda: shmem.get(np.zeros_like(gone), gone, me),
                 lambda: shmem.sum_reduce(gone, gone), lambda: shmem.ptr(gone, me)):
        with pytest.raises(shmem.FreedError):
            call()
    for call in (lambda: shmem.free(gone), lambda: shmem.realloc(gone, 3)):
        with pytest.raises(ValueError if gone is view else shmem.FreedError):
            call()
for call in (lambda: shmem.free(inner_memory), lambda: shmem.fromalloc(inner_memory)):
    with pytest.raises(shmem.FreedError):
        call()
with pytest.raises(RuntimeError, match="out of luck"), shmem.heap():
    left = shmem.full(10, 1, partition="side")
    raise RuntimeError("out of luck")
shmem.put(left, np.full(10, 2), me)  # a block that failed frees nothing
shmem.barrier_all()
assert left.tolist() == [2] * 10
del left
outer = shmem.zeros(4, partition="side")
with shmem.heap():
    outer = shmem.realloc(outer, 8)  # belongs where it was made
    grown = shmem.realloc(shmem.zeros(4, partition="side"), 8)
outer[...] = 3
assert outer.sum() == 24
with pytest.raises(shmem.FreedError):
    shmem.put(grown, np.zeros(8), me)
shmem.free(outer)
del grown
for turn in range(4):  # and blocks leave nothing behind
    with shmem.heap():
        rows = [shmem.zeros(30_000, "u1", partition="side") for _ in range(10)]
        if turn % 2:
            rows.clear()
settle()
settle()
assert side.used == base

# ---- views keep memory alive, whatever way they were made
for derive in (lambda a: a[3:], lambda a: a.reshape(5, 2).T, lambda a: a.view("u1"), lambda a: memoryview(a),
               lambda a: np.frombuffer(a), lambda a: np.asarray(memoryview(a)), lambda a: a.base,
               lambda a: shmem.ptr(a, (me + 1) % count) if count > 1 else a[1:]):
    array = shmem.full(10, 1.5, partition="side")
    kept = derive(array)
    del array
    settle()
    settle()
    if kept is not None:
        assert side.used > base
    others = [shmem.full(10, -1.0, partition="side") for _ in range(2)]  # would take its place
    if kept is not None and not hasattr(kept, "live"):
        assert np.asarray(kept).tobytes() in np.full(10, 1.5).tobytes()
    shmem.barrier_all()
    del kept, others
    settle()
    settle()
    assert side.used == base

# ---- a new size
for where in ("side", None):
    array = shmem.array(np.arange(12.0) + me, partition=where)
    old = array
    array = shmem.realloc(array, (4, 6))
    assert array.shape == (4, 6) and array.dtype == float
    assert array.ravel()[:12].tolist() == (np.arange(12.0) + me).tolist()
    with pytest.raises(shmem.FreedError):
        shmem.put(old, np.zeros(12), me)
    array = shmem.realloc(array, 5)
    assert array.tolist() == (np.arange(5.0) + me).tolist()
    shmem.barrier_all()
    shmem.put(array, np.full(5, 8.0), (me + 1) % count)
    shmem.barrier_all()
    assert array.tolist() == [8] * 5
    array = shmem.realloc(array, (2, 4), dtype="i4")
    assert array.dtype == np.int32 and array.ravel().view("f8")[:4].tolist() == [8] * 4
    with pytest.raises(MemoryError):
        shmem.realloc(array, 2 * MOST[where])
    assert array.ravel().view("f8")[:4].tolist() == [8] * 4
    shmem.put(array, np.zeros((2, 4), "i4"), me)  # as it was
    array = shmem.realloc(array, 0)
    assert array.size == 0
    array = shmem.realloc(array, 3)
    assert array.shape == (3,) and array.dtype == np.int32
    for _ in range(4):
        array = shmem.realloc(array, MOST[where] // 4)  # it fits again and again
        array = shmem.realloc(array, 1)
    shmem.free(array)
    memory = shmem.alloc(10, 8, partition=where)
    memory[:3] = b"abc"
    memory = shmem.realloc(memory, 1000)
    assert len(memory) == 1000 and bytes(memory[:3]) == b"abc"
    shmem.free(memory)
    # dropped instead of freed, also when it was resized
    array = shmem.realloc(shmem.zeros(10, partition=where), 2000)
    del array, old, memory
big = shmem.empty(MOST["side"], "u1", partition="side")
shmem.free(big)
settle()
assert side.used == base, (side.used, base)
with pytest.raises(ValueError, match="not in symmetric"):
    shmem.realloc(np.zeros(3), 4)
with pytest.raises(ValueError, match="view inside"):
    shmem.realloc(shmem.zeros(5, partition="side")[1:], 4)

# ---- mistakes raise the same on all PEs, and nobody waits
for where in ("side", None):
    array = shmem.zeros(3, partition=where)
    shmem.free(array)
    for error in (shmem.FreedError, KeyError, ValueError):
        with pytest.raises(error, match="freed"):
            shmem.free(array)
with pytest.raises(TypeError):
    shmem.free([1])
shmem.barrier_all()
print("all well")
