"""Waiting and testing: all forms, all dtypes, masks, nothing at all, and what threads and other PEs do meanwhile."""

import operator
import random
import threading
import time

import numpy as np
import pytest

import pyshmem as shmem

shmem.init(thread_level=shmem.THREAD.MULTIPLE)
me, count = shmem.my_pe(), shmem.n_pes()
right, left = (me + 1) % count, (me - 1) % count
DTYPES = [*"bhilqBHILQfdg"]
COMPARE = {"==": operator.eq, "!=": operator.ne, ">": operator.gt, "<=": operator.le, "<": operator.lt,
           ">=": operator.ge}
SPELLINGS = {"==": ["eq", "EQ", shmem.CMP.EQ, shmem.CMP_EQ], "!=": ["ne", "Ne", shmem.CMP.NE, shmem.CMP_NE],
             ">": ["gt", shmem.CMP.GT, shmem.CMP_GT], "<=": ["le", shmem.CMP.LE, shmem.CMP_LE],
             "<": ["lt", shmem.CMP.LT, shmem.CMP_LT], ">=": ["ge", shmem.CMP.GE, int(shmem.CMP_GE)]}


def extremes(dtype):
    if np.dtype(dtype).kind == "f":
        return [-1.5, -0.0, 0.0, 2.0, float(np.finfo(dtype).max), float("inf"), float("nan")]
    limits = np.iinfo(dtype)
    return [int(limits.min), 0, 1, int(limits.max) // 2, int(limits.max) // 2 + 1, int(limits.max)]


# ---- one variable: every comparison of every pair of values, also above the signed maximum
for dtype in DTYPES:
    cell = shmem.zeros(1, dtype=dtype)
    for now in extremes(dtype):
        cell[0] = now
        for than in extremes(dtype)[me::count]:  # each PE takes its share: looking costs more than it seems to
            for text, compare in COMPARE.items():
                expected = bool(compare(cell[0], np.dtype(dtype).type(than)))
                assert shmem.test(cell, text, than) is expected, (dtype, now, text, than)
                if expected:
                    shmem.wait_until(cell, text, than)
    cell[0] = 5
    for text, spellings in SPELLINGS.items() if dtype == "i" else ():
        for spelling in spellings:
            for than in (4, 5, 6):
                assert shmem.test(cell, spelling, than) is COMPARE[text](5, than), (spelling, than)
    shmem.free(cell)

# ---- several variables, every form, with masks, against the definition
noise = random.Random(7 + me)
for dtype in DTYPES:
    for length in (0, 1, 9):
        row = shmem.zeros(length, dtype=dtype)
        for _ in range(8 if me == 0 else 8 // count):
            row[...] = [noise.randrange(4) for _ in range(length)]
            text, than = noise.choice([*COMPARE]), noise.randrange(4)
            thans = [noise.randrange(4) for _ in range(length)]
            mask = noise.choice([None, [noise.choice([0, 0, 1, -3]) for _ in range(length)], [1] * length])
            counting = [i for i in range(length) if mask is None or mask[i] == 0]
            for vector, operand in (("", than), ("_vector", thans)):
                hold = [i for i in counting if COMPARE[text](row[i], thans[i] if vector else than)]
                arguments = (row, text, operand, mask)
                what = (dtype, row, text, operand, mask)
                assert getattr(shmem, "test_all" + vector)(*arguments) is (hold == counting), what
                assert getattr(shmem, "test_some" + vector)(*arguments) == hold, what
                found = getattr(shmem, "test_any" + vector)(*arguments)
                assert found in hold if hold else found is None, what
                if hold == counting:
                    assert getattr(shmem, "wait_until_all" + vector)(*arguments) is None
                if hold or not counting:
                    assert getattr(shmem, "wait_until_some" + vector)(*arguments) == hold, what
                    found = getattr(shmem, "wait_until_any" + vector)(*arguments)
                    assert found in hold if hold else found is None, what
        shmem.free(row)

# ---- variables that others change, while this PE waits
for dtype in ["i1", "u2", "i4", "u4", "i8", "u8", "f4", "f8", "g"]:
    top = extremes(dtype)[-1] if np.dtype(dtype).kind != "f" else 1e30
    row = shmem.zeros(6, dtype=dtype)
    shmem.p(row[2:3], top, right)
    assert shmem.wait_until_any(row, "==", top) == 2
    assert shmem.wait_until_some(row, ">=", top) == [2]
    shmem.sync_all()
    for i in (5, 0, 1, 4, 3):
        shmem.p(row[i : i + 1], i + 1, right)
    shmem.wait_until_all(row, "!=", 0)
    assert row.tolist() == [1, 2, np.dtype(dtype).type(top), 4, 5, 6]
    shmem.sync_all()
    # all were satisfied at some time, not at one time
    shmem.put(row[:3], np.array([7, 7, 7], dtype), right)
    shmem.wait_until_all_vector(row, "==", [7, 7, 7, 4, 5, 6])
    shmem.sync_all()
    shmem.p(row[4:5], 9, right)
    assert shmem.wait_until_any_vector(row, "==", [1, 2, 3, 4, 9, 6], [0, 0, 0, 1, 0, 1]) == 4
    assert shmem.wait_until_some_vector(row, "<", [1, 2, 3, 5, 10, 6], np.zeros(6, "i8")) == [3, 4]
    shmem.sync_all()
    shmem.free(row)

# ---- each of many flags once, as they come, by a mask that grows
flags = shmem.zeros(3 * count, "i8")
order = list(range(3))
noise = random.Random(me)
noise.shuffle(order)
for i in order:
    for pe in range(count):
        shmem.atomic_set(flags[3 * me + i : 3 * me + i + 1], 10 + me, pe)
done = np.zeros(3 * count, np.intc)
while (found := shmem.wait_until_any(flags, "!=", 0, done)) is not None:
    assert not done[found] and flags[found] == 10 + found // 3
    done[found] = 1
assert done.all()
shmem.sync_all()

# ---- a ring: the data is there when the flag is
data, flag = shmem.zeros(200), shmem.zeros(1, "u8")
for turn in range(1, 21):
    shmem.put(data, np.full(200, turn + me / 8), right)
    shmem.fence()
    shmem.p(flag, 2**63 + turn, right)
    shmem.wait_until(flag, shmem.CMP.GE, 2**63 + turn)
    assert (data == turn + left / 8).all()
    shmem.sync_all()

# ---- another thread of this PE ends the wait; others run while one waits
gate = shmem.zeros(4, "i4")
for wait, index in [(lambda: shmem.wait_until(gate[:1], "==", 1), 0), (lambda: shmem.wait_until_any(gate, "==", 2), 1),
                    (lambda: shmem.wait_until_some(gate, "==", 3), 2),
                    (lambda: shmem.wait_until_all(gate, ">", 0, [0, 0, 0, 0]), 3)]:
    opener = threading.Timer(0.05, gate.__setitem__, (index, index + 1))
    opener.start()
    wait()
    opener.join()
gate[...] = 0
shmem.sync_all()
heard, listeners = [], []
for i in range(4):
    listeners.append(threading.Thread(
        target=lambda i=i: (shmem.wait_until(gate[i : i + 1], ">", 0), heard.append(i))))
    listeners[-1].start()
for i in range(4):
    time.sleep(0.002)
    shmem.atomic_inc(gate[i : i + 1], right)
for listener in listeners:
    listener.join(30)
    assert not listener.is_alive()
assert sorted(heard) == [0, 1, 2, 3]
shmem.barrier_all()

# ---- mistakes
empty = shmem.zeros(0, "i4")
assert shmem.test_all(empty, "==", 1) and shmem.test_any(empty, "==", 1) is None
assert shmem.test_some(empty, "<", 1) == []
narrow, wide = shmem.zeros(2, "i1"), shmem.zeros(2, "u8")
forms = [getattr(shmem, f"{verb}_{form}") for verb in ("test", "wait_until") for form in ("all", "any", "some")]
vectors = [getattr(shmem, f"{form.__name__}_vector") for form in forms]
WRONG = [
    *((lambda form=form, cmp=cmp: form(narrow, cmp, [0, 0] if form in vectors else 0), ValueError)
      for form in forms + vectors for cmp in ("=", "", None, 99, -1, "lte")),
    *((lambda form=form: form(narrow, "==", 128), OverflowError) for form in forms),
    *((lambda form=form: form(wide, "==", -1), OverflowError) for form in forms),
    *((lambda form=form: form(narrow, "==", 0.5), TypeError) for form in forms),
    *((lambda form=form: form(narrow, "==", [0, 0]), ValueError) for form in forms),
    *((lambda form=form: form(narrow, "==", [0, 128]), OverflowError) for form in vectors),
    *((lambda form=form: form(narrow, "==", [0, -129]), OverflowError) for form in vectors),
    *((lambda form=form: form(narrow, "==", np.array([0, 200], "u1")), OverflowError) for form in vectors),
    *((lambda form=form: form(wide, "==", [0, -1]), OverflowError) for form in vectors),
    *((lambda form=form: form(narrow, "==", [0, 0.5]), TypeError) for form in vectors),
    *((lambda form=form: form(narrow, "==", [0]), ValueError) for form in vectors),
    *((lambda form=form: form(narrow, "==", 0, [0]), ValueError) for form in forms),
    *((lambda form=form: form(np.zeros(2, "i8"), "==", 0), ValueError) for form in forms),
    *((lambda form=form: form(shmem.CTX_DEFAULT, "==", 0), TypeError) for form in forms),
    (lambda: shmem.test(narrow, "==", 0), ValueError), (lambda: shmem.wait_until(narrow, "==", 0), ValueError),
    (lambda: shmem.test(narrow[:1], "==", 1000), OverflowError), (lambda: shmem.test(narrow[:0], "==", 0), ValueError),
    (lambda: shmem.test_all(shmem_matrix[:, :1], "==", 0), ValueError),
]
shmem_matrix = shmem.zeros((3, 3), "i4")
for call, error in WRONG:
    with pytest.raises(error):
        call()
assert shmem.test_all(shmem_matrix, "==", 0) and shmem.test_some(shmem_matrix.T, "==", 0) == list(range(9))
assert shmem.test_all_vector(wide, "<", [2**63, 2**64 - 1]) and shmem.test_all_vector(narrow, "==", np.zeros(2, "u8"))
for dtype in ["?", "F", "D", "f2", "S1", "M8[s]", ">i4"]:
    other = shmem.zeros(2, dtype)
    for form in (shmem.test_any, shmem.wait_until_any):
        with pytest.raises(TypeError, match="cannot wait for dtype"):
            form(other, "==", 0)
    shmem.free(other)
shmem.free(wide)
with pytest.raises(shmem.FreedError):
    shmem.test_any(wide, "==", 0)
print("all well")
