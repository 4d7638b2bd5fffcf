"""Random programs, the same on all PEs, against a model of all PEs' memory in NumPy.

Every PE draws the same steps and keeps the same model: for each symmetric array one of shape (PEs, length).  In a step
every location has one writer, or writers whose order makes no difference, and all PEs meet between steps.
"""

import sys
import traceback
import zlib
from functools import reduce
from typing import NamedTuple

import numpy as np
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import pyshmem as shmem
from pyshmem import TEAM_WORLD

shmem.init(partitions={"side": "size=1M"})
me, count = shmem.my_pe(), shmem.n_pes()
everyone = range(count)
EXAMPLES = 15 if shmem.info_get_name().startswith("Sandia") else 100
LENGTH = 48
PART = LENGTH // count
DTYPES = ["i2", "i4", "u8", "f8", "D"]
UFUNC = {"sum": np.add, "xor": np.bitwise_xor, "max": np.maximum, "min": np.minimum, "prod": np.multiply,
         "and": np.bitwise_and, "or": np.bitwise_or}


class Step(NamedTuple):
    """One step; each kind makes of the numbers what it needs."""

    kind: str
    dtype: str
    which: int  # of two arrays of a dtype
    shift: int  # each PE turns to the one that much further on
    start: int
    length: int
    a: int
    b: int
    seed: int


def numbers(pe, length, step):
    """What a PE writes in a step."""
    found = np.random.default_rng((step.seed, pe)).integers(-100, 100, length)
    return (found + 1j * found[::-1] if step.dtype == "D" else found).astype(step.dtype)


class Memory:
    """Symmetric arrays, and the model of them."""

    def __init__(self):
        where = {"i4": "side", "f8": "side"}
        self.real = {dtype: [shmem.zeros(LENGTH, dtype, partition=where.get(dtype)) for _ in range(2)]
                     for dtype in DTYPES}
        self.model = {dtype: [np.zeros((count, LENGTH), dtype) for _ in range(2)] for dtype in DTYPES}
        self.flags = shmem.zeros(8, "u8")
        self.flags_model = np.zeros((count, 8), "u8")

    def check(self, step):
        for dtype in DTYPES:
            for which in range(2):
                real, model = self.real[dtype][which], self.model[dtype][which][me]
                assert (real == model).all(), (step, dtype, which, real, model)
        assert (self.flags == self.flags_model[me]).all(), (step, self.flags, self.flags_model[me])


class Teams:
    """Kinds of teams: this PE's team of each, and the members of all teams of that kind, by numbers in the world."""

    def __init__(self):
        self.kinds = [
            (None, [[*everyone]]),
            (TEAM_WORLD.split_strided(count - 1, -1), [[*everyone][::-1]]),
        ]
        halves = [TEAM_WORLD.split_strided(start, 2) for start in range(min(2, count))]
        self.kinds.append((halves[me % 2], [[*everyone][start::2] for start in range(min(2, count))]))
        row, column = TEAM_WORLD.split_2d(2)
        self.kinds.append((row, [[*everyone][start : start + 2] for start in range(0, count, 2)]))
        self.kinds.append((column, [[*everyone][start::2] for start in range(min(2, count))]))
        self.kinds.append((TEAM_WORLD.split_strided(0, 0), [[0]]))  # this one changes

    def of(self, step):
        """This PE's team, its members or None, and all teams of the kind."""
        team, groups = self.kinds[step.a % len(self.kinds)]
        return team, next((members for members in groups if me in members), None), groups

    def renew(self, step):
        """The last one is made anew, of a team that all PEs are in."""
        self.kinds[-1][0].destroy()
        parent, (members,) = self.kinds[step.a % 2]
        start, stride = step.start % count, step.b % 5 - 2
        most = 1 if stride == 0 else len(range(start, count if stride > 0 else -1, stride))
        size = 1 + step.length % most
        chosen = [members[start + i * stride] for i in range(size)]
        team = (parent or TEAM_WORLD).split_strided(start, stride, size)
        assert bool(team) == (me in chosen)
        for pe, world in enumerate(chosen):
            assert not team or team.translate_pe(pe) == world
        self.kinds[-1] = team, [chosen]


memory, teams = Memory(), Teams()
contexts = [None, shmem.CTX_DEFAULT, shmem.Ctx.create(), teams.kinds[1][0].create_ctx()]


def route(step, pe):
    """A context, and the number of a PE on it."""
    ctx = contexts[step.b % len(contexts)]
    return ctx, count - 1 - pe if ctx is contexts[3] else pe


# ---- RMA -------------------------------------------------------------------------------------------------------------

def places(step, pe, spread):
    """Where a PE's transfer goes: first element, and number of blocks `spread` apart of `bsize` elements."""
    start = (step.start + pe * step.a) % LENGTH
    bsize = 1 + step.seed % 3 if "ib" in step.kind else 1
    stride = 1 if not spread else bsize + step.a % 3
    fit = 1 + (LENGTH - start - bsize) // stride if LENGTH - start >= bsize else 0
    return start, bsize, stride, min(step.length, fit)


def indices(start, bsize, stride, blocks):
    return [start + block * stride + i for block in range(blocks) for i in range(bsize)]


def put(step):
    """To the PE `shift` further on, from private memory or from the other array."""
    real, model = (side[step.dtype][step.which] for side in (memory.real, memory.model))
    other, other_model = (side[step.dtype][1 - step.which] for side in (memory.real, memory.model))
    strided = step.kind in ("iput", "ibput")
    for pe in everyone:
        start, bsize, stride, blocks = places(step, pe, strided)
        sst = bsize + step.b % 2 if strided else 1
        width = (blocks - 1) * sst + bsize if blocks else 0
        symmetric = step.seed % 2 and width <= LENGTH
        source = other_model[pe, :width] if symmetric else numbers(pe, width, step)
        model[(pe + step.shift) % count, indices(start, bsize, stride, blocks)] = source[indices(0, bsize, sst, blocks)]
        if pe == me:
            given = other[:width] if symmetric else source
            ctx, target_pe = route(step, (pe + step.shift) % count)
            if step.kind == "put":
                shmem.put(real[start : start + blocks], given, target_pe, ctx=ctx)
            elif step.kind == "put_nbi":
                shmem.put_nbi(real[start:], given, target_pe, blocks, ctx)
            elif step.kind == "p":
                for i in range(blocks):
                    shmem.p(real[start + i : start + i + 1], source[i], target_pe, ctx)
            elif step.kind == "iput":
                shmem.iput(real[start:], given, target_pe, stride, sst, blocks, ctx)
            else:
                shmem.ibput(real[start:], given, target_pe, bsize, stride, sst, blocks, ctx)
            shmem.quiet(ctx)


def get(step):
    """From the PE `shift` further on, to private memory or to the other array."""
    real, model = (side[step.dtype][step.which] for side in (memory.real, memory.model))
    other, other_model = (side[step.dtype][1 - step.which] for side in (memory.real, memory.model))
    strided = step.kind in ("iget", "ibget")
    for pe in everyone:
        start, bsize, stride, blocks = places(step, pe, strided)
        tst = bsize + step.b % 2 if strided else 1
        width = (blocks - 1) * tst + bsize if blocks else 0
        symmetric = step.seed % 2 and width <= LENGTH
        expected = other_model[pe, :width] if symmetric else np.full(width, 9, step.dtype)
        read = model[(pe + step.shift) % count]
        expected[indices(0, bsize, tst, blocks)] = read[indices(start, bsize, stride, blocks)]
        if pe == me:
            into = other[:width] if symmetric else np.full(width, 9, step.dtype)
            ctx, source_pe = route(step, (pe + step.shift) % count)
            if step.kind == "get":
                shmem.get(into, real[start : start + blocks], source_pe, ctx=ctx)
            elif step.kind == "get_nbi":
                shmem.get_nbi(into, real[start:], source_pe, blocks, ctx)
                shmem.quiet(ctx)
            elif step.kind == "g":
                for i in range(blocks):
                    into[i] = shmem.g(real[start + i : start + i + 1], source_pe, ctx)
            elif step.kind == "iget":
                shmem.iget(into, real[start:], source_pe, tst, stride, blocks, ctx)
            else:
                shmem.ibget(into, real[start:], source_pe, bsize, tst, stride, blocks, ctx)
            assert (into == expected).all(), (step, into, expected)


# ---- atomics ---------------------------------------------------------------------------------------------------------

OPERATIONS = {
    "set": lambda old, new: new, "inc": lambda old, new: old + old.dtype.type(1), "add": np.add,
    "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor, "fetch": lambda old, new: old,
}


def atomic(step):
    """Each PE on a cell of its own on the PE `shift` further on, with or without the value before."""
    dtype = step.dtype if step.dtype in ("i4", "u8", "f8") else ("i4", "u8")[step.seed % 2]
    names = ("set", "fetch") if dtype == "f8" else tuple(OPERATIONS)
    name, form = names[step.length % len(names)], ("", "fetch_", "nbi", "swap")[step.seed % 4]
    real, model = memory.real[dtype][step.which], memory.model[dtype][step.which]
    operands = [numbers(pe, 1, step._replace(dtype=dtype)) for pe in everyone]
    before = model.copy()
    cells = [((pe + step.shift) % count, (step.start + pe) % LENGTH) for pe in everyone]
    for cell, operand in zip(cells, operands, strict=True):
        with np.errstate(over="ignore"):
            model[cell] = OPERATIONS[name](before[cell], operand[0])
    (pe, place), operand, old = cells[me], operands[me][0], before[cells[me]]
    cell = real[place : place + 1]
    ctx, pe = route(step, pe)
    if form == "swap" and dtype != "f8" and name == "set":
        assert shmem.atomic_compare_swap(cell, old ^ dtype_one(dtype), operand, pe, ctx) == old
        assert shmem.atomic_compare_swap(cell, old, operand, pe, ctx) == old
    elif name == "fetch":
        assert shmem.atomic_fetch(cell, pe, ctx) == old
    elif form == "nbi":
        fetched = np.zeros(1, dtype)
        shmem.atomic_fetch_op_nbi(fetched, cell, operand, name, pe, ctx)
        shmem.quiet(ctx)
        assert fetched[0] == old, (step, fetched, old)
    elif form == "fetch_":
        assert shmem.atomic_fetch_op(cell, operand, name, pe, ctx) == old
    else:
        shmem.atomic_op(cell, operand, name, pe, ctx)
    shmem.quiet(ctx)


def dtype_one(dtype):
    return np.dtype(dtype).type(1)


def contend(step):
    """All on one cell of one PE, in whatever order."""
    dtype = ("i4", "u8")[step.seed % 2]
    name = ("add", "xor", "or", "and", "inc")[step.length % 5]
    real, model = memory.real[dtype][step.which], memory.model[dtype][step.which]
    pe, place = step.start % count, step.length % LENGTH
    operands = [numbers(each, 1, step._replace(dtype=dtype))[0] for each in everyone]
    with np.errstate(over="ignore"):
        model[pe, place] = reduce(OPERATIONS[name], operands, model[pe, place])
    ctx, pe = route(step, pe)
    if step.a % 2:
        shmem.atomic_op(real[place : place + 1], operands[me], name, pe, ctx)
    else:
        shmem.atomic_fetch_op(real[place : place + 1], operands[me], name, pe, ctx)
    shmem.quiet(ctx)


# ---- collectives -----------------------------------------------------------------------------------------------------

def collective(step):
    """On a kind of team, from one array to the other, or in place; all teams of the kind at the same time."""
    team, mine, groups = teams.of(step)
    source, source_model = (side[step.dtype][step.which] for side in (memory.real, memory.model))
    target, target_model = (side[step.dtype][1 - step.which] for side in (memory.real, memory.model))
    name, most = step.kind, LENGTH // max(map(len, groups))
    length = step.length % (most + 1)
    if name in ("reduce", "sum_inscan", "sum_exscan"):
        operations = ["sum"] if step.dtype == "D" else ["sum", "max", "min"] if step.dtype == "f8" else [*UFUNC]
        operation = operations[step.b % len(operations)]
        # what was computed before may be too large to be exact
        source[:length] = numbers(me, length, step)
        for pe in everyone:
            source_model[pe, :length] = numbers(pe, length, step)
        if step.seed % 2:
            target, target_model = source, source_model
        shmem.sync_all()
    before = source_model.copy()
    for members in groups:
        rows, size = before[members], len(members)
        sizes = [(length + i * step.b) % (most + 1) for i in range(size)]
        root = step.start % size
        tst, sst = 1 + step.b % 2, 1 + step.start % 2
        short = length // 2
        for i, pe in enumerate(members):
            into = target_model[pe]
            if name == "broadcast":
                into[:length] = rows[root, :length]
            elif name == "collect":
                into[: sum(sizes)] = np.concatenate([row[:n] for row, n in zip(rows, sizes, strict=True)])
            elif name == "fcollect":
                into[: size * length] = rows[:, :length].ravel()
            elif name == "alltoall":
                into[: size * length] = rows[:, i * length : (i + 1) * length].ravel()
            elif name == "alltoalls" and short:
                blocks = rows[:, i * short * sst : (i + 1) * short * sst : sst]
                into[: size * short * tst : tst] = blocks.ravel()
            elif name == "reduce":
                with np.errstate(over="ignore"):
                    into[:length] = reduce(UFUNC[operation], rows[:, :length])
            elif name == "sum_inscan":
                into[:length] = rows[: i + 1, :length].sum(axis=0, dtype=step.dtype)
            elif name == "sum_exscan":
                into[:length] = rows[:i, :length].sum(axis=0, dtype=step.dtype)
        if mine is not members:
            continue
        if name == "broadcast":
            shmem.broadcast(target, source, root, length, team)
        elif name == "collect":
            shmem.collect(target, source, sizes[mine.index(me)], team)
        elif name == "alltoalls":
            shmem.alltoalls(target, source, tst, sst, short, team)
        elif name == "reduce":
            shmem.reduce(target, source, operation, length, team)
        else:
            getattr(shmem, name)(target, source, length, team)


# ---- waiting ---------------------------------------------------------------------------------------------------------

def wait(step):
    """Each PE changes a flag on the one `shift` further on, by one of many ways, and waits for its own."""
    place, data = step.start % 8, memory.real[step.dtype][step.which]
    flag, top = memory.flags[place : place + 1], int(memory.flags_model[0, place])
    value = (top + 1 + step.seed * 2**40) % 2**64
    ctx, pe = route(step, (me + step.shift) % count)
    length = step.length % LENGTH
    way = step.a % 6
    if way == 0:
        shmem.p(flag, value, pe, ctx)
    elif way == 1:
        shmem.atomic_set(flag, value, pe, ctx)
    elif way == 2:
        shmem.atomic_add(flag, (value - top) % 2**64, pe, ctx)
    elif way == 3:
        shmem.signal_set(flag, value, pe, ctx)
    else:
        put_signal = shmem.put_signal if way == 4 else shmem.put_signal_nbi
        put_signal(data[:length], numbers(me, length, step), pe, flag, value, shmem.SIGNAL.SET, ctx=ctx)
    memory.flags_model[:, place] = value
    if way >= 4:
        for each in everyone:
            memory.model[step.dtype][step.which][(each + step.shift) % count, :length] = numbers(each, length, step)
    others = [i != place for i in range(8)]
    old = [int(number) for number in memory.flags_model[me]]
    form = step.length % 6
    if form == 0:
        shmem.wait_until(flag, "==", value)
    elif form == 1:
        assert shmem.signal_wait_until(flag, "!=", top) == value
    elif form == 2:
        assert shmem.wait_until_any(memory.flags, "==", value, others) == place
    elif form == 3:
        assert shmem.wait_until_some_vector(memory.flags, "==", old, others) == [place]
    elif form == 4:
        shmem.wait_until_all_vector(memory.flags, "==", old)
    else:
        while not shmem.test(flag, shmem.CMP.EQ, value):
            pass
    if way >= 4:
        expected = numbers((me - step.shift) % count, length, step)
        assert (data[:length] == expected).all(), (step, data, expected)
    shmem.quiet(ctx)


def renew(step):
    """An array is dropped, and another with its contents takes its place."""
    memory.real[step.dtype][step.which] = shmem.array(memory.real[step.dtype][step.which],
                                                      partition=("side", None)[step.a % 2])


KINDS = {
    **dict.fromkeys(("put", "put_nbi", "p", "iput", "ibput"), put),
    **dict.fromkeys(("get", "get_nbi", "g", "iget", "ibget"), get),
    "atomic": atomic, "atomic ": atomic, "atomic  ": atomic, "contend": contend,
    **dict.fromkeys(("broadcast", "collect", "fcollect", "alltoall", "alltoalls", "reduce", "reduce ", "sum_inscan",
                     "sum_exscan"), collective),
    "team": teams.renew, "wait": wait, "wait ": wait, "renew": renew,
}
LIMITS = [len(DTYPES), 2, count, LENGTH, LENGTH + 1, 8, 8, 1000]


def step_of(kind, code):
    """The numbers of a step from one, since drawing each by itself takes longer than doing the step."""
    dtype, which, *others = (int(number) for number in np.random.default_rng(code).integers(0, LIMITS))
    return Step(kind, DTYPES[dtype], which, *others)


steps = st.builds(step_of, st.sampled_from([*KINDS]), st.integers(0, 2**32 - 1))
done = []


@settings(derandomize=True, database=None, deadline=None, max_examples=EXAMPLES, phases=[Phase.generate],
          suppress_health_check=list(HealthCheck))
@given(st.lists(steps, min_size=8, max_size=16))
def run(program):
    try:
        for step in program:
            KINDS[step.kind](step._replace(kind=step.kind.strip()))
            shmem.barrier_all()
            memory.check(step)
            shmem.sync_all()
            done.append(step)
    except BaseException:
        # Not left to hypothesis, which would run the program again, on this PE alone.
        traceback.print_exc()
        text = [f"PE {me}: {len(done)} steps were right, the program was", *map(str, program)]
        print(*text, sep="\n", file=sys.stderr, flush=True)
        shmem.global_exit(1)


run()
# The same was done by all, and enough of it.
digest = shmem.array([zlib.crc32(repr(done).encode())], dtype="i8")
least, most = shmem.zeros(1, "i8"), shmem.zeros(1, "i8")
shmem.min_reduce(least, digest)
shmem.max_reduce(most, digest)
assert least[0] == most[0]
assert len(done) >= 8 * EXAMPLES and {step.kind for step in done} == {*KINDS}
print("all well")
