"""Compiled loops take symmetric arrays, and others see what they write."""

import numba
import numpy as np

import pyshmem as shmem

shmem.init(partitions={"side": "size=1M"})
me, count = shmem.my_pe(), shmem.n_pes()


@numba.njit(cache=True)
def fill(array, start):
    for i in range(array.size):
        array[i] = start + i


@numba.njit(cache=True)
def total(array):
    result = 0.0
    for value in array:
        result += value
    return result


for options in ({}, {"partition": "side"}):
    numbers = shmem.zeros(1000, dtype="f8", **options)
    fill(numbers, 1000 * me)
    shmem.barrier_all()
    others = np.empty(1000)
    shmem.get(others, numbers, (me + 1) % count)
    start = 1000 * ((me + 1) % count)
    assert total(others) == sum(range(start, start + 1000))
    shmem.barrier_all()
    shmem.put(numbers, np.ones(1000), (me + 1) % count)
    shmem.barrier_all()
    assert total(numbers) == 1000
    fill(numbers[::2], 5)
    assert numbers[:4].tolist() == [5, 1, 6, 1]
    shmem.free(numbers)
print("all well")
