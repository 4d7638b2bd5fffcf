"""Starting jobs: the launcher that belongs to the engine, and what this machine needs of it."""

from __future__ import annotations

import ctypes
import os
import shlex
import shutil
import socket
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pyshmem.build import build_info, preload_library

FORWARDED = ("SHMEM_", "SMA_", "PYSHMEM_", "SHMEM4PY_")
CLONE_NEWUSER, CLONE_NEWUTS = 0x10000000, 0x04000000


class LaunchError(Exception):
    """The job cannot be started here; the message says what to do."""


@dataclass
class Job:
    """A job to start: the launcher's command, and what is added to its environment."""

    command: list[str]
    environment: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        settings = [f"{name}={shlex.quote(value)}" for name, value in self.environment.items()]
        return " ".join([*settings, shlex.join(self.command)])


def usable_cores() -> int:
    """Cores that this process, and so the PEs that it starts here, may use."""
    return len(os.sched_getaffinity(0))


def forwarded(environment: Mapping[str, str]) -> list[str]:
    """Variables that the PEs on every host must have."""
    return sorted(name for name in environment if name.startswith(FORWARDED))


PYTHON_OPTIONS = ("-m", "-c")  # which stand before a program that is no script
# By its path, since -m would look for it in the working directory first.
SHMEM4PY_RUNNER = str(Path(__file__).with_name("shmem4py.py"))


def program_command(program: Sequence[str], shmem4py: bool = False) -> list[str]:
    """How one PE starts a program: a Python script by this Python, anything else by itself.

    With ``shmem4py``, by this Python in any case, so that ``import shmem4py`` finds pyshmem.
    """
    first = program[0]
    if shmem4py or first in PYTHON_OPTIONS or Path(first).suffix == ".py" or not shutil.which(first):
        if first not in PYTHON_OPTIONS and not (Path(first).exists() if shmem4py else Path(first).is_file()):
            raise LaunchError(f"there is no program {first}")
        return [sys.executable, *([SHMEM4PY_RUNNER] if shmem4py else []), *program]
    return list(program)


def beside_compiler(name: str) -> str:
    """A tool that lies beside the compiler wrapper that pyshmem was built with."""
    oshcc = build_info()["oshcc"]
    beside = str(Path(oshcc).parent / name) if oshcc else name
    found = shutil.which(beside) or shutil.which(name)
    if not found:
        raise LaunchError(f"no {name}: it belongs beside {oshcc or 'the OpenSHMEM library'}")
    return found


# What tells Open MPI of other hosts, besides options on the command line.
HOST_LISTS = ("SLURM_JOB_ID", "PBS_NODEFILE", "LSB_JOBID", "PE_HOSTFILE", "OMPI_MCA_orte_default_hostfile",
              "PRTE_MCA_prte_default_hostfile")


def is_one_host(options: Sequence[str], environment: Mapping[str, str]) -> bool:
    """Whether a job can only run here."""
    named = any("host" in option for option in options)
    return not named and not any(name in environment for name in HOST_LISTS)


HOOKS = "OMPI_MCA_opal_common_ucx_opal_mem_hooks"


def open_mpi_job(pes: int, options: Sequence[str], environment: Mapping[str, str]) -> Job:
    """Open MPI: refuses root and more PEs than cores unless told, and forwards nothing by itself."""
    command = [beside_compiler("oshrun"), "-n", str(pes)]
    if os.geteuid() == 0:
        command.append("--allow-run-as-root")
    if pes > usable_cores():
        command.append("--oversubscribe")
    for name in forwarded(environment):
        command += ["-x", name]
    job = Job([*command, *options])
    # Without it every program that does not start by way of pyshmem's library crashes at its end (Open MPI 4.1).
    if HOOKS not in environment:
        job.environment[HOOKS] = "0"
    # Open MPI 5 complains of networks that it would not need on one host.
    if is_one_host(options, environment) and "OMPI_MCA_btl" not in environment:
        job.environment["OMPI_MCA_btl"] = "^tcp,uct,openib,ofi"
    return job


def sandia_job(pes: int, options: Sequence[str], environment: Mapping[str, str]) -> Job:
    """Sandia OpenSHMEM: its oshrun needs a launcher that speaks PMI, and PEs that share a core must not spin."""
    job = Job([beside_compiler("oshrun"), "-n", str(pes), *options])
    if "OSHRUN_LAUNCHER" not in environment:
        launcher = shutil.which("mpiexec.hydra")
        if not launcher:
            raise LaunchError("no mpiexec.hydra for Sandia OpenSHMEM: apt-get install hydra, or set OSHRUN_LAUNCHER")
        job.environment["OSHRUN_LAUNCHER"] = launcher
    if pes > usable_cores():
        for name in ("SHMEM_OFI_TX_POLL_LIMIT", "SHMEM_OFI_RX_POLL_LIMIT", "FI_SOCKETS_PE_WAITTIME"):
            if name not in environment:
                job.environment[name] = "0"
    return job


def other_job(pes: int, options: Sequence[str], environment: Mapping[str, str]) -> Job:
    """Any other library: its oshrun as it is."""
    return Job([beside_compiler("oshrun"), "-n", str(pes), *options])


JOBS: dict[str, Callable[[int, Sequence[str], Mapping[str, str]], Job]] = {
    "Open MPI OSHMEM": open_mpi_job,
    "Sandia OpenSHMEM": sandia_job,
}


def preloading(environment: Mapping[str, str]) -> list[str]:
    """What stands before a program so that it, but not the launcher, is preloaded; after what the user preloads."""
    libraries = [environment.get("LD_PRELOAD", ""), str(preload_library())]
    return ["env", f"LD_PRELOAD={':'.join(filter(None, libraries))}"]


def job(pes: int, options: Sequence[str], program: Sequence[str], shmem4py: bool = False, preload: bool = False) -> Job:
    """The command that starts ``program`` on ``pes`` PEs of the engine that pyshmem was built with."""
    made = JOBS.get(build_info()["engine"], other_job)(pes, options, os.environ)
    if preload:
        made.command += preloading(os.environ)
    made.command += program_command(program, shmem4py)
    return made


def give_host_a_name() -> None:
    """Open MPI refuses a host called ``(none)``, as guests are: this job gets a name of its own."""
    if socket.gethostname() not in ("(none)", ""):
        return
    library = ctypes.CDLL(None, use_errno=True)
    name = b"localhost"
    spaces = CLONE_NEWUTS if os.geteuid() == 0 else CLONE_NEWUTS | CLONE_NEWUSER
    if library.unshare(spaces) != 0 or library.sethostname(name, len(name)) != 0:
        raise LaunchError("this host has no name, which Open MPI refuses; give it one: sudo hostname localhost")


def run(made: Job) -> None:
    """Replace this process by the job."""
    give_host_a_name()
    os.environ.update(made.environment)
    sys.stdout.flush()
    os.execvp(made.command[0], made.command)
