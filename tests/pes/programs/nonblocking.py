"""What returns before it is done: puts and gets of temporaries, fetching atomics, and data with a signal behind it."""

import gc
import weakref

import numpy as np
import pytest

import pyshmem as shmem
from pyshmem import SIGNAL

shmem.init()
me, count = shmem.my_pe(), shmem.n_pes()
gc.freeze()  # what is here already need not be looked through each time
right, left = (me + 1) % count, (me - 1) % count
ROOM = 1 << 19
inbox, outbox = shmem.zeros((2, ROOM), "u1")[0], shmem.zeros(ROOM, "u1")


def part(memory, length, dtype):
    return memory[: length * np.dtype(dtype).itemsize].view(dtype)


def values(pe, length, dtype):
    numbers = np.random.default_rng((pe, length)).integers(1, 100, length)
    dtype = np.dtype(dtype)
    if dtype.kind in "SUV":
        return np.frombuffer(numbers.astype("u1").repeat(dtype.itemsize).tobytes(), "u1").view(dtype)
    return (numbers + 1j * numbers[::-1] if dtype.kind == "c" else numbers).astype(dtype)


def same(found, expected, *what):
    assert found.shape == expected.shape and found.tobytes() == expected.tobytes(), (*what, found, expected)


def litter():
    """Make it likely that memory which was dropped too early is written by others."""
    gc.collect()
    for size in (8, 64, 800, 8000, 80_000):
        np.full(size, 255, "u1")


# ---- puts whose source is dropped at once
DTYPES = ["i1", "u2", "i4", "i8", "u8", "f4", "f8", "F", "D", "?", "S1", "S7", "M8[s]", "V12", ">i4"]
for dtype in DTYPES:
    for length in (0, 1, 17, 20_000) if dtype in ("i8", "S7") else (1, 1000):
        target = part(inbox, length, dtype)
        shmem.put_nbi(target, values(me, length, dtype), right)
        litter()
        shmem.quiet()
        shmem.sync_all()
        same(target, values(left, length, dtype), dtype, length)
        part(outbox, length, dtype)[...] = values(me, length, dtype)
        shmem.sync_all()
        # a get into an array that only the operation keeps, and one that is looked at
        found = np.zeros(length, dtype)
        shmem.get_nbi(np.zeros(length, dtype), part(outbox, length, dtype), right)
        shmem.get_nbi(found, part(outbox, length, dtype), right)
        litter()
        shmem.quiet()
        same(found, values(right, length, dtype), dtype, length)
        shmem.sync_all()

# ---- many at a time, completed by each thing that completes
lane = inbox.view("i8")[: 500]
for turn, complete in enumerate((shmem.quiet, shmem.barrier_all, lambda: shmem.barrier(shmem.TEAM_WORLD),
                                 lambda: shmem.zeros(1), lambda: shmem.pe_quiet([right]))):
    for i in range(500):
        shmem.put_nbi(lane[i : i + 1], np.array([turn * 1000 + i]), right)
    litter()
    complete()
    shmem.sync_all()
    assert (lane == np.arange(500) + 1000 * turn).all(), turn
    shmem.sync_all()

# ---- what is kept is kept until it is complete, and not longer
for done in (shmem.quiet, shmem.barrier_all, shmem.barrier):
    source = np.arange(10.0)
    kept = weakref.ref(source)
    shmem.put_nbi(inbox.view("f8")[:10], source, right)
    del source
    gc.collect()
    assert kept() is not None
    done()
    assert kept() is None
with shmem.Ctx.create() as ctx:
    source = np.arange(10.0)
    kept = weakref.ref(source)
    shmem.put_nbi(inbox.view("f8")[:10], source, right, ctx=ctx)
    del source
    shmem.quiet()  # of another context
    gc.collect()
    assert kept() is not None
assert kept() is None
shmem.barrier_all()

# ---- fetching atomics: the value before arrives in any array, symmetric or not
for dtype in ["i4", "u4", "i8", "u8", "f4", "f8"]:
    cell, fetch = shmem.zeros(3, dtype)[1:2], shmem.full(8, 77, dtype=dtype)
    top = int(np.iinfo(dtype).max) if np.dtype(dtype).kind in "iu" else 2.5
    for into in (fetch, np.full(8, 77, dtype)):
        shmem.atomic_set(cell, 0, right)
        shmem.quiet()
        shmem.atomic_swap_nbi(into[:1], cell, top, right)
        shmem.quiet()
        shmem.atomic_fetch_nbi(into[1:2], cell, right)
        shmem.quiet()
        assert into.tolist() == [0, top, *[77] * 6], (dtype, into)
        into[...] = 77
        if np.dtype(dtype).kind in "iu":
            expected = []
            for i, (call, after) in enumerate([
                (lambda i: shmem.atomic_fetch_inc_nbi(i, cell, right), int(np.iinfo(dtype).min)),  # wraps
                (lambda i: shmem.atomic_swap_nbi(i, cell, 12, right), 12),
                (lambda i: shmem.atomic_fetch_add_nbi(i, cell, 3, right), 15),
                (lambda i: shmem.atomic_fetch_and_nbi(i, cell, 10, right), 10),
                (lambda i: shmem.atomic_fetch_or_nbi(i, cell, 5, right), 15),
                (lambda i: shmem.atomic_fetch_xor_nbi(i, cell, 6, right), 9),
                (lambda i: shmem.atomic_compare_swap_nbi(i, cell, 9, 1, right), 1),
                (lambda i: shmem.atomic_compare_swap_nbi(i, cell, 9, 2, right), 1),
            ]):
                call(into[i : i + 1])
                shmem.quiet()
                expected.append(top)
                top = after
            assert into.tolist() == expected, (dtype, into)
            assert shmem.atomic_fetch(cell, right) == 1
            into[...] = 77
            top = int(np.iinfo(dtype).max)
    shmem.barrier_all()
    # results that nobody looks at, in temporaries, and many under way at a time: each ticket once
    tickets = np.full(100, -1, "i4")
    if dtype == "i4":
        total = shmem.zeros(1, dtype)
        for i in range(100):
            shmem.atomic_fetch_inc_nbi(tickets[i : i + 1], total, 0)
            shmem.atomic_fetch_add_nbi(np.zeros(1, dtype), total, 0, 0)
        litter()
        shmem.quiet()
        table = shmem.zeros((count, 100), "i4")
        for pe in range(count):
            shmem.put(table[me], tickets, pe)
        shmem.barrier_all()
        assert sorted(table.ravel()) == list(range(100 * count))

# ---- data with a signal: whoever sees the signal has the data
signal = shmem.new_signal()
assert signal.dtype == np.uint64 and signal.shape == (1,) and shmem.signal_fetch(signal) == 0
shmem.barrier_all()
for put in (shmem.put_signal, shmem.put_signal_nbi):
    for dtype in ["i1", "f8", "S7"]:
        for turn, length in enumerate((0, 1, 1000, 20_000)):
            target = part(inbox, length, dtype)
            put(target, values(me, length, dtype), right, signal, 2**63 + turn, SIGNAL.SET)
            litter()
            assert shmem.signal_wait_until(signal, "==", 2**63 + turn) == 2**63 + turn
            same(target, values(left, length, dtype), put.__name__, dtype, length)
            shmem.barrier_all()
            put(target, values(me, length, dtype)[::-1].copy(), right, signal, 2**63 + 1, shmem.SIGNAL_ADD)
            assert shmem.signal_wait_until(signal, shmem.CMP.EQ, turn + 1) == turn + 1  # modulo 2**64
            same(target, values(left, length, dtype)[::-1], put.__name__, dtype, length)
            assert shmem.signal_fetch(signal) == turn + 1
            shmem.barrier_all()
put_of_a_part = inbox.view("i8")[:4]
put_of_a_part[...] = -1
shmem.sync_all()
shmem.put_signal(put_of_a_part, np.arange(4), right, signal, 99, SIGNAL.SET, 2)
shmem.signal_wait_until(signal, "==", 99)
assert put_of_a_part.tolist() == [0, 1, -1, -1]
shmem.barrier_all()

# ---- signals alone: from all PEs, by addition
shmem.signal_set(signal, 0, me)
shmem.barrier_all()
for pe in range(count):
    shmem.signal_add(signal, 1 << (8 * me), pe)
everybody = sum(1 << (8 * pe) for pe in range(count))
assert shmem.signal_wait_until(signal, ">=", everybody) == everybody == shmem.signal_fetch(signal)
shmem.barrier_all()
shmem.signal_add(signal, 2**64 - everybody, me)
assert shmem.signal_wait_until(signal, "eq", 0) == 0
for cmp, value in (("!=", 1), ("<=", 0), ("<", 1), (">=", 0), ("le", 2**64 - 1), (shmem.CMP.NE, 2**63)):
    assert shmem.signal_wait_until(signal, cmp, value) == 0
shmem.signal_set(signal, 2**64 - 1, me)
shmem.quiet()
assert shmem.signal_fetch(signal) == 2**64 - 1 == shmem.signal_wait_until(signal, ">", 2**63)
assert type(shmem.signal_fetch(signal)) is int

# ---- mistakes change nothing
shmem.barrier_all()
data, wrong_signal = shmem.full(4, -1, dtype="i8"), shmem.zeros(1, "i8")
source = np.arange(4)
WRONG = [
    (lambda: shmem.put_signal(data, source, me, signal, -1, SIGNAL.SET), OverflowError),
    (lambda: shmem.put_signal(data, source, me, signal, 2**64, SIGNAL.SET), OverflowError),
    (lambda: shmem.put_signal(data, source, me, signal, 0.5, SIGNAL.SET), TypeError),
    (lambda: shmem.put_signal(data, source, me, signal, "1", SIGNAL.SET), TypeError),
    (lambda: shmem.put_signal(data, source, me, signal, 1, 2), ValueError),
    (lambda: shmem.put_signal(data, source, me, signal, 1, "set"), ValueError),
    (lambda: shmem.put_signal(data, source, me, signal, 1, None), ValueError),
    (lambda: shmem.put_signal(data, source, me, wrong_signal, 1, SIGNAL.SET), TypeError),
    (lambda: shmem.put_signal(data, source, me, np.zeros(1, "u8"), 1, SIGNAL.SET), ValueError),
    (lambda: shmem.put_signal(data, source, count, signal, 1, SIGNAL.SET), ValueError),
    (lambda: shmem.put_signal(data, source, me, signal, 1, SIGNAL.SET, 5), ValueError),
    (lambda: shmem.put_signal(data, source[::2], me, signal, 1, SIGNAL.SET), ValueError),
    (lambda: shmem.put_signal(source, data, me, signal, 1, SIGNAL.SET), ValueError),
    (lambda: shmem.put_signal(data, source.astype("f8"), me, signal, 1, SIGNAL.SET), TypeError),
    (lambda: shmem.put_signal_nbi(data, source, -1, signal, 1, SIGNAL.SET), ValueError),
    (lambda: shmem.put_signal_nbi(data, source, me, signal, 1, 7), ValueError),
    (lambda: shmem.put_signal_nbi(data, source, me, signal, 1, SIGNAL.SET, ctx=3), TypeError),
    (lambda: shmem.signal_set(signal, -1, me), OverflowError),
    (lambda: shmem.signal_add(signal, 2**64, me), OverflowError),
    (lambda: shmem.signal_add(signal, 0.5, me), TypeError),
    (lambda: shmem.signal_set(signal, 1, count), ValueError), (lambda: shmem.signal_set(data, 1, me), TypeError),
    (lambda: shmem.signal_fetch(wrong_signal), TypeError),
    (lambda: shmem.signal_wait_until(signal, "=", 1), ValueError),
    (lambda: shmem.signal_wait_until(signal, "==", -1), OverflowError),
    (lambda: shmem.signal_wait_until(signal, "==", 2**64), OverflowError),
    (lambda: shmem.del_signal(data), TypeError),
    (lambda: shmem.put_nbi(data, source, me, 5), ValueError), (lambda: shmem.put_nbi(data, source, count), ValueError),
    (lambda: shmem.put_nbi(source, data, me), ValueError), (lambda: shmem.get_nbi(data, source, me), ValueError),
    (lambda: shmem.get_nbi(bytes(32), data, me), (ValueError, TypeError)),
    (lambda: shmem.put_nbi(data, source.astype("i4"), me), TypeError),
]
for call, error in WRONG:
    with pytest.raises(error):
        call()
shmem.barrier_all()
assert (data == -1).all() and shmem.signal_fetch(signal) == 2**64 - 1 and source.tolist() == [0, 1, 2, 3]
shmem.del_signal(signal)
with pytest.raises(shmem.FreedError):
    shmem.signal_fetch(signal)
print("all well")
