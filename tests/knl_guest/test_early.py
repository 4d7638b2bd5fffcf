"""A network that pins the heap as the engine starts: early placement is there before it, late placement says it cannot.

The network is ``pins.c``; Open MPI gets the heap by mmap here, since Linux 6.1 has no long-term pins of SysV segments.
"""

from __future__ import annotations

import subprocess
import tempfile
from functools import cache
from pathlib import Path

import pytest

from pyshmem.build import preload_library

from .machine import MIB, PAGES_PER_MIB, Machine

pytestmark = [pytest.mark.guest, pytest.mark.parametrize("machine", ["a2a-flat"], indirect=True)]
HERE = Path(__file__).parent
CURE = "start the program with `pyshmem run --preload`"


@cache
def pins() -> str:
    """The library that pins."""
    library = Path(tempfile.mkdtemp(prefix="pyshmem-pins-")) / "pins.so"
    subprocess.run(["gcc", "-std=c11", "-Wall", "-Wextra", "-shared", "-fPIC", str(HERE / "pins.c"), "-o", str(library),
                    f"-Wl,--version-script={HERE / 'pins.map'}", "-ldl"], check=True)
    return str(library)


def pinning(*libraries: Path, **more: str) -> dict[str, str]:
    """The environment of a job on that network, with these libraries preloaded as well."""
    return {"LD_PRELOAD": ":".join([pins(), *map(str, libraries)]), "PINS_BYTES": str(32 * MIB),
            "OMPI_MCA_sshmem": "mmap", **more}


def test_early_placement_gets_ahead_of_the_network(machine: Machine):
    reports = machine.placed(2, ["size=24M:kind=FASTMEM:name=fast", "size=8M:kind=DDR:name=slow",
                                 "size=8M:kind=NODES(0-1):policy=I:name=striped", "size=8M:kind=F:policy=P:name=liked"],
                             environment=pinning(preload_library()))
    assert reports[0]["output"].count(" pinned") == 2, reports[0]["output"]
    for report in reports:
        found = {name: one["counted"] for name, one in report["partitions"].items()}
        assert found == {"fast": {"1": 24 * PAGES_PER_MIB}, "slow": {"0": 8 * PAGES_PER_MIB},
                         "striped": {"0": 4 * PAGES_PER_MIB, "1": 4 * PAGES_PER_MIB},
                         "liked": {"1": 8 * PAGES_PER_MIB}}


def test_late_placement_of_pinned_pages_is_an_error(machine: Machine):
    output = machine.refused(1, ["size=24M:kind=FASTMEM"], environment=pinning(preload_library(), PYSHMEM_EARLY="0"))
    assert output.count(" pinned") == 1 and output.count(CURE) == 1, output


def test_late_placement_of_pinned_pages_is_a_warning_if_preferred(machine: Machine):
    reports = machine.placed(2, ["size=24M:kind=FASTMEM:policy=P:name=liked"], environment=pinning())
    assert reports[0]["output"].count(" pinned") == 2 and reports[0]["output"].count(CURE) == 1, reports[0]["output"]
    assert [report["partitions"]["liked"]["counted"] for report in reports] == [{"0": 24 * PAGES_PER_MIB}] * 2
