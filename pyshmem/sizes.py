"""Sizes as people write them."""

from __future__ import annotations


def text(size: float) -> str:
    """A number of bytes in binary units: ``1.5 GiB``."""
    for unit in ("bytes", "KiB", "MiB", "GiB", "TiB"):
        if size < 1024 or unit == "TiB":
            return f"{size:.0f} {unit}" if size == int(size) else f"{size:.1f} {unit}"
        size /= 1024
    raise AssertionError("unreachable")
