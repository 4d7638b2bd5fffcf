"""One PE's failure ends the job: with its traceback, its number and a non-zero status, instead of a hang."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
import time
import traceback
from types import FrameType, TracebackType
from typing import Any, NoReturn

from pyshmem._core import binding
from pyshmem.errors import PartitionError, SymmetryError

WAIT_FOR_SPEAKER = 10.0  # seconds that the other PEs give the one that explains a common failure
WAIT_FOR_LAUNCHER = 0.5  # and that launchers get to pass on what was said, since some drop it when a job ends

_process = 0
_previous_hook: Any = None


def watch() -> None:
    """From now on an uncaught exception ends the job (and so does an exit status: see ``runtime``)."""
    global _process, _previous_hook
    if _process or hasattr(sys, "ps1") or sys.flags.interactive:
        return
    _process = os.getpid()
    _previous_hook, sys.excepthook = sys.excepthook, _on_exception
    _watch_interrupts()


def _watch_interrupts() -> None:
    """Ctrl-C raises as ever; where the main thread waits in a collective call it ends the job."""
    if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGINT) in (
        signal.default_int_handler, signal.SIG_DFL
    ):
        signal.signal(signal.SIGINT, _on_interrupt)
        binding.watch_interrupts()


def _on_interrupt(number: int, frame: FrameType | None) -> None:
    binding.interrupt_noted()
    signal.default_int_handler(number, frame)


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
    elif isinstance(error, SymmetryError) and not binding.may_speak():
        time.sleep(WAIT_FOR_SPEAKER)  # another PE found the same difference, and explains it
    else:
        _say(error, trace)
    time.sleep(WAIT_FOR_LAUNCHER)
    binding.end_job(1)
    os._exit(1)


def launched_as() -> int:
    """The number of this PE as its launcher tells it, before OpenSHMEM runs."""
    ranks = (os.environ.get(name, "") for name in ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"))
    return next((int(rank) for rank in ranks if rank.isdecimal()), 0)


def _pe() -> tuple[int, int]:
    if not binding.query_initialized():
        return launched_as(), 0
    return binding.my_pe(), binding.n_pes()


def _say(error: BaseException, trace: TracebackType | None) -> None:
    pe, count = _pe()
    of = f" of {count}" if count else ""
    lines = "".join(traceback.format_exception(type(error), error, trace)).splitlines()
    marked = "".join(f"[PE {pe}] {line}\n" for line in lines)
    sys.stderr.write(f"pyshmem: PE {pe}{of} on {socket.gethostname()} ended the job with an exception:\n{marked}")
    sys.stderr.flush()


def _say_together(error: PartitionError, trace: TracebackType | None) -> None:
    """All PEs raised this: one says it, where in the program it was and what is wrong; the others leave it the time."""
    if binding.pe_of_failed_start() != max(error.pe or 0, 0):
        time.sleep(WAIT_FOR_SPEAKER)
        return
    where = traceback.extract_tb(trace)
    calls = [frame for frame in where if not _is_ours(frame.filename)]
    place = f"{calls[-1].filename}:{calls[-1].lineno}: " if calls else ""
    sys.stderr.write(f"pyshmem: {place}the job cannot start\n{error}\n")
    sys.stderr.flush()


def _is_ours(filename: str) -> bool:
    return os.path.dirname(filename) == os.path.dirname(__file__) or filename.endswith(".pxi")
