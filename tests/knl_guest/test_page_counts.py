"""The page counter itself: what it says of memory whose state is known."""

from __future__ import annotations

import ctypes
import mmap
import os
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from .page_counts import page_counts

PAGES = 32
LENGTH = PAGES * mmap.PAGESIZE


@contextmanager
def mapping(kind: int) -> Iterator[tuple[mmap.mmap, int]]:
    """Give an anonymous mapping of ``LENGTH`` bytes and its address."""
    memory = mmap.mmap(-1, LENGTH, flags=kind | mmap.MAP_ANONYMOUS)
    memory.madvise(mmap.MADV_NOHUGEPAGE)
    view = ctypes.c_char.from_buffer(memory)
    try:
        yield memory, ctypes.addressof(view)
    finally:
        del view
        memory.close()


def touch(memory: mmap.mmap, pages: int) -> None:
    for page in range(pages):
        memory[page * mmap.PAGESIZE] = 1


def touch_in_child(memory: mmap.mmap, pages: int) -> None:
    child = os.fork()
    if not child:
        touch(memory, pages)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0


def test_private_memory_has_the_pages_that_were_written() -> None:
    with mapping(mmap.MAP_PRIVATE) as (memory, address):
        touch(memory, 5)
        counts = page_counts(address, LENGTH)
    assert sum(counts.nodes.values()) == 5
    assert counts.not_present == PAGES - 5


def test_pages_that_another_process_touched_are_found_by_reading() -> None:
    with mapping(mmap.MAP_SHARED) as (memory, address):
        touch_in_child(memory, PAGES)
        assert page_counts(address, LENGTH, read_first=False).not_present == PAGES
        counts = page_counts(address, LENGTH)
    assert sum(counts.nodes.values()) == PAGES
    assert counts.not_present == 0


@pytest.mark.parametrize(
    ("offset", "length", "pages"), [(0, 1, 1), (1, 1, 1), (1, mmap.PAGESIZE, 2), (0, 0, 0)]
)
def test_pages_covered_in_part_count(offset: int, length: int, pages: int) -> None:
    with mapping(mmap.MAP_PRIVATE) as (memory, address):
        touch(memory, PAGES)
        counts = page_counts(address + offset, length)
    assert sum(counts.nodes.values()) == pages
    assert counts.not_present == 0
