"""Builds parts of the C library for tests that need no OpenSHMEM."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

SOURCES = Path(__file__).resolve().parents[2] / "src"
WARNINGS = ("-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror")


def build(name: str, sources: Sequence[str], libraries: Sequence[str] = ()) -> ctypes.CDLL:
    """Compile files of ``src/`` (or given by an absolute path) into a shared library, and load it."""
    directory = Path(tempfile.mkdtemp(prefix="pyshmem-unit-"))
    library = directory / f"{name}.so"
    files = [str(SOURCES / source) for source in sources]
    command = ["gcc", *WARNINGS, "-O1", "-g", "-fPIC", "-shared", f"-I{SOURCES}", *files, "-o", str(library),
               *(f"-l{wanted}" for wanted in libraries)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stderr}"
    loaded = ctypes.CDLL(str(library))
    shutil.rmtree(directory)  # the mapping stays
    return loaded
