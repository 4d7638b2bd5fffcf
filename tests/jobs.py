"""Jobs on the engine under test, started as a user starts them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PE_COUNTS = (1, 2, 3, 4)
# Oversubscribed PEs on slow shared machines need time; a job that hangs is ended long before CI's limit.
TIMEOUT = 120.0


@dataclass
class Account:
    """What ran in this session, for the last lines of the test command."""

    pes: set[int] = field(default_factory=set)
    guests: set[str] = field(default_factory=set)


RAN = Account()


@dataclass(frozen=True)
class Result:
    """How a job ended."""

    status: int
    output: str
    seconds: float


def clean_environment(extra: Mapping[str, str]) -> dict[str, str]:
    """The environment of a user who set nothing but ``extra`` (unbuffered output would mix the PEs' lines)."""
    ours = ("SHMEM_", "SMA_", "PYSHMEM_", "OMPI_", "PMI_", "OSHRUN_", "PYTHONUNBUFFERED")
    return {name: value for name, value in os.environ.items() if not name.startswith(ours)} | dict(extra)


def run_command(command: Sequence[str], environment: Mapping[str, str] = {}, timeout: float = TIMEOUT,
                cwd: Path = ROOT) -> Result:
    """Run a command to its end; a hang is ended, with all its processes, and is a failure of its own.

    What it printed comes before its errors: launchers mix the two as they arrive.
    """
    start = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=cwd,
                               env=clean_environment(environment), start_new_session=True, errors="replace")
    try:
        printed, errors = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        printed, errors = process.communicate()
        raise AssertionError(f"no end after {timeout:.0f} s: {' '.join(command)}\n{printed}{errors}") from None
    return Result(process.returncode, printed + errors, time.monotonic() - start)


def launcher() -> list[str]:
    """The ``pyshmem`` command of the installation under test."""
    return [str(Path(sys.executable).parent / "pyshmem")]


def run_job(pes: int, program: Sequence[str], environment: Mapping[str, str] = {}, timeout: float = TIMEOUT,
            options: Sequence[str] = ()) -> Result:
    """Run a program with ``pyshmem run -n pes``."""
    RAN.pes.add(pes)
    chosen = [*options, "--"] if options else []
    return run_command([*launcher(), "run", "-n", str(pes), *chosen, *program], environment, timeout)


def check_job(pes: int, program: Sequence[str], environment: Mapping[str, str] = {}, **how) -> str:
    """Run a program that checks itself; its output."""
    result = run_job(pes, program, environment, **how)
    assert result.status == 0, f"status {result.status} on {pes} PEs: {' '.join(program)}\n{result.output}"
    return result.output
