"""Jobs in a booted guest: the launcher's command is made here, since Python starts slowly in there."""

from __future__ import annotations

import json
import mmap
import subprocess
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from jobs import RAN, ROOT

from pyshmem import build, launch

from .guest import Guest, Result

MIB = 1 << 20
PAGES_PER_MIB = MIB // mmap.PAGESIZE
POOL = "/sys/devices/system/node/node{}/hugepages/hugepages-2048kB/nr_hugepages"
OVERCOMMIT = "/proc/sys/vm/nr_overcommit_hugepages"
NO_TRANSPARENT_PAGES = "echo never > /sys/kernel/mm/transparent_hugepage/enabled && "


@cache
def place() -> str:
    """The program that fills partitions and counts their pages, built for the engine under test."""
    program = Path(tempfile.mkdtemp(prefix="pyshmem-place-")) / "place"
    library = build.library_directory()
    strict = ("-std=c11", "-O1", "-Wall", "-Wextra", "-Wpedantic", "-Werror")
    subprocess.run([build.build_info()["oshcc"] or "oshcc", *strict, f"-I{build.include_directory()}",
                    str(Path(__file__).with_name("place.c")), "-o", str(program),
                    f"-L{library}", f"-Wl,-rpath,{library}", "-lshmem_partition"], check=True)
    return str(program)


class Machine:
    """A booted guest, and jobs in it."""

    def __init__(self, guest: Guest) -> None:
        self.guest = guest
        self.layout = guest.layout

    def job(self, pes: int, program: Sequence[str], definitions: Sequence[str], *, options: Sequence[str] = (),
            environment: dict[str, str] | None = None, before: str = "", timeout: float = 150) -> Result:
        """Run a program under the engine's launcher, with partitions 2, 3, ... defined; ``before`` is for the shell."""
        RAN.pes.add(pes)
        env = {f"SHMEM_SYMMETRIC_PARTITION{2 + i}": text for i, text in enumerate(definitions)}
        env |= {"SHMEM_SYMMETRIC_SIZE": "16M", "OPENBLAS_NUM_THREADS": "1", **(environment or {})}
        made = launch.JOBS.get(build.build_info()["engine"], launch.other_job)(pes, options, env)
        made.command += launch.program_command(program)
        return self.guest.run(f"{before}env {made}", env=env, cwd=ROOT, timeout=timeout)

    def placed(
        self, pes: int, definitions: Sequence[str], *, touch: str = "here", move: Sequence[str] = (), **how
    ) -> list[dict]:
        """What place.c said on each PE, in the order of their numbers."""
        directory = self._new_directory()
        result = self.job(pes, [place(), directory, touch, *move], definitions, **how)
        assert result.status == 0, result.output
        lines = self.guest.run(f"cat {directory}/*").output
        reports: list[dict] = [{"partitions": {}, "output": result.output} for _ in range(pes)]
        for one in map(json.loads, lines.splitlines()):
            assert one["right"] and one["told"] == one["counted"], one  # the library tells what the kernel told us
            reports[one["pe"]]["cpus"] = one["cpus"]
            reports[one["pe"]]["partitions"][one["name"]] = one
        assert all(len(report["partitions"]) == len(definitions) for report in reports), result.output
        return reports

    def refused(self, pes: int, definitions: Sequence[str], **how) -> str:
        """The output of a job that must fail at init, once and in words."""
        directory = self._new_directory()
        result = self.job(pes, [place(), directory], definitions, **how)
        assert result.status != 0, result.output
        assert "Killed" not in result.output and "signal 9" not in result.output, result.output
        assert self.guest.run(f"ls {directory}").output == "", "a PE got beyond init"
        return result.output

    def _new_directory(self) -> str:
        return self.guest.run("mktemp -d").output.strip()

    def free_mib(self, node: int) -> int:
        """Free memory of a node."""
        answer = self.guest.run(f"awk '/MemFree/ {{print $4}}' /sys/devices/system/node/node{node}/meminfo")
        return int(answer.output) // 1024


def bound() -> list[str]:
    """How this engine's launcher binds each PE to a core."""
    open_mpi = "Open MPI" in build.build_info()["engine"]
    return ["--map-by", "core", "--bind-to", "core"] if open_mpi else ["-bind-to", "core"]


def unbound() -> list[str]:
    """How it leaves them free."""
    return ["--bind-to", "none"] if "Open MPI" in build.build_info()["engine"] else ["-bind-to", "none"]


def reserve_huge_pages(pages: dict[int, int], overcommit: int = 0) -> str:
    """What gives nodes so many huge pages of 2 MiB, for the shell before a job."""
    lines = [f"echo {number} > {POOL.format(node)} && " for node, number in pages.items()]
    return "".join(lines) + f"echo {overcommit} > {OVERCOMMIT} && "
