"""All atomics on all dtypes that have them: results, values before, neighbours, wrapping, and order in a crowd."""

import itertools

import numpy as np
import pytest

import pyshmem as shmem

shmem.init()
me, count = shmem.my_pe(), shmem.n_pes()
right, left = (me + 1) % count, (me - 1) % count
INTEGERS = ["i4", "u4", "i8", "u8", "q", "Q"]  # the last two are C types of their own
REALS = ["f4", "f8"]
BITWISE = {"and": lambda a, b: a & b, "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b}


def wrapped(number, dtype):
    bits = 8 * np.dtype(dtype).itemsize
    number %= 1 << bits
    return number - (1 << bits) if np.dtype(dtype).kind == "i" and number >> bits - 1 else number


def edges(dtype):
    limits = np.iinfo(dtype)
    found = {0, 1, 2**31, 2**32 - 1, 2**63, limits.max, limits.max // 3, limits.min, -1, -2**31}
    return sorted(value for value in found if limits.min <= value <= limits.max)


def check(cells, dtype, pe, expected):
    """The middle cell of PE `pe` is `expected`, and its neighbours are as they were."""
    shmem.get(seen := np.empty(5, dtype), cells, pe)
    assert int(seen[2]) == expected, (dtype, seen, expected)
    assert (seen[[0, 1, 3, 4]] == GUARD.astype(dtype)).all(), (dtype, seen)


GUARD = np.array([101, 102, 103, 104])

# ---- one PE at a time on its own cells, and on its right neighbour's; each has only one writer
for dtype in INTEGERS:
    for pe in dict.fromkeys((me, right)):
        cells = shmem.array([101, 102, 0, 103, 104], dtype=dtype)
        target, before = cells[2:3], 0
        fetched = np.zeros(1, dtype)
        for value in edges(dtype)[:: 3 if dtype in "qQ" else 1]:
            shmem.atomic_set(target, value, pe)
            check(cells, dtype, pe, value)
            assert shmem.atomic_fetch(target, pe) == value and type(shmem.atomic_fetch(target, pe)) is int
            shmem.atomic_inc(target, pe)
            assert shmem.atomic_fetch_inc(target, pe) == wrapped(value + 1, dtype)
            check(cells, dtype, pe, wrapped(value + 2, dtype))
            assert shmem.atomic_swap(target, value, pe) == wrapped(value + 2, dtype)
            # does not hold, then holds
            assert shmem.atomic_compare_swap(target, wrapped(value + 1, dtype), 7, pe) == value
            check(cells, dtype, pe, value)
            assert shmem.atomic_compare_swap(target, value, wrapped(value - 1, dtype), pe) == value
            before = wrapped(value - 1, dtype)
            check(cells, dtype, pe, before)
            for operand in edges(dtype)[1::2]:
                shmem.atomic_add(target, operand, pe)
                assert shmem.atomic_fetch_add(target, operand, pe) == wrapped(before + operand, dtype)
                before = wrapped(before + 2 * operand, dtype)
            check(cells, dtype, pe, before)
            for name, operate in BITWISE.items():
                for operand in edges(dtype)[::3]:
                    shmem.atomic_set(target, value, pe)
                    getattr(shmem, f"atomic_{name}")(target, operand, pe)
                    once = wrapped(operate(value, operand), dtype)
                    assert getattr(shmem, f"atomic_fetch_{name}")(target, value, pe) == once, (dtype, name, operand)
                    check(cells, dtype, pe, wrapped(operate(once, value), dtype))
                    shmem.atomic_op(target, value, name, pe)
                    before = wrapped(operate(operate(once, value), value), dtype)
                    assert shmem.atomic_fetch_op(target, operand, shmem.AMO(name), pe) == before
                    before = wrapped(operate(before, operand), dtype)
                    shmem.atomic_fetch_op_nbi(fetched, target, value, name, pe)
                    shmem.quiet()
                    assert fetched[0] == before
                    check(cells, dtype, pe, wrapped(operate(before, value), dtype))
        # the operation by its name
        shmem.atomic_op(target, 5, shmem.AMO.SET, pe)
        shmem.atomic_op(target, 3, "ADD", pe)
        shmem.atomic_op(target, None, shmem.AMO_INC, pe)
        assert shmem.atomic_fetch_op(target, None, "inc", pe) == 9
        assert shmem.atomic_fetch_op(target, 4, "add", pe) == 10
        assert shmem.atomic_fetch_op(target, 1, "set", pe) == 14
        check(cells, dtype, pe, 1)
        shmem.barrier_all()
        shmem.free(cells)

# ---- one operation of its own for each cell, without a wait between them: every cell is right after a barrier
for dtype in INTEGERS:
    calls = [
        (lambda cell: shmem.atomic_set(cell, 7, right), 7), (lambda cell: shmem.atomic_inc(cell, right), 13),
        (lambda cell: shmem.atomic_add(cell, 5, right), 17), (lambda cell: shmem.atomic_and(cell, 10, right), 8),
        (lambda cell: shmem.atomic_or(cell, 3, right), 15), (lambda cell: shmem.atomic_xor(cell, 5, right), 9),
    ]
    row = shmem.full(2 * len(calls), 12, dtype=dtype)
    for i, (call, _) in enumerate(calls):
        call(row[2 * i : 2 * i + 1])
    shmem.barrier_all()
    assert row[::2].tolist() == [expected for _, expected in calls] and (row[1::2] == 12).all(), (dtype, row)
    shmem.free(row)

# ---- reals: set, fetch and swap, bit for bit
for dtype in REALS:
    cells = shmem.array([101, 102, 0, 103, 104], dtype=dtype)
    target, info = cells[2:3], np.finfo(dtype)
    for value in (0.5, -0.0, float(info.max), float(info.tiny), -float("inf"), float("nan")):
        for pe in (me, right):
            shmem.barrier_all()
            shmem.atomic_set(target, value, pe)
            seen = shmem.atomic_fetch(target, pe)
            assert type(seen) is float and np.array(seen, dtype).tobytes() == np.array(value, dtype).tobytes()
            assert np.array(shmem.atomic_swap(target, 1.5, pe), dtype).tobytes() == np.array(value, dtype).tobytes()
            assert shmem.atomic_fetch_op(target, 2, "set", pe) == 1.5
            shmem.get(row := np.empty(5, dtype), cells, pe)
            assert row.tolist() == [101, 102, 2, 103, 104], row
    for name in ("inc", "fetch_inc"):
        with pytest.raises(TypeError, match=f"no atomic_{name} for dtype float"):
            getattr(shmem, f"atomic_{name}")(target, me)
    for name in ("add", "and", "or", "xor", "fetch_add", "fetch_and", "fetch_or", "fetch_xor"):
        with pytest.raises(TypeError, match=f"no atomic_{name} for dtype float"):
            getattr(shmem, f"atomic_{name}")(target, 1, me)
    with pytest.raises(TypeError, match="no atomic_compare_swap"):
        shmem.atomic_compare_swap(target, 2, 1, me)
    with pytest.raises(TypeError, match="no atomic_add"):
        shmem.atomic_op(target, 1, "add", me)
    shmem.barrier_all()
    assert cells.tolist() == [101, 102, 2, 103, 104]
    shmem.free(cells)

# ---- dtypes without atomics, and other mistakes, change nothing
for dtype in ["i1", "u1", "i2", "u2", "?", "f2", "g", "F", "D", "G", "S1", "S8", "U1", "M8[s]", "m8[s]", ">i4", ">u8",
              ">f8", "V8"]:
    cell = shmem.zeros(1, dtype=dtype)
    zero = cell.tobytes()
    for call in (lambda: shmem.atomic_set(cell, 1, me), lambda: shmem.atomic_fetch(cell, me),
                 lambda: shmem.atomic_swap(cell, 1, me), lambda: shmem.atomic_fetch_add(cell, 1, me),
                 lambda: shmem.atomic_compare_swap(cell, 0, 1, me), lambda: shmem.atomic_xor(cell, 1, me),
                 lambda: shmem.atomic_fetch_nbi(np.zeros(1, dtype), cell, me)):
        with pytest.raises(TypeError, match="OpenSHMEM has no atomic"):
            call()
    assert cell.tobytes() == zero
    shmem.free(cell)
cell = shmem.full(1, 3, dtype="i4")
frozen = cell.view()
frozen.flags.writeable = False
for call, error in [
    (lambda: shmem.atomic_add(cell, 2**31, me), OverflowError), (lambda: shmem.atomic_add(cell, 1.0, me), TypeError),
    (lambda: shmem.atomic_compare_swap(cell, 2**31, 1, me), OverflowError),
    (lambda: shmem.atomic_compare_swap(cell, 3, -2**31 - 1, me), OverflowError),
    (lambda: shmem.atomic_fetch_op(cell, 1, "nand", me), ValueError),
    (lambda: shmem.atomic_op(cell, 1, 3, me), ValueError), (lambda: shmem.atomic_inc(frozen, me), ValueError),
    (lambda: shmem.atomic_fetch_inc(cell, count), ValueError), (lambda: shmem.atomic_swap(cell, 1, -1), ValueError),
    (lambda: shmem.atomic_set(shmem.ptr(cell, me).reshape(1, 1)[:0], 1, me), ValueError),
    (lambda: shmem.atomic_fetch_add_nbi(np.zeros(1, "i8"), cell, 1, me), TypeError),
    (lambda: shmem.atomic_fetch_add_nbi(np.zeros(2, "i4"), cell, 1, me), ValueError),
    (lambda: shmem.atomic_fetch_add_nbi(bytes(4), cell, 1, me), (TypeError, ValueError)),
]:
    with pytest.raises(error):
        call()
assert shmem.atomic_fetch(frozen, me) == 3
shmem.barrier_all()
assert cell[0] == 3

# ---- all PEs at once on PE 0
ROUNDS = 24
for dtype in ["i4", "u8", "u4", "i8"]:
    # Two counters side by side: tickets are handed out once, the sum is exact, the other half is not disturbed.
    pair = shmem.zeros(2, dtype=dtype)
    log = shmem.zeros((count, ROUNDS), dtype="i8")
    mine = [shmem.atomic_fetch_add(pair[i % 2 : i % 2 + 1], 1 + i % 2, 0) for i in range(ROUNDS)]
    for pe in range(count):
        shmem.put(log[me], np.array(mine), pe)
    shmem.barrier_all()
    assert sorted(log[:, ::2].ravel()) == list(range(count * ROUNDS // 2)), (dtype, log)
    assert sorted(log[:, 1::2].ravel()) == list(range(0, count * ROUNDS, 2)), (dtype, log)
    assert shmem.atomic_fetch(pair[:1], 0) == count * ROUNDS // 2
    assert shmem.atomic_fetch(pair[1:], 0) == count * ROUNDS
    shmem.barrier_all()

    # Adding by compare-and-swap: each succeeds as often as it should, on halves of one word.
    for _ in range(ROUNDS // 4):
        half = pair[me % 2 : me % 2 + 1]
        seen = shmem.atomic_fetch(half, 0)
        while (found := shmem.atomic_compare_swap(half, seen, seen + 3, 0)) != seen:
            seen = found
    shmem.barrier_all()
    assert shmem.atomic_fetch(pair[:1], 0) == count * ROUNDS // 2 + 3 * (ROUNDS // 4) * ((count + 1) // 2)
    assert shmem.atomic_fetch(pair[1:], 0) == count * ROUNDS + 3 * (ROUNDS // 4) * (count // 2)
    shmem.barrier_all()

    # Setting bits, one owner for each: what all saw before must be prefixes of one order.
    bits = 8 * pair.itemsize
    mask = shmem.zeros(3, dtype="u4" if bits == 32 else "u8")
    own = [bit for bit in range(bits) if bit % count == me]
    seen = [shmem.atomic_fetch_or(mask[1:2], 1 << bit, 0) for bit in own]
    table = shmem.zeros(bits, dtype=mask.dtype)
    for bit, value in zip(own, seen, strict=True):
        for pe in range(count):
            shmem.p(table[bit : bit + 1], value, pe)
    shmem.barrier_all()
    order = sorted(range(bits), key=lambda bit: int(table[bit]).bit_count())
    for position, bit in enumerate(order):
        assert int(table[bit]) == sum(1 << earlier for earlier in order[:position]), (dtype, position, table)
    assert all(order.index(a) < order.index(b) for a, b in itertools.pairwise(own))  # a PE's own in its order
    shmem.get(last := np.zeros(3, mask.dtype), mask, 0)
    assert last.tolist() == [0, 2**bits - 1, 0]
    shmem.barrier_all()

    # Clearing them by AND, and flipping all of them an even number of times by XOR.
    for bit in own:
        before = shmem.atomic_fetch_and(mask[1:2], 2**bits - 1 - (1 << bit), 0)
        assert before >> bit & 1, (dtype, bit, before)
    shmem.barrier_all()
    assert shmem.atomic_fetch(mask[1:2], 0) == 0
    shmem.barrier_all()
    for _ in range(2):
        for bit in own:
            before = shmem.atomic_fetch_xor(mask[1:2], 1 << bit, 0)
        for bit in own:
            shmem.atomic_xor(mask[1:2], 1 << bit, 0)
    for bit in own:
        shmem.atomic_or(mask[1:2], 1 << bit, 0)
    shmem.barrier_all()
    assert shmem.atomic_fetch(mask[1:2], 0) == 2**bits - 1
    shmem.barrier_all()

    # Swapping: every value that was put in came out once, but for the one that is still there.
    slot = shmem.zeros(1, dtype=dtype)
    mine = [shmem.atomic_swap(slot, 1 + me + count * i, 0) for i in range(ROUNDS)]
    for pe in range(count):
        shmem.put(log[me], np.array(mine, "i8"), pe)
    shmem.barrier_all()
    assert sorted([*log.ravel(), shmem.atomic_fetch(slot, 0)]) == list(range(1 + count * ROUNDS)), (dtype, log)
    shmem.barrier_all()
    for array in (slot, table, mask, log, pair):
        shmem.free(array)
for dtype in REALS:
    slot = shmem.zeros(1, dtype=dtype)
    log = shmem.zeros((count, ROUNDS))
    mine = [shmem.atomic_swap(slot, 1 + me + count * i, 0) for i in range(ROUNDS)]
    for pe in range(count):
        shmem.put(log[me], np.array(mine), pe)
    shmem.barrier_all()
    assert sorted([*log.ravel(), shmem.atomic_fetch(slot, 0)]) == list(range(1 + count * ROUNDS)), (dtype, log)
    shmem.barrier_all()
    shmem.free(log)
    shmem.free(slot)
print("all well")
