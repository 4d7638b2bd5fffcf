"""Placement in emulated Knights Landings: pages where the contract wants them, by the kernel's own counts."""

from __future__ import annotations

import json
import mmap
import sys
from pathlib import Path

import pytest
from jobs import RAN, ROOT, launcher

from .guest import Guest, Result

pytestmark = pytest.mark.guest

PLACE = str(Path(__file__).parent / "place.py")
MIB = 1 << 20
PAGES_PER_MIB = MIB // mmap.PAGESIZE
MCDRAM_OF_SNC4 = {0: 4, 1: 5, 2: 6, 3: 7}  # by CPU: one a cluster (layouts.py)


class Machine:
    """A booted guest, and jobs in it."""

    def __init__(self, guest: Guest) -> None:
        self.guest = guest

    def job(self, pes: int, program: list[str], definitions: list[str], *, options: list[str] | None = None,
            environment: dict[str, str] | None = None, timeout: float = 150) -> Result:
        """Run a program with ``pyshmem run`` and partitions 2, 3, ... defined in the environment."""
        RAN.pes.add(pes)
        env = {f"SHMEM_SYMMETRIC_PARTITION{2 + i}": text for i, text in enumerate(definitions)}
        env |= {"SHMEM_SYMMETRIC_SIZE": "16M", "OPENBLAS_NUM_THREADS": "1", **(environment or {})}
        extra = [*options, "--"] if options else []
        command = [*launcher(), "run", "-n", str(pes), *extra, *program]
        return self.guest.run(command, env=env, cwd=ROOT, timeout=timeout)

    def placed(self, pes: int, definitions: list[str], *, touch: str = "here", **how) -> list[dict]:
        """What place.py said on each PE, in the order of their numbers."""
        result = self.job(pes, [PLACE, "--touch", touch], definitions, **how)
        assert result.status == 0, result.output
        lines = [line[7:] for line in result.output.splitlines() if line.startswith("REPORT ")]
        reports = sorted(map(json.loads, lines), key=lambda report: report["pe"])
        assert [report["pe"] for report in reports] == list(range(pes)), result.output
        for report in reports:  # the library tells what the kernel told us
            for one in report["partitions"].values():
                counted = {node: pages * mmap.PAGESIZE for node, pages in one["counted"].items()}
                assert one["told"] == counted
        return reports


def counts(reports: list[dict], name: str) -> list[dict[str, int]]:
    return [report["partitions"][name]["counted"] for report in reports]


def boot(layout: str):
    with Guest(layout) as guest:
        RAN.guests.add(layout)
        yield Machine(guest)


@pytest.fixture(scope="module")
def flat():
    yield from boot("a2a-flat")


@pytest.fixture(scope="module")
def snc4():
    yield from boot("snc4-flat")


def bound() -> list[str]:
    """How this engine's launcher binds each PE to a core."""
    import pyshmem

    open_mpi = "Open MPI" in pyshmem.build_info()["engine"]
    return ["--map-by", "core", "--bind-to", "core"] if open_mpi else ["-bind-to", "core"]


@pytest.mark.parametrize("touch", ["here", "remote"])
@pytest.mark.parametrize("populate", ["1", "0"])
def test_flat_fast_and_ordinary_memory(flat, touch, populate):
    reports = flat.placed(2, ["size=32M:kind=FASTMEM:name=fast", "size=16M:kind=DDR:name=slow",
                              "size=16M:kind=MCDRAM:policy=I:name=striped", "size=16M:kind=F:policy=P:name=liked",
                              "size=16M:kind=NODES(1):name=numbered"],
                          touch=touch, environment={"PYSHMEM_POPULATE": populate})
    for name, mib in [("fast", 32), ("striped", 16), ("liked", 16), ("numbered", 16)]:
        assert counts(reports, name) == [{"1": mib * PAGES_PER_MIB}] * 2
    assert counts(reports, "slow") == [{"0": 16 * PAGES_PER_MIB}] * 2


def test_flat_mandatory_pages_are_there_before_the_program_touches_them(flat):
    [report] = flat.placed(1, ["size=32M:kind=FASTMEM:name=fast"], touch="none")
    assert report["partitions"]["fast"]["counted"] == {"1": 32 * PAGES_PER_MIB}


def test_flat_too_big_fails_with_figures(flat):
    result = flat.job(2, [PLACE], ["size=300M:kind=FASTMEM:name=fast"])
    assert result.status != 0
    for text in ("300 MiB wanted per PE", "600 MiB by the 2 PEs", "free: node 1"):
        assert text in result.output, result.output
    assert result.output.count("the job cannot start") == 1
    assert "Killed" not in result.output and "signal 9" not in result.output


def test_flat_nearly_all_of_the_fast_memory_works(flat):
    free = flat.guest.run("awk '/MemFree/ {print $4}' /sys/devices/system/node/node1/meminfo")
    mib = int(free.output) // 1024 * 95 // 100 // 4
    reports = flat.placed(4, [f"size={mib}M:kind=FASTMEM:name=fast"], timeout=300)
    assert counts(reports, "fast") == [{"1": mib * PAGES_PER_MIB}] * 4


def test_flat_preferred_overflows_and_says_so(flat):
    result = flat.job(2, [PLACE], ["size=300M:kind=FASTMEM:policy=PREFERRED:name=fast"], timeout=300)
    assert result.status == 0, result.output
    reports = [json.loads(line[7:]) for line in result.output.splitlines() if line.startswith("REPORT ")]
    fast = sum(report["partitions"]["fast"]["counted"]["1"] for report in reports)
    rest = sum(report["partitions"]["fast"]["counted"].get("0", 0) for report in reports)
    assert fast + rest == 600 * PAGES_PER_MIB and fast > 400 * PAGES_PER_MIB and rest > 80 * PAGES_PER_MIB
    assert "node 0 DRAM" in result.output and "node 1 MCDRAM" in result.output, result.output


def test_flat_absent_kind_and_forbidden_node(flat):
    result = flat.job(2, [PLACE], ["size=1M:kind=HBM"])
    assert result.status != 0 and "MCDRAM" in result.output
    # A cpuset without the fast node: it exists, but not for this job.
    prepare = ("mkdir -p /sys/fs/cgroup 2>/dev/null;"
               " mountpoint -q /sys/fs/cgroup || mount -t cgroup2 none /sys/fs/cgroup;"
               " echo +cpuset > /sys/fs/cgroup/cgroup.subtree_control && mkdir -p /sys/fs/cgroup/few &&"
               " echo 0-3 > /sys/fs/cgroup/few/cpuset.cpus && echo 0 > /sys/fs/cgroup/few/cpuset.mems &&"
               " echo $$ > /sys/fs/cgroup/few/cgroup.procs && ")
    command = f"{prepare}exec {launcher()[0]} run -n 2 {PLACE}"
    result = flat.guest.run(command, cwd=ROOT, env={"SHMEM_SYMMETRIC_PARTITION2": "size=1M:kind=FASTMEM"})
    assert result.status != 0
    assert "not allowed" in result.output and "node 1" in result.output, result.output


def test_flat_stencil(flat):
    result = flat.job(2, [str(ROOT / "examples/stencil.py"), "5", "300", "--partition", "fast"],
                      ["size=32M:kind=FASTMEM:name=fast"])
    assert result.status == 0, result.output
    assert "validates" in result.output and "node 1 MCDRAM" in result.output, result.output


def test_snc4_each_pe_on_its_own_fast_node(snc4):
    reports = snc4.placed(4, ["size=24M:kind=FASTMEM:name=fast", "size=16M:kind=DDR:name=slow",
                              "size=16M:kind=FASTMEM:policy=INTERLEAVED:name=striped"], options=bound())
    assert sorted(report["cpus"][0] for report in reports) == [0, 1, 2, 3]
    for report in reports:
        [cpu] = report["cpus"]
        found = {name: one["counted"] for name, one in report["partitions"].items()}
        assert found["fast"] == {str(MCDRAM_OF_SNC4[cpu]): 24 * PAGES_PER_MIB}
        assert found["slow"] == {str(cpu): 16 * PAGES_PER_MIB}
        assert found["striped"] == {str(node): 4 * PAGES_PER_MIB for node in range(4, 8)}


def test_snc4_unbound_uses_all_fast_nodes(snc4):
    unbound = ["--bind-to", "none"] if "--bind-to" in bound() else ["-bind-to", "none"]
    reports = snc4.placed(2, ["size=300M:kind=FASTMEM:name=fast"], options=unbound, timeout=300)
    for found in counts(reports, "fast"):
        assert set(found) <= {"4", "5", "6", "7"}
        assert sum(found.values()) == 300 * PAGES_PER_MIB


def test_snc4_too_big_for_one_cluster_fails(snc4):
    result = snc4.job(4, [PLACE], ["size=300M:kind=FASTMEM:name=fast"], options=bound())
    assert result.status != 0
    assert "300 MiB wanted per PE" in result.output and "free: node" in result.output, result.output
    assert result.output.count("the job cannot start") == 1


def test_snc4_stencil_on_four_pes(snc4):
    result = snc4.job(4, [str(ROOT / "examples/stencil.py"), "5", "300", "--partition", "fast"],
                      ["size=32M:kind=FASTMEM:name=fast"], options=bound())
    assert result.status == 0, result.output
    assert "validates" in result.output and "MCDRAM" in result.output, result.output


def test_this_python_runs_there(flat):
    result = flat.guest.run([sys.executable, "-c", "import pyshmem; print(pyshmem.build_info()['engine'])"])
    assert result.status == 0, result.output
