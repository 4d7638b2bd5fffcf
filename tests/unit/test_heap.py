"""The symmetric allocator against an independent model: nothing but the list of live intervals."""

from __future__ import annotations

import ctypes
import functools
import random
from collections import Counter
from dataclasses import dataclass, field

import pytest
from clibrary import build
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

OK, FULL, NO_RECORD, NOT_LIVE, INSIDE = range(5)
NONE = 2**64 - 1
GRAIN = 16
BLOCKS_TRIED, CLASSES_TRIED = 5, 16  # of a class, and of classes, before a block is taken that is surely large enough


class Figures(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in ("size", "used", "peak", "largest_free", "live")]


@functools.cache
def library() -> ctypes.CDLL:
    lib = build("heap", ["heap.c", "sizes.c", "starts.c", "records.c"])
    size, pointer = ctypes.c_size_t, ctypes.POINTER
    lib.heap_create.restype, lib.heap_create.argtypes = ctypes.c_void_p, [size, size]
    lib.heap_destroy.restype, lib.heap_destroy.argtypes = None, [ctypes.c_void_p]
    lib.heap_allocate.restype = size
    lib.heap_allocate.argtypes = [ctypes.c_void_p, size, size, pointer(ctypes.c_int)]
    lib.heap_free.argtypes = [ctypes.c_void_p, size]
    lib.heap_resize.argtypes = [ctypes.c_void_p, size, size]
    lib.heap_find.argtypes = [ctypes.c_void_p, size, pointer(size), pointer(size)]
    lib.heap_figures.restype, lib.heap_figures.argtypes = None, [ctypes.c_void_p, pointer(Figures)]
    lib.heap_is_valid.restype, lib.heap_is_valid.argtypes = ctypes.c_bool, [ctypes.c_void_p]
    return lib


class Heap:
    """One heap of the C library."""

    def __init__(self, size: int, origin: int = 0):
        self.handle = library().heap_create(size, origin)
        assert self.handle

    def close(self):
        library().heap_destroy(self.handle)

    def allocate(self, size: int, alignment: int = 1) -> tuple[int, int]:
        fault = ctypes.c_int(-1)
        offset = library().heap_allocate(self.handle, size, alignment, ctypes.byref(fault))
        return offset, fault.value

    def free(self, offset: int) -> int:
        return library().heap_free(self.handle, offset)

    def resize(self, offset: int, size: int) -> int:
        return library().heap_resize(self.handle, offset, size)

    def find(self, offset: int) -> tuple[int, int] | None:
        start, size = ctypes.c_size_t(), ctypes.c_size_t()
        fault = library().heap_find(self.handle, offset, ctypes.byref(start), ctypes.byref(size))
        assert fault in (OK, NOT_LIVE)
        return (start.value, size.value) if fault == OK else None

    @property
    def figures(self) -> Figures:
        figures = Figures()
        library().heap_figures(self.handle, ctypes.byref(figures))
        return figures

    @property
    def is_valid(self) -> bool:
        return library().heap_is_valid(self.handle)


def size_class(size: int) -> int:
    """Four classes to a doubling of units, and one for each of the first few numbers of units."""
    units = size // GRAIN
    if units < 4:
        return units
    doubling = units.bit_length() - 1
    return 4 * doubling + (units * 4 >> doubling)


@dataclass
class Model:
    """What is live: start -> size asked.  Gaps are worked out anew each time."""

    size: int
    origin: int = 0
    live: dict[int, int] = field(default_factory=dict)
    peak: int = 0

    def end(self, start: int) -> int:
        return min(-(-(start + self.live[start]) // GRAIN) * GRAIN, self.size)

    @property
    def used(self) -> int:
        return sum(self.end(start) - start for start in self.live)

    @property
    def gaps(self) -> list[tuple[int, int]]:
        """Maximal free intervals, as (start, end)."""
        ends = [0, *(self.end(start) for start in sorted(self.live))]
        starts = [*sorted(self.live), self.size]
        assert all(end <= start for end, start in zip(ends, starts, strict=True)), "blocks overlap"
        return [(end, start) for end, start in zip(ends, starts, strict=True) if end < start]

    @property
    def largest_free(self) -> int:
        return max((end - start for start, end in self.gaps), default=0)

    def places(self, size: int, alignment: int) -> set[int]:
        """Where a good fit may put a block, by what the sources promise; NONE if nowhere."""
        step = max(alignment, GRAIN)
        aligned = [(start, end, start + -(self.origin + start) % step) for start, end in self.gaps]
        fits = [(size_class(end - start), offset) for start, end, offset in aligned if offset + size <= end]
        if not fits:
            return {NONE}
        tried = Counter(size_class(end - start) for start, end in self.gaps)
        if max(tried.values()) <= BLOCKS_TRIED and len(tried) <= CLASSES_TRIED:
            return {min(fits)[1]}
        is_sure = any(end - start >= size + step - GRAIN for start, end in self.gaps)
        return {offset for _, offset in fits} | (set() if is_sure else {NONE})

    def containing(self, offset: int) -> int | None:
        return next((start for start in self.live if start <= offset < self.end(start)), None)

    def fault_at(self, offset: int) -> int:
        start = self.containing(offset)
        return NOT_LIVE if start is None else OK if start == offset else INSIDE

    def add(self, start: int, size: int):
        self.live[start] = size
        self.peak = max(self.peak, self.used)


SIZES = st.one_of(
    st.integers(1, 64), st.integers(1, 2000), st.sampled_from([16, 32, 4096]), st.integers(2**63 - 40, 2**64 - 1)
)
ALIGNMENTS = st.one_of(
    st.just(1), st.sampled_from([0, 8, 16, 32, 64, 256, 4096]), st.integers(0, 63).map((1).__lshift__)
)


class HeapMachine(RuleBasedStateMachine):
    """Two heaps in lock step, so that what one does depends on the calls alone, and the model."""

    @initialize(size=st.one_of(st.integers(0, 100), st.integers(0, 20000), st.just(65536)),
                origin=st.integers(0, 2**43).map(GRAIN.__mul__))
    def start(self, size, origin):
        self.heaps = [Heap(size, origin), Heap(size, origin)]
        self.model = Model(size, origin)

    def both(self, name, *arguments):
        answers = [getattr(heap, name)(*arguments) for heap in self.heaps]
        assert answers[0] == answers[1]
        return answers[0]

    def pick(self, data) -> int:
        return data.draw(st.sampled_from(sorted(self.model.live)))

    def check_allocate(self, size, alignment):
        offset, fault = self.both("allocate", size, alignment)
        assert offset in self.model.places(size, alignment)
        assert fault == (FULL if offset == NONE else OK)
        if offset != NONE:
            assert (self.model.origin + offset) % max(alignment, GRAIN) == 0 and offset + size <= self.model.size
            self.model.add(offset, size)

    def check_free(self, offset):
        assert self.both("free", offset) == OK
        del self.model.live[offset]

    @rule(size=SIZES, alignment=ALIGNMENTS)
    def allocate(self, size, alignment):
        self.check_allocate(size, alignment)

    @precondition(lambda self: self.model.live)
    @rule(data=st.data())
    def free(self, data):
        self.check_free(self.pick(data))

    @precondition(lambda self: self.model.live)
    @rule(data=st.data())
    def free_twice(self, data):
        offset = self.pick(data)
        self.check_free(offset)
        assert self.both("free", offset) == NOT_LIVE

    @rule(offset=st.one_of(st.integers(0, 20100), st.integers(2**63, 2**64 - 1)), size=SIZES)
    def misuse(self, offset, size):
        fault = self.model.fault_at(offset)
        if fault != OK:
            assert self.both("free", offset) == self.both("resize", offset, size) == fault

    @precondition(lambda self: self.model.live)
    @rule(data=st.data(), size=SIZES)
    def misuse_inside(self, data, size):
        start = self.pick(data)
        if self.model.end(start) - start > 1:
            offset = data.draw(st.integers(start + 1, self.model.end(start) - 1))
            assert self.both("free", offset) == self.both("resize", offset, size) == INSIDE

    @precondition(lambda self: self.model.live)
    @rule(data=st.data(), size=SIZES)
    def resize(self, data, size):
        start = self.pick(data)
        limit = min((other for other in self.model.live if other > start), default=self.model.size)
        fits = start + size <= limit
        assert self.both("resize", start, size) == (OK if fits else FULL)
        if fits:
            self.model.add(start, size)

    @rule(offset=st.integers(0, 20100))
    def find(self, offset):
        start = self.model.containing(offset)
        assert self.both("find", offset) == (None if start is None else (start, self.model.live[start]))

    @rule()
    def largest_is_true(self):
        largest = self.heaps[0].figures.largest_free
        self.check_allocate(largest + 1, 1)
        if largest > 0:
            self.check_allocate(largest, 1)
            assert largest in self.model.live.values()

    @rule(data=st.data())
    def empty(self, data):
        for offset in data.draw(st.permutations(sorted(self.model.live))):
            self.check_free(offset)
        assert self.heaps[0].figures.largest_free == self.model.size

    @invariant()
    def agrees(self):
        if not hasattr(self, "model"):
            return
        model = self.model
        for heap in self.heaps:
            figures = heap.figures
            assert heap.is_valid
            assert (figures.size, figures.used, figures.peak) == (model.size, model.used, model.peak)
            assert (figures.largest_free, figures.live) == (model.largest_free, len(model.live))

    def teardown(self):
        for heap in getattr(self, "heaps", []):
            heap.close()


TestHeapMachine = HeapMachine.TestCase
TestHeapMachine.settings = settings(
    max_examples=150, stateful_step_count=60, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)


@pytest.fixture
def heap():
    made = Heap(1 << 20)
    yield made
    made.close()


@pytest.mark.parametrize("size", [1, 15, 16, 17, 4096, 4097, 10**9 + 7, 2**40])
def test_fresh_heap_is_one_block(size):
    heap = Heap(size)
    assert heap.figures.largest_free == size
    assert heap.allocate(size + 1) == (NONE, FULL)
    assert heap.allocate(size) == (0, OK)
    assert (heap.figures.used, heap.figures.largest_free) == (size, 0)
    assert heap.free(0) == OK
    assert heap.figures.largest_free == size
    assert heap.is_valid
    heap.close()


def test_heap_of_nothing():
    heap = Heap(0)
    assert heap.allocate(1) == (NONE, FULL)
    assert heap.free(0) == NOT_LIVE
    assert heap.find(0) is None
    assert heap.is_valid
    heap.close()


def test_more_than_any_machine_has_is_refused():
    assert not library().heap_create(2**48, 0)
    Heap(2**48 - 1).close()


def test_unsound_requests_are_refused(heap):
    assert heap.allocate(0) == (NONE, FULL)
    assert heap.allocate(16, 48) == (NONE, FULL)
    assert heap.allocate(16) == (0, OK)
    assert heap.resize(0, 0) == FULL
    assert heap.find(0) == (0, 16)
    assert heap.is_valid


def test_gap_before_an_aligned_block_is_used(heap):
    assert heap.allocate(16) == (0, OK)
    assert heap.allocate(100, 4096) == (4096, OK)
    assert heap.allocate(4096 - 16) == (16, OK)
    assert heap.is_valid


def test_tail_of_a_crooked_heap_is_used():
    heap = Heap(16 + 5)
    assert heap.allocate(16) == (0, OK)
    assert heap.allocate(6) == (NONE, FULL)
    assert heap.allocate(5) == (16, OK)
    assert heap.free(16) == OK
    assert heap.resize(0, 21) == OK
    assert (heap.figures.used, heap.find(20)) == (21, (0, 21))
    assert heap.resize(0, 3) == OK
    assert (heap.figures.used, heap.figures.largest_free) == (16, 5)
    assert heap.is_valid
    heap.close()


def test_search_for_an_aligned_place_is_bounded_but_misses_no_sure_one(heap):
    """Far more holes of the right size at crooked places than are looked at."""
    wall = [heap.allocate(64)[0] for _ in range(2000)]
    for offset in wall[1::2]:
        assert heap.free(offset) == OK
    offset, fault = heap.allocate(64, 4096)
    assert fault == OK and offset % 4096 == 0
    assert heap.is_valid


def test_resize_moves_nothing_and_takes_only_what_follows(heap):
    first, second, third = (heap.allocate(size)[0] for size in (1000, 1000, 1000))
    assert heap.resize(second, 2000) == FULL
    assert heap.free(third) == OK
    assert heap.resize(second, 2000) == OK
    assert heap.find(second + 1999) == (second, 2000)
    assert heap.resize(second, 10) == OK
    assert heap.resize(first, 1009) == FULL
    assert heap.resize(first, 1008) == OK
    assert heap.is_valid


@pytest.mark.parametrize("order", ["forwards", "backwards", "random"])
def test_full_and_empty_again_is_one_block(order):
    heap = Heap((1 << 20) + 7)
    source = random.Random(order)
    live = []
    while (got := heap.allocate(source.randrange(1, 900), source.choice([1, 64])))[1] == OK:
        live.append(got[0])
    assert len(live) > 1000 and heap.is_valid
    live.sort(reverse=order == "backwards")
    if order == "random":
        source.shuffle(live)
    for offset in live:
        assert heap.free(offset) == OK
    assert heap.figures.largest_free == heap.figures.size
    assert heap.figures.used == heap.figures.live == 0
    assert heap.is_valid
    heap.close()


@pytest.mark.parametrize("largest", [14, 20])
@pytest.mark.parametrize("breathing", [False, True])
def test_footprint_of_a_mixed_trace(largest, breathing):
    """The highest end that was ever used, against the most bytes that were ever live; the mean of several traces."""
    ratios = [footprint(random.Random(seed), largest, breathing) for seed in range(4)]
    assert sum(ratios) / len(ratios) <= 1.15


def footprint(source, largest, breathing) -> float:
    heap = Heap(1 << 36)
    live, asked, most, highest = [], 0, 0, 0
    for step in range(20000):
        while len(live) >= (500 if breathing and step // 1000 % 4 == 3 else 1000):
            offset, size = live.pop(source.randrange(len(live)))
            assert heap.free(offset) == OK
            asked -= size
        size = int(2 ** source.uniform(0, largest))
        offset, fault = heap.allocate(size)
        assert fault == OK
        live.append((offset, size))
        asked += size
        most, highest = max(most, asked), max(highest, offset + size)
    assert heap.is_valid
    assert heap.figures.peak <= 1.02 * most
    heap.close()
    return highest / most


def test_full_class_is_searched_to_its_end():
    """The one block that is large enough, behind many of its class that are a little smaller."""
    heap = Heap(3000 * 1024 + 1040)
    assert heap.allocate(1040) == (0, OK)
    small = [heap.allocate(1024)[0] for _ in range(3000)]
    assert heap.free(0) == OK
    assert all(heap.free(offset) == OK for offset in small[1::2])
    assert heap.allocate(1040) == (0, OK)
    assert heap.allocate(1040) == (NONE, FULL)
    assert heap.is_valid
    heap.close()
