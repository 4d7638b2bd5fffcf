"""One PE's failure ends the job: with its traceback, its number and a non-zero status, instead of a hang."""

from __future__ import annotations

import os
import runpy
import socket
import sys
import time
import traceback
from types import TracebackType
from typing import Any, NoReturn

from pyshmem._core import binding
from pyshmem.errors import PartitionError

WAIT_FOR_SPEAKER = 10.0  # seconds that the other PEs give the one that explains a common failure

_STARTERS = {os.path.join(os.path.dirname(__file__), "program.py"), "<frozen runpy>", runpy.__file__}

_status = 0
_process = 0
_previous_hook: Any = None


def watch() -> None:
    """From now on an uncaught exception, or ``sys.exit`` with a status, ends the job."""
    global _process, _previous_hook
    if _process or hasattr(sys, "ps1") or sys.flags.interactive:
        return
    _process = os.getpid()
    _previous_hook, sys.excepthook = sys.excepthook, _on_exception
    sys.exit = _exit


def exit_status() -> int:
    """The status that this process was asked to exit with, 0 if none."""
    return _status


def _exit(status: Any = None, /) -> NoReturn:
    note_exit(status)
    raise SystemExit(status)


def note_exit(status: Any) -> None:
    """Remember what ``sys.exit`` was called with: at exit it can no longer be seen."""
    global _status
    _status = status & 0xFF if isinstance(status, int) else 0 if status is None else 1


def _on_exception(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if os.getpid() != _process:  # a forked child is no PE
        _previous_hook(kind, error, trace)
        return
    end_with(error, trace)


def end_with(error: BaseException, trace: TracebackType | None) -> NoReturn:
    """Say what happened, and end all PEs."""
    sys.stdout.flush()
    if isinstance(error, PartitionError) and error.pe is not None:
        _say_together(error, trace)
    else:
        _say(error, trace)
    binding.end_job(1)
    os._exit(1)


def _pe() -> tuple[int, int]:
    if not binding.is_running():
        return int(os.environ.get("OMPI_COMM_WORLD_RANK") or os.environ.get("PMI_RANK") or 0), 0
    return binding.my_pe(), binding.n_pes()


def _of_the_program(trace: TracebackType | None) -> TracebackType | None:
    """A traceback without the frames that only started the program."""
    ours = trace
    while ours and ours.tb_frame.f_code.co_filename in _STARTERS:
        ours = ours.tb_next
    return ours or trace


def _say(error: BaseException, trace: TracebackType | None) -> None:
    pe, count = _pe()
    of = f" of {count}" if count else ""
    lines = "".join(traceback.format_exception(type(error), error, _of_the_program(trace))).splitlines()
    marked = "".join(f"[PE {pe}] {line}\n" for line in lines)
    sys.stderr.write(f"pyshmem: PE {pe}{of} on {socket.gethostname()} ended the job with an exception:\n{marked}")
    sys.stderr.flush()


def _say_together(error: PartitionError, trace: TracebackType | None) -> None:
    """All PEs raised this: one says it, where in the program it was and what is wrong; the others leave it the time."""
    if _pe_in_job() != max(error.pe or 0, 0):
        time.sleep(WAIT_FOR_SPEAKER)
        return
    where = traceback.extract_tb(trace)
    calls = [frame for frame in where if os.path.dirname(frame.filename) != os.path.dirname(__file__)]
    place = f"{calls[-1].filename}:{calls[-1].lineno}: " if calls else ""
    sys.stderr.write(f"pyshmem: {place}the job cannot start\n{error}\n")
    sys.stderr.flush()


def _pe_in_job() -> int:
    return binding.pe_of_failed_start()
