"""Contexts: life, options, the numbers of PEs on them, completion apart from others, threads, sessions."""

import gc
import threading

import numpy as np
import pytest

import pyshmem as shmem
from pyshmem import CTX, CTX_DEFAULT, CTX_INVALID, TEAM_INVALID, TEAM_WORLD, Ctx

LEVEL = shmem.init(thread_level=shmem.THREAD.MULTIPLE)
me, count = shmem.my_pe(), shmem.n_pes()
gc.freeze()  # what is here already need not be looked through each time
ROW = 24
table = shmem.zeros((count, ROW), "i8")  # row i is written by PE i only
flags = shmem.zeros(count, "u8")
cells = shmem.zeros((count, 4), "i4")
added = [0] * count  # by this PE, to its counter on each


def use(ctx, members, salt):
    """All kinds of operations on a context whose PEs are `members`; complete, and seen by all, at the end."""
    mine = members.index(me)
    for pe in range(len(members)):
        row = table[me]
        shmem.put(row[:4], np.arange(4) + salt, pe, ctx=ctx)
        shmem.put_nbi(row[4:8], np.arange(4) * salt, pe, ctx=ctx)  # a temporary, kept alive until the quiet
        shmem.p(row[8:9], salt, pe, ctx)
        shmem.iput(row[9:14], np.arange(5) + salt, pe, tst=2, sst=2, ctx=ctx)
        shmem.ibput(row[14:20], np.arange(6) + salt, pe, bsize=2, tst=4, sst=2, size=2, ctx=ctx)
        shmem.atomic_set(cells[me, :1], salt, pe, ctx)
        shmem.atomic_add(cells[me, 1:2], 1, pe, ctx)
        added[members[pe]] += 1
        shmem.fence(ctx)
    shmem.quiet(ctx)
    gc.collect()
    shmem.sync(shmem.TEAM_WORLD if len(members) == count else ctx.get_team())
    for other in range(len(members)):
        pe = members[other]
        expected = [*range(salt, salt + 4), *(salt * i for i in range(4)), salt, salt, 0, salt + 2, 0, salt + 4,
                    salt, salt + 1, 0, 0, salt + 2, salt + 3]
        assert table[pe, :20].tolist() == expected, (pe, table[pe], expected)
        assert cells[pe, 0] == salt
        # and what is on another PE, read through the context
        shmem.get(row := np.zeros(ROW, "i8"), table[me], other, ctx=ctx)
        assert row[:20].tolist() == expected
        later = np.zeros(ROW, "i8")
        shmem.get_nbi(later, table[pe], other, ctx=ctx)
        old = np.zeros(1, "i4")
        shmem.atomic_fetch_nbi(old, cells[me, :1], other, ctx)
        ctx.quiet() if ctx is not None else shmem.quiet()
        assert later[:20].tolist() == expected and old[0] == salt
        assert shmem.g(table[pe, 8:9], other, ctx) == salt
        shmem.iget(some := np.zeros(3, "i8"), table[me, 9:14], other, sst=2, ctx=ctx)
        assert some.tolist() == [salt, salt + 2, salt + 4]
        shmem.ibget(some := np.zeros(4, "i8"), table[me, 14:20], other, 2, 2, 4, ctx=ctx)
        assert some.tolist() == [salt, salt + 1, salt + 2, salt + 3]
        assert shmem.atomic_swap(cells[me, 2:3], salt, other, ctx) in range(salt)
        assert shmem.atomic_compare_swap(cells[me, 2:3], salt, salt, other, ctx) == salt
    # a signal through the context: data first
    signal, data = flags[me : me + 1], table[me, 20:24]
    for pe in range(len(members)):
        put = shmem.put_signal if pe % 2 else shmem.put_signal_nbi
        put(data, np.full(4, salt), pe, signal, salt, shmem.SIGNAL.SET, ctx=ctx)
    for pe in members:
        assert shmem.signal_wait_until(flags[pe : pe + 1], "==", salt) == salt
        assert (table[pe, 20:24] == salt).all()
    shmem.pe_quiet(range(len(members)), ctx)
    shmem.pe_quiet([mine, mine], ctx)
    shmem.pe_quiet([], ctx)
    shmem.sync(shmem.TEAM_WORLD if len(members) == count else ctx.get_team())


everyone = list(range(count))
salt = 100
use(None, everyone, salt)
use(CTX_DEFAULT, everyone, salt + 1)
for options in (0, CTX.PRIVATE, CTX.SERIALIZED | CTX.NOSTORE):
    salt += 2
    with Ctx.create(options) as ctx:
        assert ctx and ctx.get_team() == TEAM_WORLD
        use(ctx, everyone, salt)
        other = TEAM_WORLD.create_ctx(options)
        use(other, everyone, salt + 1)
    assert not ctx and other
    other.destroy()
    shmem.barrier_all()

# ---- PEs have the numbers of the context's team
reversed_team = TEAM_WORLD.split_strided(count - 1, -1)
halves = [TEAM_WORLD.split_strided(start, 2, num_contexts=2) for start in range(min(2, count))]
for team, members in [(reversed_team, everyone[::-1]), *((half, everyone[i::2]) for i, half in enumerate(halves))]:
    salt += 2
    if team:
        ctx, other = team.create_ctx(), Ctx.create(CTX.SERIALIZED, team)
        assert ctx.get_team() == team == other.get_team() and ctx != other
        use(ctx, members, salt)
        use(other, members, salt + 1)
        for call in (lambda: shmem.put(table[me], table[me], len(members), ctx=ctx),
                     lambda: shmem.g(flags[:1], -1, ctx), lambda: shmem.atomic_inc(cells[0, :1], len(members), ctx),
                     lambda: shmem.pe_quiet([0, len(members)], ctx),
                     lambda: shmem.signal_set(flags[:1], 0, len(members), ctx)):
            with pytest.raises(ValueError, match="out of range"):
                call()
        # the end of a team is the end of its contexts
        alias = Ctx(ctx)
        other.destroy()
        team.destroy()
        assert not ctx and not alias
        for gone in (ctx, alias, other):
            with pytest.raises(ValueError, match="no context"):
                shmem.put(table[me], table[me], 0, ctx=gone)
        ctx.destroy()
    else:
        with pytest.raises(RuntimeError, match="not a member"):
            team.create_ctx()
    shmem.barrier_all()

assert [shmem.atomic_fetch(cells[me, 1:2], pe) for pe in everyone] == added

# ---- a quiet completes its own context: the flag, on another, tells of data that is there
first, second = Ctx.create(), Ctx.create()
big = shmem.zeros(50_000, "i8")
for turn in range(1, 6):
    right = (me + 1) % count
    shmem.put_nbi(big, np.full(50_000, turn + 10 * me), right, ctx=first)
    gc.collect()
    first.quiet()
    shmem.signal_set(flags[:1], turn, right, second)
    second.fence()
    shmem.signal_wait_until(flags[:1], "==", turn)
    assert (big == turn + 10 * ((me - 1) % count)).all()
    shmem.sync_all()

# ---- objects
alias = Ctx(first)
assert alias == first and hash(alias) == hash(first) and first != second and len({alias, first, second}) == 2
assert Ctx() == CTX_INVALID and not Ctx() and not CTX_INVALID and CTX_DEFAULT and Ctx(CTX_DEFAULT) == CTX_DEFAULT
assert CTX_DEFAULT.get_team() == TEAM_WORLD and first != 3
assert len({repr(one) for one in (first, CTX_DEFAULT, CTX_INVALID)}) == 3
alias.destroy()
alias.destroy()
assert not first
for gone in (first, alias, CTX_INVALID, Ctx()):
    for call in (gone.quiet, gone.fence, gone.session_start, gone.session_stop,
                 lambda: shmem.quiet(gone), lambda: shmem.fence(gone), lambda: shmem.pe_quiet([0], gone),
                 lambda: shmem.p(flags[:1], 1, 0, gone), lambda: shmem.g(flags[:1], 0, gone),
                 lambda: shmem.get(np.zeros(ROW, "i8"), table[me], 0, ctx=gone),
                 lambda: shmem.put_nbi(table[me], np.zeros(ROW, "i8"), 0, ctx=gone),
                 lambda: shmem.get_nbi(np.zeros(ROW, "i8"), table[me], 0, ctx=gone),
                 lambda: shmem.iput(table[me], table[me], 0, ctx=gone),
                 lambda: shmem.atomic_inc(cells[0, :1], 0, gone), lambda: shmem.atomic_fetch(cells[0, :1], 0, gone),
                 lambda: shmem.atomic_fetch_inc_nbi(np.zeros(1, "i4"), cells[0, :1], 0, gone),
                 lambda: shmem.put_signal(table[me], table[me], 0, flags[:1], 1, shmem.SIGNAL_ADD, ctx=gone),
                 lambda: shmem.signal_add(flags[:1], 1, 0, gone)):
        with pytest.raises(ValueError, match="no context"):
            call()
    with pytest.raises((RuntimeError, ValueError), match="no context"):
        gone.get_team()
for call in (lambda: shmem.quiet(3), lambda: shmem.fence("x"), lambda: shmem.p(flags[:1], 1, 0, TEAM_WORLD),
             lambda: Ctx(3), lambda: Ctx.create("x"), lambda: Ctx.create(0, 3), lambda: shmem.pe_quiet(3),
             lambda: shmem.pe_quiet([0.5])):
    with pytest.raises(TypeError):
        call()
for call in (lambda: shmem.pe_quiet([count]), lambda: shmem.pe_quiet([0, -1], second)):
    with pytest.raises(ValueError, match="out of range"):
        call()
with pytest.raises(RuntimeError, match="not a member"):
    Ctx.create(0, TEAM_INVALID)
CTX_DEFAULT.destroy()
CTX_INVALID.destroy()
assert CTX_DEFAULT and shmem.g(flags[:1], me, CTX_DEFAULT) == flags[0]
stand_in = Ctx(CTX_DEFAULT)
stand_in.destroy()
assert not stand_in and CTX_DEFAULT

# ---- sessions are hints
for options, total in ((0, 0), (shmem.SESSION.BATCH, 0), (shmem.SESSION.BATCH, 20), (0, 5)):
    second.session_start(options, total)
    for i in range(20):
        shmem.p(table[me, i : i + 1], total + i, right, second)
    second.session_stop()
    second.quiet()
    shmem.sync_all()
    assert table[(me - 1) % count, :20].tolist() == list(range(total, total + 20))
    shmem.sync_all()
CTX_DEFAULT.session_start()
CTX_DEFAULT.session_stop()

# ---- many: 8 alive at once, 100 in turn
alive = [Ctx.create() for _ in range(8)]
assert len(set(alive)) == 8
for i, ctx in enumerate(alive):
    shmem.p(table[me, i : i + 1], 1000 + i, right, ctx)
for ctx in alive[::-1]:
    ctx.destroy()  # completes
shmem.sync_all()
assert table[(me - 1) % count, :8].tolist() == list(range(1000, 1008))
for _ in range(100):
    with Ctx.create() as ctx:
        shmem.atomic_inc(cells[me, 3:4], right, ctx)
shmem.barrier_all()
assert cells[(me - 1) % count, 3] == 100
shmem.barrier_all()

# ---- a context for each thread
if LEVEL == shmem.THREAD.MULTIPLE:
    THREADS, TURNS = 3, 30
    lanes = shmem.zeros((THREADS, TURNS), "i8")
    counter = shmem.zeros(1, "i8")
    failures = []

    def work(lane):
        try:
            with Ctx.create(CTX.PRIVATE) as ctx:
                for turn in range(TURNS):
                    shmem.put_nbi(lanes[lane, turn : turn + 1], np.array([lane * TURNS + turn]), right, ctx=ctx)
                    shmem.atomic_inc(counter, 0, ctx)
                    if turn % 5 == 0:
                        gc.collect()
                        ctx.quiet()
        except BaseException as error:  # told by the main thread
            failures.append(error)

    threads = [threading.Thread(target=work, args=(lane,)) for lane in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not failures and not any(thread.is_alive() for thread in threads), failures
    shmem.barrier_all()
    assert lanes.ravel().tolist() == list(range(THREADS * TURNS))
    assert shmem.atomic_fetch(counter, 0) == THREADS * TURNS * count
    shmem.barrier_all()
print("all well")
