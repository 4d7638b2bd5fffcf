"""Wrong arguments raise before anything is written, and say what was wrong."""

import ctypes

import numpy as np
import pytest

import pyshmem as shmem

shmem.init(partitions={"side": "size=1M"})
me, count = shmem.my_pe(), shmem.n_pes()
target = shmem.full(10, -1.0)
side = shmem.full(10, -1.0, partition="side")
source = np.arange(10.0)
counter = shmem.zeros(1, dtype="i8")
frozen = shmem.full(10, -1.0)
frozen.flags.writeable = False
gone = shmem.full(10, -1.0)
gone_view = gone[2:4]
shmem.free(gone)
gone_aside = shmem.full(10, -1.0, partition="side")
shmem.free(gone_aside)

WRONG = [
    (lambda: shmem.put([1.0], source, 0), TypeError, "target must be a NumPy array or a buffer, not list"),
    (lambda: shmem.put(target, (1.0,), 0), TypeError, "source must be a NumPy array or a buffer, not tuple"),
    (lambda: shmem.put(target, None, 0), TypeError, "source must be"),
    (lambda: shmem.put(target[::2], source[:5], 0), ValueError, "target is not contiguous"),
    (lambda: shmem.put(target, np.arange(20.0)[::2], 0), ValueError, "source is not contiguous"),
    (lambda: shmem.put(frozen, source, 0), ValueError, "target is read-only"),
    (lambda: shmem.put(target, source.astype("f4"), 0), TypeError, "differ in dtype: float64 and float32"),
    (lambda: shmem.put(target, source.astype(">f8"), 0), TypeError, "differ in dtype"),
    (lambda: shmem.put(target, source, 0, size=11), ValueError, "too small: 11 elements wanted, it holds 10"),
    (lambda: shmem.put(target, source[:3], 0, size=4), ValueError, "source is too small"),
    (lambda: shmem.put(target, source, 0, size=-1), ValueError, "must not be negative"),
    (lambda: shmem.put(source.copy(), source, 0), ValueError, "target is not in symmetric memory"),
    (lambda: shmem.put(gone, source, 0), shmem.FreedError, "was freed"),
    (lambda: shmem.put(gone_view, source, 0), shmem.FreedError, "was freed"),
    (lambda: shmem.put(gone_aside, source, 0), shmem.FreedError, "was freed"),
    (lambda: shmem.put(target, source, count), ValueError, f"PE {count} is out of range: this job has PEs 0 to"),
    (lambda: shmem.put(target, source, -1), ValueError, "out of range"),
    (lambda: shmem.put(target, source, 0.5), TypeError, "float"),
    (lambda: shmem.put(target, source, 0, None, "ctx"), TypeError, "ctx must be a Ctx or None"),
    (lambda: shmem.get(source, target[::2], 0), ValueError, "source is not contiguous"),
    (lambda: shmem.get(source.copy(), source, 0), ValueError, "source is not in symmetric memory"),
    (lambda: shmem.get(source, gone, 0), shmem.FreedError, "source is in symmetric memory that was freed"),
    (lambda: shmem.get(frozen, target, 0), ValueError, "target is read-only"),
    (lambda: shmem.iput(target, source, 0, tst=0), ValueError, "strides"),
    (lambda: shmem.iput(target, source, 0, sst=-2), ValueError, "strides"),
    (lambda: shmem.iput(target, source, 0, tst=4, size=4), ValueError, "it holds 3"),
    (lambda: shmem.iget(source, target, 0, sst=5, size=3), ValueError, "it holds 2"),
    (lambda: shmem.iput(target, source, 0, tst=2**63 - 1, size=2), ValueError, "it holds 1"),
    (lambda: shmem.atomic_inc(target, 0), ValueError, "one element"),
    (lambda: shmem.atomic_inc(np.zeros(1, "i8"), 0), ValueError, "not in symmetric memory"),
    (lambda: shmem.atomic_inc(counter, count), ValueError, "out of range"),
    (lambda: shmem.atomic_add(counter, "1", 0), TypeError, "does not fit"),
    (lambda: shmem.atomic_add(counter, [1, 2], 0), ValueError, "one value"),
    (lambda: shmem.fcollect(target, source), ValueError, "source is not in symmetric memory"),
    (lambda: shmem.broadcast(target, target, count), ValueError, "out of range"),
    (lambda: shmem.broadcast(target, target, 0, team=3), TypeError, "team must be a Team or None"),
    (lambda: shmem.sum_reduce(target, side, 11), ValueError, "too small"),
    (lambda: shmem.wait_until(target, "==", 0), ValueError, "one element"),
    (lambda: shmem.wait_until(np.zeros(1, "i8"), "==", 0), ValueError, "not in symmetric memory"),
    (lambda: shmem.ptr(source, 0), ValueError, "not in symmetric memory"),
    (lambda: shmem.free(target[1:]), ValueError, "view inside an allocation"),
    (lambda: shmem.free(gone), shmem.FreedError, "freed"),
    (lambda: shmem.free(gone), KeyError, "freed"),
    (lambda: shmem.free(np.zeros(3)), ValueError, "not in symmetric memory"),
]
for call, error, text in WRONG:
    with pytest.raises(error, match=text):
        call()
if (view := shmem.ptr(target, (me + 1) % count)) is not None and count > 1:
    with pytest.raises(ValueError, match="belongs to another PE"):
        shmem.put(view, source, 0)
shmem.barrier_all()
assert (target == -1).all() and (side == -1).all() and counter[0] == 0

address = target.ctypes.data_as(ctypes.POINTER(ctypes.c_double))
# the ways by which an array may come are all recognised
for good in (target, target[:], target.reshape(5, 2), target.view("i8").view("f8"), np.asarray(memoryview(target)),
             np.frombuffer(target), side.T, np.ctypeslib.as_array(address, (10,))):
    shmem.put(good, source, me)
shmem.barrier_all()
assert (target == source).all()
assert (side == source).all()
print("all well")
