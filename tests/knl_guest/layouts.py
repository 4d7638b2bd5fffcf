"""The machines a guest can be: which memory nodes, how far apart, how they are described.

A layout is data; :meth:`Layout.qemu_arguments` turns it into QEMU's words.  The tests compare
what the kernel reports with the same data, so a number is stated here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import MappingProxyType

LOCAL_DISTANCE = 10
DEFAULT_DISTANCE = 20
KNL = "KnightsMill,l3-cache=off"


@dataclass(frozen=True)
class Performance:
    """What the firmware says of a node, as seen from its nearest CPUs."""

    bandwidth_gb: int
    latency_ns: int


@dataclass(frozen=True)
class Node:
    """A memory node: its size, how many CPUs it has, and what the firmware says of it."""

    mib: int
    cpus: int = 0
    performance: Performance | None = None


@dataclass(frozen=True)
class Layout:
    """A machine.

    Parameters
    ----------
    name
        How tests and messages call it.
    nodes
        The memory nodes, by their number.
    distances
        ``distances[i][j]`` of nodes i and j; None leaves them to the kernel's defaults.
    cpu
        QEMU's CPU model; :data:`KNL` makes hwloc 2.x apply what it knows of KNL.
    """

    name: str
    nodes: tuple[Node, ...]
    distances: tuple[tuple[int, ...], ...] | None = None
    cpu: str = "max"

    @property
    def cpus(self) -> int:
        """The number of CPUs of the whole machine."""
        return sum(node.cpus for node in self.nodes)

    @property
    def mib(self) -> int:
        """The memory of the whole machine in MiB."""
        return sum(node.mib for node in self.nodes)

    @property
    def memory_only(self) -> tuple[int, ...]:
        """The numbers of the nodes without CPUs."""
        return tuple(i for i, node in enumerate(self.nodes) if not node.cpus)

    def distance(self, source: int, target: int) -> int:
        """Return the distance the kernel is to report."""
        if self.distances is not None:
            return self.distances[source][target]
        return LOCAL_DISTANCE if source == target else DEFAULT_DISTANCE

    def qemu_arguments(self) -> list[str]:
        """Return QEMU's arguments for this machine's CPUs and memory."""
        described = any(node.performance for node in self.nodes)
        machine = "q35,hmat=on" if described else "q35"
        return [
            *("-machine", machine, "-cpu", self.cpu),
            *("-smp", f"{self.cpus},sockets=1,cores={self.cpus},threads=1"),
            *("-m", f"{self.mib}M"),
            *self._node_arguments(described),
            *self._distance_arguments(),
            *self._performance_arguments(),
        ]

    def _node_arguments(self, described: bool) -> Iterator[str]:
        first_cpu = 0
        for i, node in enumerate(self.nodes):
            yield from ("-object", f"memory-backend-ram,id=m{i},size={node.mib}M")
            numa = f"node,nodeid={i},memdev=m{i}"
            if node.cpus:
                numa += f",cpus={first_cpu}-{first_cpu + node.cpus - 1}"
                first_cpu += node.cpus
            if described:
                numa += f",initiator={self._initiator(i)}"
            yield from ("-numa", numa)

    def _distance_arguments(self) -> Iterator[str]:
        for i, row in enumerate(self.distances or ()):
            for j, value in enumerate(row):
                if i != j:
                    yield from ("-numa", f"dist,src={i},dst={j},val={value}")

    def _performance_arguments(self) -> Iterator[str]:
        for i, node in enumerate(self.nodes):
            if node.performance is None:
                continue
            entry = f"hmat-lb,initiator={self._initiator(i)},target={i},hierarchy=memory,data-type="
            latency, bandwidth = node.performance.latency_ns, node.performance.bandwidth_gb
            yield from ("-numa", f"{entry}access-latency,latency={latency}")
            yield from ("-numa", f"{entry}access-bandwidth,bandwidth={bandwidth}G")

    def _initiator(self, number: int) -> int:
        """The node whose CPUs the firmware names as a node's nearest."""
        if self.nodes[number].cpus:
            return number
        with_cpus = [i for i, node in enumerate(self.nodes) if node.cpus]
        return min(with_cpus, key=lambda i: self.distance(i, number))


def _matrix(size: int, between: Callable[[int, int], int]) -> tuple[tuple[int, ...], ...]:
    return tuple(
        tuple(LOCAL_DISTANCE if i == j else between(i, j) for j in range(size)) for i in range(size)
    )


def _knl_flat(name: str, clusters: int, ddr: Node, mcdram: Node) -> Layout:
    """KNL in flat mode: DDR nodes with the CPUs first, then each cluster's MCDRAM node."""

    def between(i: int, j: int) -> int:
        if i < clusters and j < clusters:
            return 21
        return 31 if i % clusters == j % clusters else 41

    nodes = (ddr,) * clusters + (mcdram,) * clusters
    return Layout(name, nodes, _matrix(2 * clusters, between), cpu=KNL)


def _pair(name: str, dram: Node, other: Node) -> Layout:
    """An ordinary processor with a second, memory-only node."""
    return Layout(name, (dram, other), _matrix(2, lambda i, j: DEFAULT_DISTANCE))


_DRAM = Performance(bandwidth_gb=200, latency_ns=100)
_HBM = Performance(bandwidth_gb=800, latency_ns=120)
_CXL = Performance(bandwidth_gb=30, latency_ns=250)

_LAYOUTS = (
    _knl_flat("a2a-flat", 1, ddr=Node(2048, cpus=2), mcdram=Node(512)),
    _knl_flat("snc2-flat", 2, ddr=Node(1024, cpus=2), mcdram=Node(256)),
    _knl_flat("snc4-flat", 4, ddr=Node(512, cpus=1), mcdram=Node(256)),
    Layout("cache", (Node(2048, cpus=2),), cpu=KNL),
    _pair("hmat-fast", Node(2048, cpus=2, performance=_DRAM), Node(512, performance=_HBM)),
    _pair("hmat-slow", Node(2048, cpus=2, performance=_DRAM), Node(512, performance=_CXL)),
    _pair("unknown-memory-only", Node(2048, cpus=2), Node(512)),
    Layout("many-nodes", (Node(1536, cpus=2), *(Node(16),) * 65)),
    Layout("hbm-only", (Node(2048, cpus=2, performance=_HBM),)),
)

LAYOUTS = MappingProxyType({layout.name: layout for layout in _LAYOUTS})
"""Every layout by its name."""
