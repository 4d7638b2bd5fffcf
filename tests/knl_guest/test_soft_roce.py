"""A network that pins, not an imitation: Soft-RoCE, with which UCX registers the heap as Open MPI starts.

``test_early.py`` shows the same with pins that it makes itself.  Here they come all the way, from the engine over UCX
and verbs to the kernel's driver, which holds the pages of any heap, also of SysV segments.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pyshmem.build import preload_library

from .initramfs import load_order
from .kernel import find_kernel
from .machine import MIB, PAGES_PER_MIB, Machine

pytestmark = [pytest.mark.guest, pytest.mark.parametrize("machine", ["a2a-flat"], indirect=True)]
CURE = "start the program with `pyshmem run --preload`"

MODULES = ("crc32_generic", "veth", "ib_uverbs", "rdma_rxe")
LOAD = "{{ [ -e /sys/module/{name} ] || busybox insmod {directory}/{name}; }} && "
# It has IPv6's own address and none of IPv4, by whose headers UCX 1.13 takes all datagrams for somebody else's.
CONNECT = """\
ip link add roce0 mtu 9000 type veth peer name roce1 mtu 9000 &&
ip link set roce1 up &&
ip link set roce0 up &&
rdma link add rxe0 type rxe netdev roce0 &&
grep -q fe80: /sys/class/infiniband/rxe0/ports/1/gids/0 ||
{ dmesg | tail; exit 1; }
"""
DISCONNECT = "rdma link delete rxe0; ip link delete roce0"
# Not by the memory that PEs share.
OVER_IT = {"UCX_TLS": "rc_verbs,ud_verbs,self"}
SENT = "/sys/class/infiniband/rxe0/ports/1/hw_counters/sent_pkts"


@pytest.fixture(scope="module")
def roce(machine: Machine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """The machine while it has the network, which any later job would take as well."""
    kernel = find_kernel()
    directory = tmp_path_factory.mktemp("modules")
    modules = load_order(kernel.modules, MODULES)
    for name, content in modules.items():
        (directory / name).write_bytes(content)
    load = "".join(LOAD.format(name=name, directory=directory) for name in modules)
    made = machine.guest.run(load + CONNECT)
    assert made.status == 0, f"no Soft-RoCE with {', '.join(modules) or 'nothing'} of {kernel.modules}:\n{made.output}"
    yield machine
    machine.guest.run(DISCONNECT)


def preloading(*libraries: Path, **more: str) -> dict[str, str]:
    return {"LD_PRELOAD": ":".join(map(str, libraries)), **more}


def sent(roce: Machine) -> int:
    """Packets that the network has carried so far."""
    return int(roce.guest.run(f"cat {SENT}").output)


def test_early_placement_gets_ahead_of_soft_roce(roce: Machine):
    before = sent(roce)
    reports = roce.placed(2, ["size=24M:kind=FASTMEM:name=fast", "size=8M:kind=DDR:name=slow",
                              "size=8M:kind=NODES(0-1):policy=I:name=striped", "size=8M:kind=F:policy=P:name=liked"],
                          touch="remote", environment=preloading(preload_library(), **OVER_IT))
    assert sent(roce) - before > 2 * 48 * MIB // 4096, reports[0]["output"]  # 4096 bytes in a packet at most
    for report in reports:
        found = {name: one["counted"] for name, one in report["partitions"].items()}
        assert found == {"fast": {"1": 24 * PAGES_PER_MIB}, "slow": {"0": 8 * PAGES_PER_MIB},
                         "striped": {"0": 4 * PAGES_PER_MIB, "1": 4 * PAGES_PER_MIB},
                         "liked": {"1": 8 * PAGES_PER_MIB}}
        assert report["partitions"]["fast"]["pinned"] > (24 + 8 + 8 + 8) * MIB  # the whole heap


def test_late_placement_of_what_soft_roce_pins_is_an_error(roce: Machine):
    output = roce.refused(2, ["size=24M:kind=FASTMEM"], environment=preloading(preload_library(), PYSHMEM_EARLY="0"))
    assert CURE in output, output


def test_late_placement_of_what_soft_roce_pins_is_a_warning_if_preferred(roce: Machine):
    reports = roce.placed(2, ["size=24M:kind=FASTMEM:policy=P:name=liked"])
    assert reports[0]["output"].count(CURE) == 1, reports[0]["output"]
    assert [report["partitions"]["liked"]["counted"] for report in reports] == [{"0": 24 * PAGES_PER_MIB}] * 2
    assert all(report["partitions"]["liked"]["pinned"] > 24 * MIB for report in reports), reports
