"""Partitions without special memory: names, IDs, figures, equal offsets, a long random trace, the report."""

import numpy as np
import pytest

import pyshmem as shmem

SPECS = [shmem.PartitionSpec(name="a", size="2M"), shmem.PartitionSpec(name="b", size=3 << 20, id=9),
         shmem.PartitionSpec(size="1.5m", id=4, kind="default")]
shmem.init(partitions=SPECS)
me, count = shmem.my_pe(), shmem.n_pes()

found = shmem.partitions()
assert [(one.id, one.name, one.size) for one in found] == [(2, "a", 2 << 20), (4, "partition4", 3 << 19),
                                                         (9, "b", 3 << 20)]
assert shmem.partition("b") == shmem.partition(9) != shmem.partition(2)
assert shmem.partition("a").kind == "DEFAULT" and shmem.partition("a").policy == ""
with pytest.raises(KeyError, match='there is no partition \'c\': the partitions are 2 "a", 4 "partition4", 9 "b"'):
    shmem.partition("c")

# The same sequence of calls gives the same offsets on every PE; blocks do not overlap; data stays.
random = np.random.default_rng(7)  # the same on all PEs
live = []
bases = {one.id: one._record()["base"] for one in found}
offsets = []
for step in range(300):
    if live and random.random() < 0.45:
        array, mark = live.pop(random.integers(len(live)))
        assert (array == mark).all(), "a block was overwritten"
        shmem.free(array)
        continue
    where = found[random.integers(len(found))]
    length, align = int(random.integers(1, 40_000)), int(2 ** random.integers(0, 13))
    try:
        array = where.empty(length, dtype="u1", align=align)
    except MemoryError:
        offsets.append(-1)
        continue
    assert array.ctypes.data % align == 0
    array[...] = step % 256
    live.append((array, step % 256))
    offsets.append(array.ctypes.data - bases[where.id])
assert sum(one.live for one in found) == len(live)
largest = shmem.zeros(len(offsets), dtype="i8")
least = shmem.zeros(len(offsets), dtype="i8")
mine = shmem.array(np.array(offsets, dtype="i8"))
shmem.max_reduce(largest, mine)
shmem.min_reduce(least, mine)
assert (largest == offsets).all() and (least == offsets).all()
for array, mark in live:
    assert (array == mark).all()
    shmem.free(array)
assert [one.largest_free for one in found] == [one.size for one in found]
assert all(one.peak > 0 and one.used == 0 for one in found)

# placement: what is touched is somewhere, what is not is not present; whole pages
a = shmem.partition("a")
untouched = a.placement()
page = a.page_size
array = a.zeros(64 * page, dtype="u1", align=page)
there = a.placement(array)
assert sum(there.values()) == 64 * page and None not in there
assert sum(size for node, size in a.placement().items() if node is not None) >= 64 * page
assert sum(a.placement().values()) == sum(untouched.values()) == a.size
assert sum(shmem.placement(np.ones(100 * page, "u1")).values()) >= 100 * page

# words
text = str(shmem.partitions())
for word in ("ID", "name", "largest free", "DEFAULT", "1.5M", "partition4"):
    assert word in text, text
assert max(map(len, shmem.report().splitlines())) <= 80
assert "a" in str(a) and "partition4" not in str(a)
print("all well")
