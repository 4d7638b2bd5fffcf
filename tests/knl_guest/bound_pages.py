"""Prints where 64 fresh pages of this process are; run in the guest under a memory policy."""

from __future__ import annotations

import ctypes
import mmap

from .page_counts import page_counts

LENGTH = 64 * mmap.PAGESIZE

with mmap.mmap(-1, LENGTH) as memory:
    memory.write(bytes(range(1, 65)) * mmap.PAGESIZE)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    print(page_counts(address, LENGTH))
