"""A network that pins the heap as the engine starts: early placement is there before it, late placement says it cannot.

The network is ``pins.c``; Open MPI gets the heap by mmap here, since Linux 6.1 has no long-term pins of SysV segments.
"""

from __future__ import annotations

import subprocess
import tempfile
from functools import cache
from pathlib import Path

import pytest

from pyshmem.build import build_info, preload_library

from .machine import MIB, NO_TRANSPARENT_PAGES, PAGES_PER_MIB, Machine, bound, reserve_huge_pages

pytestmark = pytest.mark.guest
flat = pytest.mark.parametrize("machine", ["a2a-flat"], indirect=True)
snc4 = pytest.mark.parametrize("machine", ["snc4-flat"], indirect=True)
HERE = Path(__file__).parent
CURE = "start the program with `pyshmem run --preload`"


@cache
def pins() -> str:
    """The library that pins."""
    library = Path(tempfile.mkdtemp(prefix="pyshmem-pins-")) / "pins.so"
    subprocess.run(["gcc", "-std=c11", "-Wall", "-Wextra", "-shared", "-fPIC", str(HERE / "pins.c"), "-o", str(library),
                    f"-Wl,--version-script={HERE / 'pins.map'}", "-ldl"], check=True)
    return str(library)


def pinned(output: str) -> float:
    """How many PEs had their heaps pinned; Open MPI 5 maps one twice, in the same place."""
    return output.count("bytes pinned") / (2 if build_info()["engine_version"].startswith("5.") else 1)


def pinning(*libraries: Path, **more: str) -> dict[str, str]:
    """The environment of a job on that network, with these libraries preloaded as well."""
    return {"LD_PRELOAD": ":".join([pins(), *map(str, libraries)]), "PINS_BYTES": str(32 * MIB),
            "OMPI_MCA_sshmem": "mmap", **more}


@flat
def test_early_placement_gets_ahead_of_the_network(machine: Machine):
    reports = machine.placed(2, ["size=24M:kind=FASTMEM:name=fast", "size=8M:kind=DDR:name=slow",
                                 "size=8M:kind=NODES(0-1):policy=I:name=striped", "size=8M:kind=F:policy=P:name=liked"],
                             environment=pinning(preload_library()))
    assert pinned(reports[0]["output"]) == 2, reports[0]["output"]
    for report in reports:
        found = {name: one["counted"] for name, one in report["partitions"].items()}
        assert found == {"fast": {"1": 24 * PAGES_PER_MIB}, "slow": {"0": 8 * PAGES_PER_MIB},
                         "striped": {"0": 4 * PAGES_PER_MIB, "1": 4 * PAGES_PER_MIB},
                         "liked": {"1": 8 * PAGES_PER_MIB}}


@flat
def test_late_placement_of_pinned_pages_is_an_error(machine: Machine):
    output = machine.refused(1, ["size=24M:kind=FASTMEM"], environment=pinning(preload_library(), PYSHMEM_EARLY="0"))
    assert pinned(output) == 1 and output.count(CURE) == 1, output


@flat
def test_late_placement_of_pinned_pages_is_a_warning_if_preferred(machine: Machine):
    reports = machine.placed(2, ["size=24M:kind=FASTMEM:policy=P:name=liked"], environment=pinning())
    output = reports[0]["output"]
    assert pinned(output) == 2 and output.count(CURE) == 1, output
    assert [report["partitions"]["liked"]["counted"] for report in reports] == [{"0": 24 * PAGES_PER_MIB}] * 2


@snc4
def test_early_placement_is_near_each_pe(machine: Machine):
    reports = machine.placed(4, ["size=24M:kind=FASTMEM:name=fast", "size=8M:kind=DDR:name=slow"], options=bound(),
                             environment=pinning(preload_library()))
    assert pinned(reports[0]["output"]) == 4, reports[0]["output"]
    assert sorted(report["cpus"] for report in reports) == [[0], [1], [2], [3]]
    for report in reports:
        (cluster,) = report["cpus"]
        found = {name: one["counted"] for name, one in report["partitions"].items()}
        assert found == {"fast": {str(4 + cluster): 24 * PAGES_PER_MIB}, "slow": {str(cluster): 8 * PAGES_PER_MIB}}


@pytest.fixture
def reserved(machine: Machine):
    """Huge pages on node 1, and no transparent ones; as before when the test is over."""
    yield reserve_huge_pages({0: 0, 1: 64}) + NO_TRANSPARENT_PAGES
    machine.guest.run(reserve_huge_pages({0: 0, 1: 0}) + NO_TRANSPARENT_PAGES.replace("never", "always") + "true")


@flat
def test_huge_pages_come_before_the_network_or_not_at_all(machine: Machine, reserved: str):
    asked = {"definitions": ["size=24M:kind=FASTMEM:pgsize=2M:name=fast"], "before": reserved}
    if "Open MPI" in build_info()["engine"]:  # which loses its way in a heap that is not of one piece
        early = machine.refused(2, environment=pinning(preload_library()), **asked)
        assert early.count("the network has registered and pinned the heap") == 1, early
    else:
        for report in machine.placed(2, environment=pinning(preload_library()), **asked):
            one = report["partitions"]["fast"]
            assert one["counted"] == {"1": 24 * PAGES_PER_MIB} and one["huge"] == 24 * MIB
    late = machine.refused(2, environment=pinning(), **asked)
    assert pinned(late) == 2 and late.count("the network has registered and pinned the heap") == 1, late
