"""Files that are there as a whole or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path


def _create_beside(path: Path) -> tuple[int, str]:
    """A new file of unpredictable name in the same directory: its descriptor and its name."""
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a directory")
    return tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)


def check_writable(path: Path) -> None:
    """Whether a file can be put there, found out by doing it: OSError if not."""
    descriptor, name = _create_beside(path)
    os.close(descriptor)
    os.unlink(name)


def write(path: Path, text: str) -> None:
    """Write a file and put it in its place, with the mode of any new file."""
    descriptor, name = _create_beside(path)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            mask = os.umask(0)
            os.umask(mask)
            os.fchmod(file.fileno(), 0o666 & ~mask)
            file.write(text)
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise
