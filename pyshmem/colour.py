"""Colours for people at a terminal, and for nobody else."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TextIO

Painter = Callable[[str, str], str]
CODES = {"heading": "1", "good": "32", "bad": "31", "notable": "33"}


def plain(words: str, meaning: str) -> str:
    """No colour at all."""
    return words


def _coloured(words: str, meaning: str) -> str:
    return f"\033[{CODES[meaning]}m{words}\033[0m"


def painter(stream: TextIO) -> Painter:
    """What gives words the colour of a meaning: on a terminal, unless ``NO_COLOR`` is set (https://no-color.org)."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" or not stream.isatty():
        return plain
    return _coloured
