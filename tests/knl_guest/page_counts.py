"""Where pages are, asked of the kernel: the truth that the library's own answers are held against.

Stands on move_pages(2) alone, called directly, and shares nothing with the library.
"""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import platform
from collections import Counter
from dataclasses import dataclass

_MOVE_PAGES = {"x86_64": 279, "aarch64": 239, "ppc64le": 301}
_NOT_PRESENT = (-errno.ENOENT, -errno.EFAULT)

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long


@dataclass(frozen=True)
class PageCounts:
    """How many pages are on each node, and how many are nowhere yet."""

    nodes: dict[int, int]
    not_present: int


def page_counts(address: int, length: int, *, read_first: bool = True) -> PageCounts:
    """Count the pages of a range of this process's memory by the node they are on.

    Parameters
    ----------
    address, length
        The range, in bytes; pages it covers in part count.
    read_first
        The kernel does not say where a page is that only another process has touched.  So
        pages it says nothing of are read, and asked for again.  This gives a page to an untouched
        part of a shared mapping; a part of a private one remains "not present".  The range must
        be readable.

    Raises
    ------
    OSError
        The kernel refuses the question, or answers an error for a page.
    """
    size = mmap.PAGESIZE
    addresses = list(range(address // size * size, address + length, size))
    nodes = dict(zip(addresses, _ask(addresses), strict=True))
    if read_first:
        unknown = [page for page, node in nodes.items() if node == -errno.ENOENT]
        for page in unknown:
            ctypes.string_at(page, 1)
        nodes.update(zip(unknown, _ask(unknown), strict=True))
    return _counted(list(nodes.values()))


def _ask(addresses: list[int]) -> list[int]:
    """Return the node of each page, or the negative error that the kernel gives for it."""
    count = len(addresses)
    if not count:
        return []
    pages = (ctypes.c_void_p * count)(*addresses)
    status = (ctypes.c_int * count)()
    number = ctypes.c_long(_MOVE_PAGES[platform.machine()])
    itself, nowhere = ctypes.c_int(0), None
    amount, flags = ctypes.c_ulong(count), ctypes.c_int(0)
    if _libc.syscall(number, itself, amount, pages, nowhere, status, flags) < 0:
        error = ctypes.get_errno()
        raise OSError(error, f"move_pages: {os.strerror(error)}")
    return list(status)


def _counted(status: list[int]) -> PageCounts:
    counts = Counter(status)
    not_present = sum(counts.pop(error, 0) for error in _NOT_PRESENT)
    for value in counts:
        if value < 0:
            raise OSError(-value, f"move_pages says of a page: {os.strerror(-value)}")
    return PageCounts(dict(sorted(counts.items())), not_present)
