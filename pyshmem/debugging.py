"""What ``PYSHMEM_DEBUG`` asks for: ``leaks`` and ``collectives``, one or both with a comma between them."""

from __future__ import annotations

import atexit
import os
import sys

from pyshmem import sizes
from pyshmem._core import binding

VARIABLE = "PYSHMEM_DEBUG"
WORDS = ("leaks", "collectives")


def read() -> set[str]:
    """The words in the environment.

    Raises
    ------
    ValueError
        A word that means nothing.
    """
    words = {word.strip().lower() for word in os.environ.get(VARIABLE, "").split(",") if word.strip()}
    if unknown := sorted(words.difference(WORDS)):
        raise ValueError(f"{VARIABLE}: {unknown[0]!r} is none of {', '.join(WORDS)}")
    return words


def at_init(words: set[str]) -> None:
    """Switch on what was asked for."""
    binding.set_debugging("leaks" in words, "collectives" in words)
    if "leaks" in words:
        atexit.register(report_leaks)


def report_leaks() -> None:
    """Say which symmetric arrays are still alive, before ``finalize`` or at exit; PE 0 speaks for all."""
    atexit.unregister(report_leaks)
    if not binding.query_initialized() or binding.my_pe() != 0:
        return
    arrays = binding.live_arrays()
    if not arrays:
        return
    lines = [f"pyshmem: symmetric allocations that are alive at finalize, on PE 0: {len(arrays)}"]
    for number, size, partition, place in arrays:
        heap = f"partition {partition}" if partition else "the default heap"
        lines.append(f"  allocation {number}, {sizes.text(size)} in {heap}, made at {place or 'an unknown place'}")
    sys.stderr.write("\n".join(lines) + "\n")
    sys.stderr.flush()
