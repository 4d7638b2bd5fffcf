"""Arrays dropped in different order and at different times on the PEs, in cycles too: nothing hangs, nothing grows.

Run with the number of rounds.  All PEs allocate the same in the same order; when each drops what is its own affair.
"""

import gc
import random
import sys

import numpy as np

import pyshmem as shmem

rounds = int(sys.argv[1])
shmem.init(partitions={"side": "size=16M"})
me, count = shmem.my_pe(), shmem.n_pes()
side = shmem.partition("side")
common, own = random.Random(0), random.Random(me + 1)
SLOTS, LATEST = 24, 30
PAGE = 4096


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * PAGE


class Node:
    """Keeps an array alive until the collector finds that nobody needs it."""

    def __init__(self, array):
        self.array, self.itself = array, self


def check(array, number):
    assert array[0] == array[-1] == number and array.size > 0, (number, array)


def settle():
    gc.collect()
    for _ in range(2):
        shmem.zeros(1, "u1", partition="side")


settle()
gc.freeze()
base, live = side.used, side.live
slots = [None] * SLOTS
late = []  # (round in which it is dropped, number, array) on this PE
most_used = resident_early = 0
for turn in range(1, rounds + 1):
    slot, length = common.randrange(SLOTS), common.choice((1, 10, 300, 2000))
    where = "side" if common.random() < 0.8 else None
    if slots[slot] is not None:
        number, array = slots[slot]
        check(array, number)
        how = own.random()
        if how < 0.3:
            late.append((turn + own.randrange(LATEST), number, array[length // 4 :][:1] if how < 0.1 else array))
        elif how < 0.6:
            node = Node(array)
            del node
        slots[slot] = array = None
    slots[slot] = turn, shmem.full(length, turn, dtype="i8", partition=where)
    if late and own.random() < 0.3:
        own.shuffle(late)
    for entry in [entry for entry in late if entry[0] <= turn]:
        assert (entry[2] == entry[1]).all() if entry[2].size else True
        late.remove(entry)
        del entry
    if own.random() < 0.02:
        gc.collect()
    if common.random() < 0.01:
        slot = common.randrange(SLOTS)
        if slots[slot] is not None:
            shmem.free(slots[slot][1])
            slots[slot] = None
    most_used = max(most_used, side.used)
    if turn == rounds // 5:
        gc.collect()
        resident_early = resident()
for entry in slots:
    if entry is not None:
        check(entry[1], entry[0])
slots.clear()
late.clear()
entry = array = None
settle()
grown = resident() - resident_early
assert (side.used, side.live) == (base, live), (side.used, base, side.live, live)
assert most_used < 4 << 20, most_used
assert grown < 6 << 20, grown
assert np.all(shmem.ones(3) == 1)
print(f"all well: at most {most_used >> 10} KiB used, {grown >> 10} KiB grown")
