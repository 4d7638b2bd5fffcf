"""Starting, counting, asking and stopping."""

import pytest

import pyshmem as shmem

for call in (shmem.my_pe, shmem.n_pes, shmem.barrier_all, lambda: shmem.zeros(1), shmem.finalize, shmem.partitions,
             shmem.quiet, shmem.query_thread):
    with pytest.raises(shmem.NotInitializedError, match="not initialised|without init"):
        call()
major, minor = shmem.info_get_version()
assert (1, 4) <= (major, minor) < (2, 0)
assert shmem.info_get_name()
assert shmem.build_info()["specification"] == f"{major}.{minor}"

assert shmem.init(thread_level=shmem.THREAD.SERIALIZED) in shmem.THREAD
assert shmem.init() in shmem.THREAD  # it counts
me, count = shmem.my_pe(), shmem.n_pes()
assert 0 <= me < count
assert shmem.query_thread() in shmem.THREAD
with pytest.raises(shmem.PartitionError, match="first init"):
    shmem.init(partitions={"late": "size=1M"})
assert len(shmem.partitions()) == 0
with pytest.raises(KeyError, match="none is defined"):
    shmem.partition("nowhere")

# Every number is there once.
seen = shmem.zeros(count, dtype="i8")
one = shmem.ones(1, dtype="i8")
for pe in range(count):
    shmem.put(seen[me : me + 1], one, pe)
shmem.barrier_all()
assert seen.tolist() == [1] * count

view = shmem.ptr(seen, (me + 1) % count)

shmem.finalize()
assert shmem.my_pe() == me  # the second init still counts
shmem.finalize()
with pytest.raises(shmem.NotInitializedError):
    shmem.barrier_all()
with pytest.raises(shmem.NotInitializedError):
    shmem.put(seen, seen, 0)
# What is still alive does no harm, whole and in part.
assert seen.sum() == 0 and seen[-1:].tolist() == [0]
assert view is None or view.sum() == 0
seen[...] = 5
assert (seen == 5).all()
print("all well")
