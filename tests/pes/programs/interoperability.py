"""Symmetric arrays in the hands of others, and the buffers of others in ours."""

import array
import ctypes
import gc

import numpy as np
import pytest

import pyshmem as shmem

shmem.init()
me, count = shmem.my_pe(), shmem.n_pes()
right, left = (me + 1) % count, (me - 1) % count

# DLPack and memoryview: the same memory, kept alive by whoever holds it.
numbers = shmem.full(8, me, dtype="i8")
shared = np.from_dlpack(numbers)
view = memoryview(numbers)
assert np.shares_memory(shared, numbers)
shmem.put(numbers, np.arange(8), right)
shmem.barrier_all()
assert (shared == np.arange(8)).all() and view[3] == 3
shmem.barrier_all()
shmem.put(shared, np.arange(8) + 1, right)      # what came by DLPack is still known as symmetric
shmem.barrier_all()
assert (numbers == np.arange(8) + 1).all()
del numbers
gc.collect()
shmem.free(shmem.zeros(1))                      # a collective allocation, which frees what all have dropped
assert (shared == np.arange(8) + 1).all() and view[7] == 8
shmem.barrier_all()

# Sources and local targets that are no arrays.
octets = shmem.zeros(4, dtype="u1")
for source in (b"abcd", bytearray(b"abcd"), memoryview(b"abcd"), array.array("B", b"abcd")):
    octets[...] = 0
    shmem.barrier_all()
    shmem.put(octets, source, right)
    shmem.barrier_all()
    assert octets.tobytes() == b"abcd"
    shmem.barrier_all()
for target in (bytearray(4), array.array("B", bytes(4)), (ctypes.c_ubyte * 4)()):
    shmem.get(target, octets, right)
    assert bytes(target) == b"abcd"
with pytest.raises(ValueError, match="read-only"):
    shmem.get(b"....", octets, right)
memory = shmem.alloc(4)
shmem.put(memory, b"wxyz", right)               # memory without a dtype
shmem.barrier_all()
assert bytes(memory) == b"wxyz"
with pytest.raises(TypeError, match="differ in dtype"):
    shmem.put(octets, array.array("i", [1]), right)

# Calls of C on the address of a symmetric array, as ctypes and cffi make them.
cell = shmem.zeros(1, dtype="i8")
ctypes.cast(cell.ctypes.data, ctypes.POINTER(ctypes.c_int64))[0] = 40 + me
assert shmem.g(cell, me) == 40 + me
print("all well")
