"""Pages move to another kind, by array, by partition, or say why not; the kernel tells where they are."""

import numpy as np
import pytest

import pyshmem as shmem

MIB = 1 << 20
shmem.init(partitions={"bound": "size=4M:kind=NODES(0)", "free": "size=4M"})
me, count = shmem.my_pe(), shmem.n_pes()

a = shmem.full(MIB // 8, me, dtype="i8", partition="bound")
moved = shmem.migrate(a, to="NODES(0)")
assert moved.complete and moved.moved == 0 and moved.there in (MIB, MIB + 4096) and moved.nodes == "0"
assert str(moved).startswith("0 bytes moved to NODES(0) (node 0); ")

whole = shmem.partition("bound").migrate("NODES(0)")
assert whole.there == 4 * MIB == sum(shmem.partition("bound").placement().values())
assert shmem.partition("bound").moved_to == "NODES" and "moved to NODES by migrate()" in str(shmem.partition("bound"))

# What is not there yet comes there.
free = shmem.partition("free")
assert free.migrate("NODES(0)").absent + free.placement().get(0, 0) == 4 * MIB
b = free.full(MIB // 8, me, dtype="i8")
assert set(shmem.placement(b)) == {0} and free.nodes == "0"

# Others go on writing meanwhile.
right = (me + 1) % count
for turn in range(20):
    shmem.put(a, np.full(a.size, turn), right)
    shmem.migrate(a, to="NODES(0)")
shmem.barrier_all()
assert (a == 19).all()

private = np.ones(MIB, dtype="u1")
assert shmem.migrate(private, to="NODES(0)").there >= MIB

gone = shmem.zeros(100, partition="bound")
shmem.free(gone)
theirs = shmem.ptr(a, right) if count > 1 else None
if theirs is not None:
    with pytest.raises(ValueError, match="of another PE"):
        shmem.migrate(theirs, to="DDR")
with pytest.raises(shmem.FreedError):
    shmem.placement(gone[10:])

for what, to, error, text in [
    (gone, "DDR", shmem.FreedError, "was freed"),
    (b"abc", "NODES(900)", shmem.PartitionError, "node 900"),
    (a, "\ud800", TypeError, "named by a kind"),
    (a, "HBM", shmem.PartitionError, "no node of kind HBM here"),
    (a, "NODES(900)", shmem.PartitionError, "node 900 does not exist here"),
    (a, "HBMM", shmem.PartitionError, 'did you mean "HBM"'),
    (a, "", shmem.PartitionError, "a kind is missing"),
    (a, "DEFAULT", shmem.PartitionError, "is no memory of its own"),
    (a, None, TypeError, "named by a kind"),
    ("nowhere", "DDR", shmem.NoPartitionError, "there is no partition 'nowhere'"),
    ([1, 2], "DDR", TypeError, "must be a NumPy array"),
]:
    with pytest.raises(error) as caught:
        shmem.migrate(what, to=to)
    assert text in str(caught.value), caught.value
assert (a == 19).all()
shmem.barrier_all()
print("all well")
