"""put, get, iput and iget of every dtype, against what NumPy does with the same slices."""

import numpy as np

import pyshmem as shmem

shmem.init()
me, count = shmem.my_pe(), shmem.n_pes()
right, left = (me + 1) % count, (me - 1) % count
DTYPES = [*"bhilqBHILQfdgFDG", "?", "S1", "e", "i1", "u8", ">i4", np.dtype([("a", "i4"), ("b", "f8")])]


def pattern(pe, dtype, length):
    """Bytes that name the PE and the place, whatever the dtype."""
    size = np.dtype(dtype).itemsize
    raw = (np.arange(length * size) * 7 + pe * 31).astype("u1") % 2  # 0 and 1 are good values of bool too
    return raw.view(dtype)


def same(a, b):
    return a.tobytes() == b.tobytes()


for dtype in DTYPES:
    for length in (1, 5, 64):
        target = shmem.zeros(length, dtype=dtype)
        shmem.put(target, pattern(me, dtype, length), right)
        shmem.barrier_all()
        assert same(target, pattern(left, dtype, length)), dtype
        here = np.zeros(length, dtype=dtype)
        shmem.get(here, target, right)
        assert same(here, pattern(me, dtype, length)), dtype
        shmem.barrier_all()
        # only the first elements
        target[...] = np.zeros(length, dtype=dtype)
        shmem.barrier_all()
        shmem.put(target, pattern(me, dtype, length), right, size=length - 1)
        shmem.barrier_all()
        assert same(target[: length - 1], pattern(left, dtype, length)[: length - 1])
        assert same(target[length - 1 :], np.zeros(1, dtype=dtype))
        shmem.free(target)

for dtype in ["i1", "i2", "i4", "i8", "f4", "f8", "F", "D", "g", "G"]:
    source = pattern(me, dtype, 24)
    whole = shmem.array(source)
    for target_stride, source_stride in [(1, 1), (2, 1), (1, 3), (3, 5), (23, 23)]:
        target = shmem.zeros(24, dtype=dtype)
        shmem.iput(target, source, right, target_stride, source_stride)
        shmem.barrier_all()
        expected = np.zeros(24, dtype=dtype)
        moved = pattern(left, dtype, 24)[::source_stride]
        places = expected[::target_stride]
        moves = min(len(moved), len(places))
        places[:moves] = moved[:moves]
        assert same(target, expected), (dtype, target_stride, source_stride)
        here = np.zeros(24, dtype=dtype)
        shmem.iget(here, whole, left, target_stride, source_stride, size=1)
        assert same(here[:1], pattern(left, dtype, 24)[:1])
        assert not here[1:].any()
        shmem.free(target)
    shmem.free(whole)

# large, both ways, from every PE to every PE; views; Fortran order
big = shmem.empty((count, 300_000), dtype="f8")
for pe in range(count):
    shmem.put(big[me], np.full(300_000, me * 1000.0 + pe), pe)
shmem.barrier_all()
for pe in range(count):
    assert (big[pe] == pe * 1000.0 + me).all()
shmem.barrier_all()
grid = shmem.zeros((3, 4), dtype="i4", order="F")
assert grid.flags.f_contiguous
shmem.put(grid, np.asfortranarray(np.arange(12, dtype="i4").reshape(3, 4) + me), right)
shmem.barrier_all()
assert (grid == np.arange(12).reshape(3, 4) + left).all()

view = shmem.ptr(big, right)
if view is not None:
    assert view.shape == big.shape
    shmem.barrier_all()
    view[0, 0] = -5.0 - me
    shmem.barrier_all()
    assert big[0, 0] == -5.0 - left
else:
    shmem.barrier_all()
    shmem.barrier_all()
assert np.shares_memory(shmem.ptr(big, me), big)
print("all well")
