"""Sizes as people write them."""

from __future__ import annotations

UNITS = ("", "K", "M", "G", "T")


def short(size: float) -> str:
    """A number of bytes as in a definition: ``1.5G``."""
    unit = 0
    while size >= 1024 and unit + 1 < len(UNITS):
        size /= 1024
        unit += 1
    return (f"{size:.0f}" if size == int(size) else f"{size:.1f}") + UNITS[unit]


def text(size: float) -> str:
    """A number of bytes in words: ``1.5 GiB``."""
    amount = short(size)
    return f"{amount[:-1]} {amount[-1]}iB" if amount[-1] in UNITS[1:] else f"{amount} bytes"
