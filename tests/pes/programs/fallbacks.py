"""What does not fit goes to the fallback: at the same place on all PEs, and back when there is room."""

import numpy as np
import pytest

import pyshmem as shmem

shmem.init(partitions={
    "small": "size=64K:kind=DDR:fallback=large",
    "large": shmem.PartitionSpec(size="1M", kind="DDR", policy="PREFERRED,all", fallback="last"),
    "last": "size=2M",
    "alone": "size=64K",
})
me, count = shmem.my_pe(), shmem.n_pes()
small, large, last = map(shmem.partition, ("small", "large", "last"))
assert (small.fallback, large.fallback, last.fallback) == ("large", "last", "")


def where(array):
    return [one.name for one in shmem.partitions() if array.ctypes.data in range(*extent(one))]


def extent(one):
    record = one._record()
    return record["base"], record["base"] + record["size"]


def neighbour_sees(array):
    """A put lands in the neighbour's array: it is at the same place there."""
    shmem.put(array, np.full_like(array, me), (me + 1) % count)
    shmem.barrier_all()
    assert (array == (me - 1) % count).all()
    shmem.barrier_all()


first = shmem.zeros(5000, partition="small")  # 40 of 64 KB
second = shmem.zeros(5000, partition="small")
third = shmem.zeros(150_000, partition="small")  # too much for the second in line, too
assert [where(one) for one in (first, second, third)] == [["small"], ["large"], ["last"]]
assert (small.diverted, large.diverted) == (2, 0)
for one in (first, second, third):
    neighbour_sees(one)
assert "full: 2 allocations went to large" in str(small)
with pytest.raises(MemoryError, match='"small" is full.*so is its fallback "large".*so is its fallback "last"'):
    shmem.zeros(500_000, partition="small")
with pytest.raises(MemoryError, match=r'"alone" is full: asked for [^;]*$'):
    shmem.zeros(50_000, partition="alone")

# what is in a fallback can be resized and freed like all else, and room in the first is used again
second[...] = np.arange(5000)
shmem.barrier_all()
second = shmem.realloc(second, 6000)
assert where(second) == ["large"] and (second[:5000] == np.arange(5000)).all()
first = shmem.realloc(first, 9000)  # outgrows its partition
assert where(first) == ["large"] and small.used == 0
assert (first[:5000] == (me - 1) % count).all()
neighbour_sees(first)
again = shmem.zeros(5000, partition="small")
assert where(again) == ["small"]
for one in (first, second, third, again):
    shmem.free(one)
assert (small.used, large.used, last.used) == (0, 0, 0)
del first, second, third, again

# dropped arrays are freed where they are
for _ in range(20):
    dropped = shmem.zeros(100_000, partition="small")
assert where(dropped) in (["large"], ["last"])
print("all well")
