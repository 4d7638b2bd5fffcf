"""Run a program in an environment that launchers and shells would not pass on unchanged.

    exact_environment.py FILE program [args]

FILE has entries of the environment with a zero after each.  They replace those of the same names that are there, and
may stand there twice, have no value or be no text.
"""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path


def texts(entries: list[bytes]) -> ctypes.Array[ctypes.c_char_p]:
    return (ctypes.c_char_p * (len(entries) + 1))(*entries, None)


def main() -> None:
    added = Path(sys.argv[1]).read_bytes().split(b"\0")[:-1]
    names = {entry.partition(b"=")[0] for entry in added}
    present = [name + b"=" + value for name, value in os.environb.items() if name not in names]
    program = [os.fsencode(argument) for argument in sys.argv[2:]]
    library = ctypes.CDLL(None, use_errno=True)
    library.execve(program[0], texts(program), texts(added + present))
    sys.exit(f"{sys.argv[2]}: {os.strerror(ctypes.get_errno())}")


main()
