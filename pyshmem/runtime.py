"""The life of OpenSHMEM in a Python process.

At exit the C library finalises, after the interpreter: what runs late may still communicate, and the exit status is
known by then, so that a PE that leaves with one ends the job.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from typing import NoReturn

from pyshmem import debugging, failure, reports
from pyshmem._core import binding
from pyshmem.constants import THREAD
from pyshmem.errors import NotInitializedError, PartitionError
from pyshmem.memory import PartitionSpec, definitions_from

_starts = 0
_failed = False
_kept_alive: list[object] = []  # texts that the C library reads while it starts


def init(
    partitions: Mapping[str | int, str | PartitionSpec] | Iterable[PartitionSpec] | None = None,
    thread_level: THREAD = THREAD.SINGLE,
) -> THREAD:
    """Start OpenSHMEM, and partitions in it. Collective.

    May be called again: the calls are counted, and as many calls of ``finalize()`` stop it.

    Parameters
    ----------
    partitions : mapping or iterable of PartitionSpec, optional
        ``{name or ID: "size=512M:kind=FASTMEM:policy=PREFERRED"}``, the text or a ``PartitionSpec``.  Definitions in
        the environment (``SHMEM_SYMMETRIC_PARTITION<ID>``) of the same name or ID win.  Only for the first ``init``.
    thread_level : THREAD, optional
        What the program's threads will do.

    Returns
    -------
    THREAD
        The level that the engine provides.

    Raises
    ------
    PartitionError
        On all PEs alike: a definition is wrong, differs between PEs, or asks for memory that is not there.
    """
    global _starts, _failed
    if _starts > 0 and partitions is not None:
        raise PartitionError("partitions are given to the first init(); OpenSHMEM is initialised already")
    if _failed:
        raise PartitionError("OpenSHMEM failed to start before, and cannot be started again in this process")
    debug, destination = debugging.read(), reports.destination()
    for definition in definitions_from(partitions) if partitions is not None else ():
        _kept_alive.append(definition)
        binding.define(*definition)
    try:
        provided = THREAD(binding.start(THREAD(thread_level)))
    except PartitionError:
        _failed = True
        failure.watch()
        raise
    _starts += 1
    if _starts == 1:
        failure.watch()
        os.register_at_fork(after_in_child=binding.mark_stopped)
        debugging.at_init(debug)
        reports.at_init(destination)
    return provided


def init_thread(requested: THREAD = THREAD.MULTIPLE) -> THREAD:
    """``init()`` with a thread level: the level that the engine provides. Collective."""
    return init(thread_level=requested)


def query_thread() -> THREAD:
    """The thread level that the engine provides."""
    return THREAD(binding.query_thread())


def finalize() -> None:
    """Undo one ``init()``; the last one stops OpenSHMEM. Collective, and done at interpreter exit if it was not.

    Symmetric arrays that are still alive afterwards hold zeros, and no operation takes them; ``PYSHMEM_DEBUG=leaks``
    names them.
    """
    global _starts
    if not binding.query_initialized():
        raise NotInitializedError("finalize() without init(), or after the last finalize()")
    if _starts == 1:
        debugging.report_leaks()
    _starts -= 1
    if _starts == 0:
        binding.mark_stopped()
    binding.stop()


def global_exit(status: int = 0) -> NoReturn:
    """End all PEs of the job with this status. Can be called by any PE."""
    sys.stdout.flush()
    sys.stderr.flush()
    binding.end_job(status)
    raise SystemExit(status)
