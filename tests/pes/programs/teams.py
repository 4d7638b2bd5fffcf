"""Teams: who is in them under which number, how they live, and every collective on many shapes of them."""

import random
import time
from functools import reduce

import numpy as np
import pytest

import pyshmem as shmem
from pyshmem import TEAM_INVALID, TEAM_SHARED, TEAM_WORLD, Team

shmem.init()
me, count = shmem.my_pe(), shmem.n_pes()

# ---- every collective against NumPy ----------------------------------------------------------------------------------

ROOM = 3 << 18  # a multiple of every size of an element here
source_bytes, target_bytes = shmem.zeros(ROOM, "u1"), shmem.zeros(ROOM, "u1")
UFUNC = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum, "and": np.bitwise_and,
         "or": np.bitwise_or, "xor": np.bitwise_xor}


def values(pe, length, dtype):
    numbers = np.random.default_rng((pe, length)).integers(0, 100, length)
    dtype = np.dtype(dtype)
    if dtype.kind in "SV":
        return np.frombuffer((numbers + 1).astype("u1").repeat(dtype.itemsize).tobytes(), dtype)
    if dtype.kind == "c":
        return (numbers + 1j * (numbers % 7)).astype(dtype)
    return (numbers % 2 if dtype.kind == "b" else numbers).astype(dtype)


def fresh(dtype, source_length, target_length):
    source = source_bytes.view(dtype)[:source_length]
    source[...] = values(me, source_length, dtype)
    target = target_bytes.view(dtype)[:target_length]
    target.view("u1")[...] = 0
    return source, target


def same(target, expected, *what):
    assert target.shape == expected.shape and (target == expected.astype(target.dtype)).all(), (*what, target, expected)


def move(team, members, dtype, length):
    """Collectives that copy. The team meets before each, when all have prepared what others write; not after it."""
    mine, size = members.index(me), len(members)
    here = {"team": None if team is TEAM_WORLD else team}
    what = dtype, length, members
    item = np.dtype(dtype).itemsize
    for root in sorted({0, size - 1, size // 2}):
        source, target = fresh(dtype, length, length + 1)
        team.sync()
        shmem.broadcast(target, source, root, length, **here)
        same(target[:length], values(members[root], length, dtype), "broadcast", root, *what)
        assert target[length:].tobytes() == bytes(item)

    source, target = fresh(dtype, length, size * length + 1)
    team.sync()
    shmem.fcollect(target, source, **here)
    same(target[:-1], np.concatenate([values(pe, length, dtype) for pe in members]), "fcollect", *what)
    assert target[-1:].tobytes() == bytes(item)

    sizes = [(length + 3 * i) % (length + 2) for i in range(size)]  # different, and 0 among them
    source, target = fresh(dtype, length + 1, sum(sizes) + 1)
    team.sync()
    shmem.collect(target, source, sizes[mine], **here)
    same(target[:-1], np.concatenate([values(pe, length + 1, dtype)[:n] for pe, n in zip(members, sizes, strict=True)]),
         "collect", *what)
    assert target[-1:].tobytes() == bytes(item)

    source, target = fresh(dtype, size * length, size * length)
    team.sync()
    shmem.alltoall(target, source, length if mine % 2 else None, **here)
    sent = [values(pe, size * length, dtype) for pe in members]
    same(target, np.concatenate([all_of[mine * length : (mine + 1) * length] for all_of in sent]), "alltoall", *what)

    tst, sst = 3, 2
    source, target = fresh(dtype, size * length * sst, size * length * tst)
    team.sync()
    shmem.alltoalls(target, source, tst, sst, length, **here)
    sent = [values(pe, size * length * sst, dtype)[::sst] for pe in members]
    expected = np.zeros(size * length * tst, dtype)
    if length:
        expected[::tst] = np.concatenate([all_of[mine * length : (mine + 1) * length] for all_of in sent])
    same(target, expected, "alltoalls", *what)


def combine(team, members, dtype, length):
    mine, what = members.index(me), (dtype, length, members)
    here = {"team": None if team is TEAM_WORLD else team}
    all_values = [values(pe, length, dtype) for pe in members]
    kind = np.dtype(dtype).kind
    for op in UFUNC if kind in "iu" else ("sum", "prod", "max", "min") if kind == "f" else ("sum", "prod"):
        source, target = fresh(dtype, length, length + 1)
        team.sync()
        getattr(shmem, f"{op}_reduce")(target, source, length, **here)
        expected = reduce(UFUNC[op], all_values)
        same(target[:length], expected, op, *what)
        assert target[length] == 0
        same(source, all_values[mine])
        team.sync()
        shmem.reduce(source, source, shmem.OP(op), **here)
        same(source, expected, op, "in place", *what)
    zeros = np.zeros((1, length), dtype)
    sums = np.concatenate([zeros, np.cumsum(np.array(all_values), axis=0, dtype=dtype)])
    for scan, expected in ((shmem.sum_inscan, sums[mine + 1]), (shmem.sum_exscan, sums[mine])):
        source, target = fresh(dtype, length, length)
        team.sync()
        scan(target, source, **here)
        same(target, expected, scan.__name__, *what)
        team.sync()
        scan(source, source, length, **here)
        same(source, expected, scan.__name__, "in place", *what)


def meet(team, members):
    """Nobody leaves before all have come, and a barrier completes what was put."""
    mine, size = members.index(me), len(members)
    arrived = shmem_words[:size]
    arrived[...] = 0
    team.sync()
    for turn in range(1, 5):
        if turn % size == mine:
            time.sleep(0.01)
        for pe in members:
            shmem.p(arrived[mine : mine + 1], turn, pe)
        shmem.barrier(team)
        assert arrived.min() >= turn, (turn, arrived)
        team.sync() if turn % 2 else shmem.sync(team)


shmem_words = shmem.zeros(64, "i8")
MOVED = ["i1", "i2", "i4", "u8", "f4", "f8", "g", "D", "G", "?", "S1", "S3", "V12", "M8[s]"]
COMBINED = ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "q", "Q", "f4", "f8", "g", "F", "D", "G"]
# A meeting takes Sandia OpenSHMEM's emulated network tens of milliseconds where PEs share cores.
SLOW = count > 2 and shmem.info_get_name().startswith("Sandia")
if SLOW:
    MOVED, COMBINED = ["i2", "D", "S3"], ["u1", "i8", "g"]


def all_collectives(team, members, moved, combined, lengths):
    if me not in members:
        assert not team and team == TEAM_INVALID
        return
    assert team and team != TEAM_INVALID
    assert (team.my_pe(), team.n_pes()) == (members.index(me), len(members))
    assert [team.translate_pe(pe) for pe in range(len(members))] == members
    meet(team, members)
    for length in lengths:
        for dtype in moved:
            move(team, members, dtype, length)
        for dtype in combined:
            combine(team, members, dtype, length)


def strided(team, parent, start, stride, size):
    """The new team, and its members by their numbers in the world."""
    return team.split_strided(start, stride, size), [parent[start + i * stride] for i in range(size)]


everyone = list(range(count))
shared = [pe for pe in everyone if shmem.ptr(shmem_words, pe) is not None]
reversed_team, reversed_members = strided(TEAM_WORLD, everyone, count - 1, -1, count)
halves = [strided(TEAM_WORLD, everyone, start, 2, (count - start + 1) // 2) for start in range(min(2, count))]
all_collectives(TEAM_WORLD, everyone, ["i4", "S3", "G"], ["i4", "D"], [0, 5])  # the others in collectives.py
all_collectives(TEAM_SHARED, shared, ["i1", "f8"], ["i4"], [3])
all_collectives(reversed_team, reversed_members, MOVED, COMBINED, [3])
for team, members in halves:
    all_collectives(team, members, MOVED, COMBINED, [1])
    all_collectives(team, members, ["u8"], ["i2"], [0, 501])
    all_collectives(team, members, ["f8"], ["f8"], [9000])  # more than a work area holds
shmem.barrier_all()
for start in everyone:  # one PE alone, from each of them, by every stride
    alone, members = strided(reversed_team, reversed_members, start, start - 1, 1)
    all_collectives(alone, members, ["S3"], ["f4"], [0, 2])
    shmem.barrier_all()
    alone.destroy()
# teams of teams of teams: the others of the reversed one, then from its end on
if count > 2:
    outer, outer_members = strided(reversed_team, reversed_members, 0, 2, (count + 1) // 2)
    if outer:
        inner, inner_members = strided(outer, outer_members, len(outer_members) - 1, -1, len(outer_members))
        all_collectives(inner, inner_members, ["i8"], ["u2"], [7])
        assert inner.translate_pe(0, outer) == len(outer_members) - 1
        assert inner.translate_pe(team=reversed_team) == reversed_members.index(me)
        inner.destroy()
        outer.destroy()

# ---- grids: rows and columns, uneven, and one that is wider than there are PEs
for width in (2, 3) if SLOW else range(1, count + 2):
    for parent, members in [(TEAM_WORLD, everyone), (reversed_team, reversed_members)][width % 2 if SLOW else 0 :]:
        row, column = parent.split_2d(width)
        here, wide = members.index(me), min(width, count)
        x, y = here % wide, here // wide
        combined = ["i8"] if parent is TEAM_WORLD else []
        all_collectives(row, members[y * wide : (y + 1) * wide], ["i4"], combined, [2])
        all_collectives(column, members[x::wide], ["i4"], combined, [2])
        assert (row.my_pe(), column.my_pe()) == (x, y)
        for turn in range(3):  # by turns, with nothing else between
            shmem.sum_reduce(shmem_words[turn : turn + 1], shmem_words[8 + turn : 9 + turn], team=row)
            shmem.max_reduce(shmem_words[16 + turn : 17 + turn], shmem_words[24 + turn : 25 + turn], team=column)
        column.destroy()
        row.destroy()

# ---- skew: many in a row without a meeting between them, PEs late by turns
noise = random.Random(me)
results = shmem.zeros((12 if SLOW else 40, 2), "i8")
one = shmem.full(1, me + 1, dtype="i8")
for team, members in [(reversed_team, reversed_members), *halves, (TEAM_WORLD, everyone)]:
    if team:
        for i, result in enumerate(results):
            if noise.random() < 0.1:
                time.sleep(0.002)
            if i % 3 == 0:
                shmem.sum_reduce(result[:1], one, team=team)
            elif i % 3 == 1:
                shmem.broadcast(result[:1], one, i % len(members), team=team)
            else:
                shmem.sum_exscan(result[:1], one, team=team)
        team.sync()
        for i, result in enumerate(results[:, 0].tolist()):
            before = members[: members.index(me)]
            expected = sum(members) + len(members), members[i % len(members)] + 1, sum(before) + len(before)
            assert result == expected[i % 3]
    shmem.barrier_all()

# ---- life ------------------------------------------------------------------------------------------------------------

team = TEAM_WORLD.split_strided(num_contexts=3)
assert team.get_config() == {"num_contexts": 3}
assert TEAM_WORLD.split_strided(config={"num_contexts": 2}).get_config() == {"num_contexts": 2}
assert TEAM_WORLD.get_config() == TEAM_SHARED.get_config() == {"num_contexts": 0}
row, column = TEAM_WORLD.split_2d(2, {"num_contexts": 4}, {"num_contexts": 5})
assert (row.get_config(), column.get_config()) == ({"num_contexts": 4}, {"num_contexts": 5})

alias, other = Team(team), TEAM_WORLD.split_strided()
assert alias == team and hash(alias) == hash(team) and alias is not team and len({alias, team, other}) == 2
assert other != team and team != TEAM_WORLD and Team() == TEAM_INVALID and Team(TEAM_WORLD) == TEAM_WORLD
assert not Team() and not TEAM_INVALID and TEAM_WORLD and TEAM_SHARED and team != 3
assert str(count) in repr(team) and len({repr(one) for one in (team, TEAM_WORLD, TEAM_SHARED, TEAM_INVALID)}) == 4
alias.destroy()
alias.destroy()  # does nothing
assert not alias and not team  # one team, whatever the object
with pytest.raises(RuntimeError, match="destroyed"):
    team.n_pes()
for name in ("my_pe", "n_pes", "get_config", "sync", "split_strided", "translate_pe", "create_ctx"):
    for gone in (team, alias, TEAM_INVALID, Team()):
        with pytest.raises(RuntimeError, match="not a member|destroyed"):
            getattr(gone, name)()
for call in (lambda: team.split_2d(1), lambda: team.ptr(shmem_words, 0), lambda: TEAM_WORLD.translate_pe(0, team),
             lambda: shmem.barrier(team), lambda: shmem.sync(team), lambda: shmem.Ctx.create(0, team),
             lambda: shmem.sum_reduce(shmem_words, shmem_words, team=team),
             lambda: shmem.broadcast(shmem_words, shmem_words, 0, team=TEAM_INVALID),
             lambda: shmem.collect(shmem_words, shmem_words, team=team),
             lambda: shmem.sum_inscan(shmem_words, shmem_words, team=team)):
    with pytest.raises(RuntimeError, match="not a member|destroyed"):
        call()
team.destroy()
for predefined in (TEAM_WORLD, TEAM_SHARED):
    predefined.destroy()
    assert predefined.n_pes() > 0
stand_in = Team(TEAM_WORLD)
stand_in.destroy()
assert not stand_in and TEAM_WORLD
TEAM_INVALID.destroy()
with TEAM_WORLD.split_strided() as inside:
    inside.sync()
assert not inside
with pytest.raises(TypeError, match="takes a Team"):
    Team(3)

# ---- one PE's place in another team
for team, members in [*halves, (reversed_team, reversed_members)]:
    if team:
        for pe in everyone:
            if pe in members:
                assert TEAM_WORLD.translate_pe(pe, team) == members.index(pe)
            else:
                with pytest.raises(RuntimeError, match="not a member"):
                    TEAM_WORLD.translate_pe(pe, team)
        assert team.translate_pe() == me and team.translate_pe(team=team) == members.index(me)
        for pe in (-1, len(members)):
            with pytest.raises(ValueError, match="out of range"):
                team.translate_pe(pe)
        view = team.ptr(shmem_words, len(members) - 1)
        direct = shmem.ptr(shmem_words, members[-1])
        assert (view is None) == (direct is None)
        assert view is None or view.ctypes.data == direct.ctypes.data
        with pytest.raises(ValueError, match="out of range"):
            team.ptr(shmem_words, len(members))

# ---- wrong arguments raise on every PE before anything happens: all of them can go on at once
WRONG = [
    (lambda: TEAM_WORLD.split_strided(count), ValueError), (lambda: TEAM_WORLD.split_strided(-1), ValueError),
    (lambda: TEAM_WORLD.split_strided(0, 1, count + 1), ValueError),
    (lambda: TEAM_WORLD.split_strided(0, 1, 0), ValueError), (lambda: TEAM_WORLD.split_strided(0, 1, -1), ValueError),
    (lambda: TEAM_WORLD.split_strided(0, -1, 2), ValueError), (lambda: TEAM_WORLD.split_strided(0, 0, 2), ValueError),
    (lambda: TEAM_WORLD.split_strided(0, count, 2), ValueError),
    (lambda: TEAM_WORLD.split_strided(0, 2**62, count + 3), ValueError),
    (lambda: TEAM_WORLD.split_strided(0, -2**63, max(count, 2)), ValueError),  # times 2 it is 0 in 64 bits
    (lambda: TEAM_WORLD.split_strided(0, 2**64 // 3 + 1, max(count, 2)), ValueError),  # times 3 it is 2
    (lambda: TEAM_WORLD.split_strided(0, 2**32 + 1, max(count, 2)), ValueError),
    (lambda: TEAM_WORLD.split_strided(0.5), TypeError), (lambda: TEAM_WORLD.split_strided(0, 1, "1"), TypeError),
    (lambda: TEAM_WORLD.split_strided(contexts=1), ValueError),
    (lambda: TEAM_WORLD.split_strided(num_contexts=-1), ValueError),
    (lambda: TEAM_WORLD.split_strided(config={"num_contexts": 1, "more": 2}), ValueError),
    (lambda: TEAM_WORLD.split_2d(0), ValueError), (lambda: TEAM_WORLD.split_2d(-3), ValueError),
    (lambda: TEAM_WORLD.split_2d(1, {"x": 1}), ValueError), (lambda: TEAM_WORLD.split_2d(1, None, 3), TypeError),
    (lambda: shmem.sync(3), TypeError), (lambda: shmem.barrier("world"), TypeError),
    (lambda: shmem.broadcast(shmem_words, shmem_words, count, team=reversed_team), ValueError),
    (lambda: shmem.broadcast(shmem_words, shmem_words, -1, team=reversed_team), ValueError),
    (lambda: shmem.fcollect(shmem_words, shmem_words, 64 // count + 1, reversed_team), ValueError),
    (lambda: shmem.collect(shmem_words[:1], shmem_words, 2, reversed_team), ValueError),
    (lambda: shmem.alltoall(shmem_words, shmem_words, 64 // count + 1, reversed_team), ValueError),
    (lambda: shmem.alltoalls(shmem_words, shmem_words, 0, 1, 1, reversed_team), ValueError),
    (lambda: shmem.alltoalls(shmem_words, shmem_words, 1, -1, 1, reversed_team), ValueError),
    (lambda: shmem.alltoalls(shmem_words, shmem_words, 64, 1, 2, reversed_team), ValueError),
    (lambda: shmem.sum_reduce(shmem_words, shmem_words, 65, reversed_team), ValueError),
    (lambda: shmem.sum_reduce(shmem_words, source_bytes, 1, reversed_team), TypeError),
    (lambda: shmem.sum_inscan(source_bytes.view("S1"), target_bytes.view("S1"), 1, reversed_team), TypeError),
    (lambda: shmem.sum_exscan(source_bytes.view("?"), target_bytes.view("?"), 1, reversed_team), TypeError),
    (lambda: shmem.max_reduce(source_bytes.view("D"), target_bytes.view("D"), 1, reversed_team), TypeError),
    (lambda: shmem.xor_reduce(source_bytes.view("f8"), target_bytes.view("f8"), 1, reversed_team), TypeError),
    (lambda: shmem.sum_reduce(source_bytes.view(">i4"), target_bytes.view(">i4"), 1, reversed_team), TypeError),
]
shmem_words[...] = me
for call, error in WRONG:
    with pytest.raises(error):
        call()
assert (shmem_words == me).all()
reversed_team.sync()

# ---- many: far more alive than engines make themselves, and 300 in turn
alive = [strided(TEAM_WORLD, everyone, i % count, 1, 1 + i % (count - i % count)) for i in range(20 if SLOW else 100)]
for team, members in alive[::7]:
    if team:
        shmem_words[0] = 0
        team.sync()
        shmem.sum_reduce(shmem_words[:1], one, team=team)
        assert shmem_words[0] == sum(members) + len(members)
        team.sync()
random.Random(1).shuffle(order := list(range(len(alive))))  # in any order, the same on all
for i in order:
    alive[i][0].destroy()
for i in range(50 if SLOW else 300):
    team = TEAM_WORLD.split_strided(i % count)
    if team and i % 10 == 0:
        shmem.sum_reduce(shmem_words[:1], one, team=team)
        assert shmem_words[0] == sum(range(i % count + 1, count + 1))
    team.destroy()

# ---- the end of what is possible raises on all, and passes
if not SLOW:
    shmem.barrier_all()
    full = []
    with pytest.raises(RuntimeError, match="256 teams are alive"):
        while len(full) < 300:
            full.append(TEAM_WORLD.split_strided())
    assert 200 < len(full) < 256
    with pytest.raises(RuntimeError, match="destroy some"):
        full[0].split_2d(2)
    full.pop().destroy()
    full.append(TEAM_WORLD.split_strided())
    shmem.sum_reduce(shmem_words[:1], one, team=full[-1])
    assert shmem_words[0] == count * (count + 1) // 2
print("all well")
