"""What ``PYSHMEM_DEBUG`` asks for: ``leaks`` and ``collectives``, one or both with a comma between them."""

from __future__ import annotations

import atexit
import difflib
import os
import sys

from pyshmem import sizes
from pyshmem._core import binding

VARIABLE = "PYSHMEM_DEBUG"
WORDS = ("leaks", "collectives")


def read() -> set[str]:
    """The words in the environment; one that means nothing lets the start to come fail, on all PEs alike."""
    value = os.environ.get(VARIABLE, "")
    words = {word.strip().lower() for word in value.split(",") if word.strip()}
    if unknown := sorted(words.difference(WORDS)):
        meant = "".join(f"; did you mean \"{word}\"?" for word in difflib.get_close_matches(unknown[0], WORDS, 1))
        reason = f"{VARIABLE}={value}: unknown word \"{unknown[0]}\"{meant or '.'} The words are {' and '.join(WORDS)}."
        binding.refuse(reason.encode(errors="backslashreplace"))
    return words


_leaks_are_reported = False


def at_init(words: set[str]) -> None:
    """Switch on what was asked for."""
    global _leaks_are_reported
    binding.set_debugging("leaks" in words, "collectives" in words)
    _leaks_are_reported = "leaks" in words
    if _leaks_are_reported:
        atexit.register(report_leaks)


def report_leaks() -> None:
    """Say which symmetric arrays are still alive, if that was asked for, before ``finalize`` or at exit.

    PE 0 speaks for all.
    """
    atexit.unregister(report_leaks)
    if not _leaks_are_reported or not binding.query_initialized() or binding.my_pe() != 0:
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
