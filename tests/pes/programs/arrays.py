"""Making symmetric arrays: contents, layouts, sizes, and that they are complete on all PEs on return."""

import gc

import numpy as np
import pytest

import pyshmem as shmem

shmem.init(partitions={"box": "size=3M", 1: "size=8M:name=home"})
me, count = shmem.my_pe(), shmem.n_pes()
right = (me + 1) % count
box = shmem.partition("box")

for where in (None, "box", 1, "home", box, box.id):
    for order in "CF":
        a = shmem.zeros((3, 5), dtype="i2", order=order, partition=where)
        assert a.shape == (3, 5) and a.dtype == np.int16 and not a.any()
        assert a.flags["C_CONTIGUOUS" if order == "C" else "F_CONTIGUOUS"] and a.flags.writeable
        shmem.free(a)
    for made, expected in [
        (shmem.ones(4, partition=where), np.ones(4)),
        (shmem.full((2, 2), 7, partition=where), np.full((2, 2), 7)),
        (shmem.full(3, [1, 2, 3.5], dtype="f4", partition=where), np.array([1, 2, 3.5], "f4")),
        (shmem.array([[1, 2], [3, 4]], partition=where), np.array([[1, 2], [3, 4]])),
        (shmem.array(5.5, partition=where), np.array(5.5)),
        (shmem.new_array(6, "u1", partition=where), np.zeros(6, "u1")),
    ]:
        assert (made == expected).all() and made.dtype == expected.dtype and made.shape == expected.shape
        shmem.free(made)

# as numpy.array lays out its copy
base = np.arange(60).reshape(3, 4, 5)
for source in (base, base.T, base[::2], base[:, ::2].transpose(1, 0, 2), np.asfortranarray(base), base[..., 0]):
    for order in "KACF":
        a, b = shmem.array(source, order=order), np.array(source, order=order)
        assert (a == b).all() and a.strides == b.strides, (order, a.strides, b.strides)
        shmem.free(a)

# complete on all PEs on return: a peer's copy may be read at once
for fill in range(20):
    a = shmem.full(100, fill * 10 + me)
    here = np.zeros(100, dtype=a.dtype)
    shmem.get(here, a, right)
    assert (here == fill * 10 + right).all()
    shmem.free(a)

# size 0 owns nothing and waits for nobody
if me == 0:
    for empty in (shmem.zeros(0), shmem.empty((3, 0, 2)), shmem.array([])):
        assert empty.size == 0
        shmem.free(empty)
shmem.barrier_all()

# alloc, fromalloc
memory = box.alloc(10, 8, align=64)
assert len(memory) == 80 and bytes(memory) == bytes(80)
view = shmem.fromalloc(memory, (2, 5), "i8")
view[...] = me
assert view.ctypes.data % 64 == 0
with pytest.raises(ValueError, match="needs 160 bytes"):
    shmem.fromalloc(memory, (4, 5), "i8")
shmem.free(memory)
with pytest.raises(KeyError):
    shmem.free(memory)
with pytest.raises(ValueError, match="freed"):
    shmem.free(view)
with pytest.raises(shmem.FreedError):
    shmem.fromalloc(memory)

# a part of it cannot be freed
memory = box.alloc(16)
with pytest.raises(ValueError, match="part of an allocation"):
    shmem.free(memory[8:])
shmem.free(memory)

# a full partition: figures, nothing lost, still usable
used = box.used
with pytest.raises(MemoryError, match=r'"box" is full: asked for 4 MiB, largest free block 3 MiB, free 3 MiB of 3 MiB'):
    box.empty(4 << 20, dtype="u1")
assert box.used == used == 0
whole = box.empty(box.largest_free, dtype="u1")
assert box.used == box.size == 3 << 20 and box.largest_free == 0 and box.live == 1
shmem.free(whole)
assert box.largest_free == 3 << 20 and box.peak == 3 << 20
with pytest.raises(MemoryError):
    shmem.empty(2**60)

# what cannot be made raises before anything is allocated
for call, error in [
    (lambda: shmem.zeros(-1), ValueError),
    (lambda: shmem.zeros((2, -3)), ValueError),
    (lambda: shmem.zeros((2, 1.5)), TypeError),
    (lambda: shmem.zeros(1.5), TypeError),
    (lambda: shmem.zeros(3, order="K"), ValueError),
    (lambda: shmem.zeros(3, dtype=object), TypeError),
    (lambda: shmem.zeros(3, dtype="S"), ValueError),
    (lambda: shmem.zeros((2**40, 2**40)), MemoryError),
    (lambda: shmem.zeros([1] * 65), ValueError),
    (lambda: shmem.array([None]), TypeError),
    (lambda: shmem.zeros(3, align=48), ValueError),
    (lambda: shmem.zeros(3, align="8"), TypeError),
    (lambda: shmem.full(3, [1, 2]), ValueError),
    (lambda: shmem.full(3, "x", dtype=float), ValueError),
    (lambda: shmem.zeros(3, partition="box\0x"), KeyError),
    (lambda: shmem.zeros(3, partition="nowhere"), KeyError),
    (lambda: shmem.zeros(3, partition=99), KeyError),
    (lambda: shmem.zeros(3, partition=2.0), TypeError),
    (lambda: shmem.free(np.zeros(3)), ValueError),
    (lambda: shmem.free([1]), TypeError),
]:
    with pytest.raises(error):
        call()
assert shmem.partition(1).live == 0 and box.live == 0

# dropping an array communicates nothing, whatever the order
kept = [shmem.zeros(10, partition="box") for _ in range(8)]
if me % 2:
    del kept[::2]
    gc.collect()
shmem.barrier_all()
print("all well")
