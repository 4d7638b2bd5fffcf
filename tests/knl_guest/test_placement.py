"""Placement in emulated machines: pages where the contract wants them, by the kernel's own counts."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from jobs import ROOT, launcher

from pyshmem.build import build_info

from .machine import MIB, NO_TRANSPARENT_PAGES, PAGES_PER_MIB, Machine, bound, reserve_huge_pages, unbound

pytestmark = pytest.mark.guest

flat = pytest.mark.parametrize("machine", ["a2a-flat"], indirect=True)
snc4 = pytest.mark.parametrize("machine", ["snc4-flat"], indirect=True)
STENCIL = [str(ROOT / "examples/stencil.py"), "5", "300", "--partition", "fast"]


def counts(reports: list[dict], name: str) -> list[dict[str, int]]:
    return [report["partitions"][name]["counted"] for report in reports]


# ---- every kind and policy, on every machine -------------------------------------------------------------------------


@dataclass(frozen=True)
class Truth:
    """What is known of a machine: for each kind its nodes, as local to each CPU (0: for all CPUs alike)."""

    local: dict[str, dict[int, set[int]]]
    absent: tuple[str, ...] = ()
    pes: int = 2
    refusal: str = ""  # what the message of an absent kind must say
    numbered: tuple[str, ...] = field(default=())

    def nodes(self, kind: str, cpu: int, everywhere: bool) -> set[int]:
        by_cpu = self.local[kind]
        return set().union(*by_cpu.values()) if everywhere else by_cpu.get(cpu, by_cpu[0])


# Since 2.10 hwloc itself names what is faster than the rest.
HWLOC = tuple(int(part) for part in build_info()["hwloc"].split(".")[:2])
HMAT_FAST = "node 1 (HBM" if HWLOC >= (2, 10) else "node 1 (UNKNOWN but fast"
ONE, TWO = {0: {0}}, {0: {1}}
SNC2 = {"DDR": {0: {0}, 1: {0}, 2: {1}, 3: {1}}, "MCDRAM": {0: {2}, 1: {2}, 2: {3}, 3: {3}}}
SNC4 = {"DDR": {i: {i} for i in range(4)}, "MCDRAM": {i: {i + 4} for i in range(4)}}
TRUTH = {
    "a2a-flat": Truth({"DDR": ONE, "MCDRAM": TWO, "FASTMEM": TWO}, ("HBM", "CAPACITY"), refusal="MCDRAM",
                      numbered=("1", "0-1")),
    "snc2-flat": Truth({**SNC2, "FASTMEM": SNC2["MCDRAM"]}, ("CXL",), pes=4, refusal="MCDRAM"),
    "snc4-flat": Truth({**SNC4, "FASTMEM": SNC4["MCDRAM"]}, ("NVM",), pes=4, refusal="MCDRAM", numbered=("4-7",)),
    "cache": Truth({"DDR": ONE}, ("FASTMEM", "MCDRAM"), refusal="memory-side cache"),
    "hmat-fast": Truth({"DDR": ONE, "FASTMEM": TWO}, ("CAPACITY", "MCDRAM"), refusal=HMAT_FAST),
    "hmat-slow": Truth({"DDR": ONE, "CAPACITY": TWO}, ("FASTMEM",), refusal="node 1 (UNKNOWN but slow"),
    "unknown-memory-only": Truth({"DDR": ONE}, ("FASTMEM", "CAPACITY"), refusal="kind=NODES(...) uses it all the same",
                                 numbered=("1",)),
    "many-nodes": Truth({"DDR": ONE}, ("FASTMEM",), refusal="nothing tells what", numbered=("65", "1-65")),
    "hbm-only": Truth({"DDR": ONE}, ("FASTMEM",), refusal="node 0 (DRAM"),
}
POLICIES = ("MANDATORY", "PREFERRED", "INTERLEAVED")
REACHES = ("", ",local", ",all")


def numbers(text: str) -> set[int]:
    """The nodes of "0-1"."""
    first, _, last = text.partition("-")
    return set(range(int(first), int(last or first) + 1))


def matrix(truth: Truth) -> dict[str, tuple[str, str, str, str]]:
    """By name: a definition, and the kind, policy and reach that it has."""
    made = {}
    for kind in truth.local:
        for policy in POLICIES:
            for reach in REACHES:
                name = f"{kind}-{policy}{reach}".replace(",", "-")
                made[name] = (f"size=1M:kind={kind}:policy={policy}{reach}:name={name}", kind, policy, reach)
    for text in truth.numbered:
        for policy in POLICIES:
            name = f"n{text}-{policy}"
            made[name] = (f"size=1M:kind=NODES({text}):policy={policy}:name={name}", text, policy, "")
    for kind in truth.absent:
        made[f"no-{kind}"] = (f"size=1M:kind={kind}:policy=P:name=no-{kind}", "DDR", "PREFERRED", "")
    return made


def check(found: dict[str, int], nodes: set[int], policy: str) -> None:
    """Pages of 1 MiB: on these nodes and no other, and evenly where they are interleaved."""
    assert {int(node) for node in found if node != "none"} <= nodes and "none" not in found
    assert sum(found.values()) == PAGES_PER_MIB
    if policy == "INTERLEAVED":
        assert set(map(int, found)) == nodes
        assert max(found.values()) - min(found.values()) <= 1


@pytest.mark.parametrize("machine", TRUTH, indirect=True)
def test_every_kind_and_policy(machine: Machine):
    truth = TRUTH[machine.layout.name]
    made = matrix(truth)
    options = bound() if truth.pes == 4 else unbound()
    reports = machine.placed(truth.pes, [text for text, *_ in made.values()], options=options)
    if truth.pes == 4:  # each bound to a core of its own
        assert sorted(report["cpus"] for report in reports) == [[0], [1], [2], [3]]
    for report in reports:
        cpu = report["cpus"][0]
        for name, (_, kind, policy, reach) in made.items():
            one = report["partitions"][name]
            everywhere = reach == ",all" or (policy == "INTERLEAVED" and reach == "")
            nodes = numbers(kind) if kind[0].isdigit() else truth.nodes(kind, cpu, everywhere)
            check(one["counted"], nodes, policy)
            assert bool(one["fell_back"]) == name.startswith("no-")
    for kind in truth.absent:
        warning = f'partition "no-{kind}": no node of kind {kind} here'
        assert reports[0]["output"].count(warning) == 1, reports[0]["output"]
        assert truth.refusal in reports[0]["output"]


@pytest.mark.parametrize("machine", ["a2a-flat", "cache"], indirect=True)
def test_absent_kind_is_refused(machine: Machine):
    truth = TRUTH[machine.layout.name]
    output = machine.refused(2, [f"size=1M:kind={truth.absent[0]}"])
    assert f"no node of kind {truth.absent[0]} here" in output and truth.refusal in output, output
    assert output.count("with policy=PREFERRED it would fall back to DRAM") == 1


# ---- flat ------------------------------------------------------------------------------------------------------------


@flat
def test_pages_that_only_others_touch(machine: Machine):
    reports = machine.placed(2, ["size=8M:kind=FASTMEM:name=fast", "size=8M:kind=DDR:name=slow",
                                 "size=8M:kind=MCDRAM:policy=I:name=striped", "size=8M:kind=F:policy=P:name=liked"],
                             touch="remote", environment={"PYSHMEM_POPULATE": "0"})
    for name in ("fast", "striped", "liked"):
        assert counts(reports, name) == [{"1": 8 * PAGES_PER_MIB}] * 2
    assert counts(reports, "slow") == [{"0": 8 * PAGES_PER_MIB}] * 2


@flat
def test_mandatory_pages_are_there_before_the_program_touches_them(machine: Machine):
    [report] = machine.placed(1, ["size=32M:kind=FASTMEM:name=fast"], touch="none")
    assert report["partitions"]["fast"]["counted"] == {"1": 32 * PAGES_PER_MIB}


@flat
def test_too_big_fails_with_figures(machine: Machine):
    output = machine.refused(2, ["size=300M:kind=FASTMEM:name=fast"])
    for text in ("300 MiB wanted per PE", "600 MiB by the 2 PEs", "free: node 1"):
        assert text in output, output
    assert output.count("does not fit") == 1, output


@flat
def test_plan_decides_as_init(machine: Machine):
    """The job is that of the test above."""
    env = {"SHMEM_SYMMETRIC_PARTITION2": "size=300M:kind=FASTMEM:name=fast"}
    result = machine.guest.run(f"exec {launcher()[0]} plan -n 2", env=env, cwd=ROOT, timeout=150)
    assert result.status == 1 and "would fail" in result.output, result.output
    assert "300 MiB wanted per PE, 600 MiB by the 2 PEs there; free: node 1" in result.output, result.output


@flat
def test_nearly_all_of_the_fast_memory_works(machine: Machine):
    mib = machine.free_mib(1) * 95 // 100 // 4
    reports = machine.placed(4, [f"size={mib}M:kind=FASTMEM:name=fast"], timeout=300)
    assert counts(reports, "fast") == [{"1": mib * PAGES_PER_MIB}] * 4


@flat
def test_preferred_overflows_and_the_report_says_so(machine: Machine):
    definitions = ["size=300M:kind=FASTMEM:policy=PREFERRED:name=fast"]
    report = machine.job(2, [str(Path(__file__).with_name("overflow.py"))], definitions, timeout=300)
    assert report.status == 0 and "node 1 MCDRAM" in report.output, report.output
    assert re.search("all PEs: node 0 .*, node 1 ", report.output), report.output
    if "node 0 0 bytes" in report.output:  # only one of them spilt over, and is named
        assert re.search(r"PE \d on \w+: fast has .* on node 0", report.output), report.output
    reports = machine.placed(2, definitions, timeout=300)
    fast = sum(found["1"] for found in counts(reports, "fast"))
    rest = sum(found.get("0", 0) for found in counts(reports, "fast"))
    assert fast + rest == 600 * PAGES_PER_MIB and fast > 400 * PAGES_PER_MIB and rest > 80 * PAGES_PER_MIB


# ---- limits ----------------------------------------------------------------------------------------------------------


@flat
def test_more_than_the_memory_cgroup_grants(machine: Machine):
    """Each PE's share fits, all together would have some killed."""
    before = ("mkdir -p /sys/fs/cgroup 2>/dev/null;"
              " mountpoint -q /sys/fs/cgroup || mount -t cgroup2 none /sys/fs/cgroup;"
              " echo +memory > /sys/fs/cgroup/cgroup.subtree_control && mkdir -p /sys/fs/cgroup/small &&"
              " echo 300M > /sys/fs/cgroup/small/memory.max && echo $$ > /sys/fs/cgroup/small/cgroup.procs && ")
    output = machine.refused(2, ["size=160M:kind=FASTMEM"], before=before)
    assert "320 MiB" in output and "memory cgroup" in output, output
    machine.placed(2, ["size=60M:kind=FASTMEM"], before=before)


@flat
def test_memory_that_another_job_has_filled(machine: Machine):
    mib = machine.free_mib(1) - 100
    filled = machine.guest.run("mkdir -p /tmp/filled && mount -t tmpfs -o size=2G,mpol=bind:1 none /tmp/filled &&"
                               f" dd if=/dev/zero of=/tmp/filled/file bs=1M count={mib} 2>&1")
    try:
        assert filled.status == 0, filled.output
        output = machine.refused(2, ["size=100M:kind=FASTMEM:name=fast"])
        assert "100 MiB wanted per PE" in output and "free: node 1" in output, output
        reports = machine.placed(2, ["size=100M:kind=FASTMEM:policy=PREFERRED:name=fast"])
        assert sum(found.get("0", 0) for found in counts(reports, "fast")) > 80 * PAGES_PER_MIB
    finally:
        machine.guest.run("umount /tmp/filled")


@flat
def test_a_little_more_than_the_fast_memory_fails(machine: Machine):
    mib = machine.free_mib(1) * 105 // 100 // 4
    output = machine.refused(4, [f"size={mib}M:kind=FASTMEM:name=fast"])
    assert output.count("does not fit") == 1 and "free: node 1" in output, output


@flat
def test_node_that_the_cpuset_forbids(machine: Machine):
    before = ("mkdir -p /sys/fs/cgroup 2>/dev/null;"
              " mountpoint -q /sys/fs/cgroup || mount -t cgroup2 none /sys/fs/cgroup;"
              " echo +cpuset > /sys/fs/cgroup/cgroup.subtree_control && mkdir -p /sys/fs/cgroup/few &&"
              " echo 0-1 > /sys/fs/cgroup/few/cpuset.cpus && echo 0 > /sys/fs/cgroup/few/cpuset.mems &&"
              " echo $$ > /sys/fs/cgroup/few/cgroup.procs && ")
    output = machine.refused(2, ["size=1M:kind=FASTMEM"], before=before)
    assert "not allowed" in output and "node 1" in output, output


@flat
def test_stencil_says_where_its_pages_are(machine: Machine):
    result = machine.job(2, STENCIL, ["size=32M:kind=FASTMEM:name=fast"])
    assert result.status == 0, result.output
    assert "validates" in result.output and "node 1 MCDRAM" in result.output, result.output


# ---- pages of other sizes --------------------------------------------------------------------------------------------

HUGE = ["size=4M:kind=FASTMEM:pgsize=2M:name=fast", "size=3M:kind=FASTMEM:policy=P:pgsize=2M:name=liked"]


def check_huge(reports: list[dict], name: str, mib: int) -> None:
    for report in reports:
        one = report["partitions"][name]
        assert one["counted"] == {"1": mib * PAGES_PER_MIB} and one["page_size"] == 2 << 20
        assert one["huge"] == -(-mib // 2) << 21


@flat
@pytest.mark.parametrize("touch, pages, overcommit", [("remote", {0: 0, 1: 64}, 0), ("here", {0: 0, 1: 0}, 64)],
                         ids=["reserved", "overcommit"])
def test_huge_pages(machine: Machine, touch, pages, overcommit):
    # More than the partitions need, since UCX takes some for itself where there are any.
    reports = machine.placed(2, HUGE, touch=touch, before=reserve_huge_pages(pages, overcommit))
    check_huge(reports, "fast", 4)
    check_huge(reports, "liked", 3)


@flat
def test_free_huge_pages_are_no_reason_to_be_elsewhere(machine: Machine):
    reports = machine.placed(2, ["size=1M:kind=DDR:name=slow", "size=3M:kind=FASTMEM:name=fast"], touch="remote",
                             before=reserve_huge_pages({0: 0, 1: 64}))
    assert counts(reports, "slow") == [{"0": PAGES_PER_MIB}] * 2
    assert counts(reports, "fast") == [{"1": 3 * PAGES_PER_MIB}] * 2


@flat
def test_no_huge_pages(machine: Machine):
    output = machine.refused(2, HUGE[:1], before=reserve_huge_pages({0: 0, 1: 0}))
    assert "4 MiB of 2 MiB pages cannot be had" in output and "free: node 1 0; overcommit: 0" in output, output
    # And no transparent ones, which the kernel gives to private memory by itself.
    reports = machine.placed(2, HUGE[1:], before=reserve_huge_pages({0: 0, 1: 0}) + NO_TRANSPARENT_PAGES)
    for report in reports:
        one = report["partitions"]["liked"]
        assert one["counted"] == {"1": 3 * PAGES_PER_MIB} and one["page_size"] == 4096 and one["huge"] == 0
    assert reports[0]["output"].count("being PREFERRED, it has base pages") == 1


@flat
def test_transparent_huge_pages(machine: Machine):
    allow = "cd /sys/kernel/mm/transparent_hugepage && echo {0} > enabled && echo {0} > shmem_enabled && cd / && "
    reports = machine.placed(2, ["size=4M:kind=FASTMEM:pgsize=THP:name=fast"],
                             before=allow.replace("{0} > shmem", "advise > shmem").format("madvise"))
    for report in reports:
        one = report["partitions"]["fast"]
        assert one["counted"] == {"1": 4 * PAGES_PER_MIB} and one["huge"] == 4 << 20


# ---- clusters --------------------------------------------------------------------------------------------------------


@snc4
def test_unbound_uses_all_fast_nodes(machine: Machine):
    reports = machine.placed(2, ["size=150M:kind=FASTMEM:name=fast"], options=unbound(), timeout=300)
    for found in counts(reports, "fast"):
        assert set(found) <= {"4", "5", "6", "7"}
        assert sum(found.values()) == 150 * PAGES_PER_MIB


@snc4
def test_too_big_for_one_cluster_fails(machine: Machine):
    output = machine.refused(4, ["size=300M:kind=FASTMEM:name=fast"], options=bound())
    assert "300 MiB wanted per PE" in output and "free: node" in output, output
    assert output.count("does not fit") == 1, output


@snc4
def test_stencil_on_four_clusters(machine: Machine):
    result = machine.job(4, STENCIL, ["size=32M:kind=FASTMEM:name=fast"], options=bound())
    assert result.status == 0, result.output
    assert "validates" in result.output and "MCDRAM" in result.output, result.output


# ---- moving ----------------------------------------------------------------------------------------------------------


@flat
def test_migrated_pages_lie_there_with_their_contents(machine: Machine):
    reports = machine.placed(2, ["size=8M:kind=DDR:name=slow", "size=8M:kind=FASTMEM:name=fast"], move=["MCDRAM"])
    assert counts(reports, "slow") == counts(reports, "fast") == [{"1": 8 * PAGES_PER_MIB}] * 2
    for report in reports:
        slow, fast = report["partitions"]["slow"], report["partitions"]["fast"]
        assert (slow["moved"], slow["there"], fast["moved"], fast["there"]) == (8 * MIB, 0, 0, 8 * MIB)
        assert slow["to"] == "1" and not slow["shared"] + slow["full"] + slow["pinned"] + slow["absent"]


@flat
def test_migration_to_a_full_node_says_so_and_kills_nobody(machine: Machine):
    reports = machine.placed(2, ["size=300M:kind=DDR:name=slow"], move=["FASTMEM"])
    total = 0
    for report in reports:
        one = report["partitions"]["slow"]
        assert one["moved"] == one["counted"].get("1", 0) * 4096 and one["full"] == one["counted"]["0"] * 4096
        total += one["moved"]
    assert total > 400 * MIB


@flat
def test_pages_that_others_have_mapped_move_for_the_privileged_only(machine: Machine):
    reports = machine.placed(2, ["size=8M:kind=DDR:name=slow"], touch="remote", move=["MCDRAM"])
    assert counts(reports, "slow") == [{"1": 8 * PAGES_PER_MIB}] * 2
    reports = machine.placed(2, ["size=8M:kind=DDR:name=slow"], touch="remote", move=["MCDRAM"],
                             before="setpriv --inh-caps=-sys_nice --bounding-set=-sys_nice ")
    for report in reports:
        one = report["partitions"]["slow"]
        assert one["moved"] + one["shared"] == 8 * MIB and one["moved"] == one["counted"].get("1", 0) * 4096
        assert (one["shared"] > 0) == ("Open MPI" in build_info()["engine"]), one  # SOS has a heap for each PE


# ---- weights ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("machine", ["hmat-fast"], indirect=True)
def test_interleaving_over_kinds_follows_the_weights_that_the_kernel_has(machine: Machine):
    weights = "/sys/kernel/mm/mempolicy/weighted_interleave"
    weighted = machine.guest.run(f"cd {weights} && echo 1 > node0 && echo 3 > node1").status == 0  # Linux 6.9 and later
    for found in counts(machine.placed(2, ["size=8M:kind=FASTMEM+DDR:policy=I:name=both"]), "both"):
        assert found == ({"0": 2 * PAGES_PER_MIB, "1": 6 * PAGES_PER_MIB} if weighted
                         else {"0": 4 * PAGES_PER_MIB, "1": 4 * PAGES_PER_MIB})
