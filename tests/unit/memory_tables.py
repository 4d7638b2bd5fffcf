"""Tables of memory nodes as src/topology.h lays them out: recognition and selection from Python, for tests."""

from __future__ import annotations

import ctypes
import re
from dataclasses import dataclass, field
from pathlib import Path

HEADERS = Path(__file__).resolve().parents[2] / "src"
WORD = 8 * ctypes.sizeof(ctypes.c_ulong)
GIB = 1 << 30
FLAGS = ("fast", "capacity", "has_cpus", "memory_cache")


def _enumerators(header: str, name: str) -> dict[str, int]:
    text = re.sub(r"/\*.*?\*/", "", (HEADERS / header).read_text(), flags=re.S)
    body = re.search(rf"enum {name} \{{(.*?)\}}", text, flags=re.S).group(1)
    words = [word.strip() for word in body.split(",") if word.strip()]
    return {word.removeprefix(f"{name.upper()}_"): number for number, word in enumerate(words)}


MEMORY = _enumerators("topology.h", "memory")
EVIDENCE = _enumerators("topology.h", "evidence")
KIND = _enumerators("spec.h", "kind")
KNIGHTS = _enumerators("recognition.h", "knights")


class _Set(ctypes.Structure):
    @classmethod
    def of(cls, numbers):
        made = cls()
        for number in numbers:
            made.word[number // WORD] |= 1 << number % WORD
        return made

    def numbers(self) -> set[int]:
        return {i * WORD + bit for i, word in enumerate(self.word) if word for bit in range(WORD) if word >> bit & 1}


class Nodeset(_Set):
    _fields_ = [("word", ctypes.c_ulong * (1024 // WORD))]


class Cpuset(_Set):
    _fields_ = [("word", ctypes.c_ulong * (8192 // WORD))]


class Message(ctypes.Structure):
    _fields_ = [("text", ctypes.c_char * 2048)]


class CNode(ctypes.Structure):
    _fields_ = [("number", ctypes.c_int), ("memory", ctypes.c_int), ("evidence", ctypes.c_int),
                *[(name, ctypes.c_bool) for name in ("fast", "capacity", "allowed", "has_cpus", "memory_cache")],
                *[(name, ctypes.c_uint64) for name in ("size", "bandwidth", "latency")], ("cpus", Cpuset)]


class CHead(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_size_t), ("count", ctypes.c_int), ("summary", ctypes.c_char * 128)]


class CClue(ctypes.Structure):
    _fields_ = [("subtype", ctypes.c_char * 32), ("dax_type", ctypes.c_char * 32), ("dax_parent", ctypes.c_char * 256),
                ("cxl_device", ctypes.c_bool)]


class CPlatform(ctypes.Structure):
    _fields_ = [("knights", ctypes.c_int), ("cluster_mode", ctypes.c_char * 16), ("memory_mode", ctypes.c_char * 16),
                ("has_cpus_known", ctypes.c_bool), ("side_cache", Cpuset)]


def layout(count: int):
    """The C structure of a table of `count` nodes."""
    class Table(ctypes.Structure):
        _fields_ = [("head", CHead), ("node", CNode * count), ("distance", ctypes.c_uint16 * (count * count))]

    return Table


@dataclass
class Node:
    """A node before recognition (the clues) or after it (memory, fast, capacity)."""

    number: int
    cpus: set[int] = field(default_factory=set)
    size: int = 4 * GIB
    subtype: str = ""
    dax_type: str = ""
    dax_parent: str = ""
    cxl_device: bool = False
    bandwidth: int = 0
    latency: int = 0
    allowed: bool = True
    memory: str = "UNKNOWN"
    evidence: str = "NONE"
    fast: bool = False
    capacity: bool = False
    has_cpus: bool = False
    memory_cache: bool = False


def make(nodes: list[Node], distances: dict[tuple[int, int], int] | None = None):
    """A table; `distances` go by node numbers, both ways."""
    table_type = layout(len(nodes))
    table = table_type()
    table.head.bytes, table.head.count = ctypes.sizeof(table_type), len(nodes)
    place = {node.number: i for i, node in enumerate(nodes)}
    for c_node, node in zip(table.node, nodes, strict=True):
        for name in ("number", "allowed", "size", "bandwidth", "latency", *FLAGS):
            setattr(c_node, name, getattr(node, name))
        c_node.memory, c_node.evidence, c_node.cpus = MEMORY[node.memory], EVIDENCE[node.evidence], Cpuset.of(node.cpus)
    for (a, b), value in (distances or {}).items():
        for x, y in ((a, b), (b, a)):
            table.distance[place[x] * len(nodes) + place[y]] = value
    return table


class Topology:
    """The C functions over one shared library."""

    def __init__(self, library: ctypes.CDLL):
        self.library = library
        library.topology_recognise.restype = ctypes.POINTER(CHead)
        library.topology_recognise.argtypes = [ctypes.c_char_p, ctypes.POINTER(Message)]
        self.free = ctypes.CDLL(None).free
        self.free.restype, self.free.argtypes = None, [ctypes.c_void_p]

    def load(self, xml: Path | None):
        """The table of an XML file (None: of this machine); ValueError with the message."""
        message = Message()
        head = self.library.topology_recognise(bytes(xml) if xml else None, ctypes.byref(message))
        if not head:
            raise ValueError(message.text.decode())
        try:
            table_type = layout(head.contents.count)
            assert head.contents.bytes == table_type.distance.offset + table_type.distance.size
            return table_type.from_buffer_copy(ctypes.string_at(head, head.contents.bytes)
                                               .ljust(ctypes.sizeof(table_type), b"\0"))
        finally:
            self.free(head)

    def recognise(self, nodes: list[Node], distances=None, knights="NONE", cluster_mode="", memory_mode="",
                  has_cpus_known=False, side_cache=()):
        """What recognition makes of the evidence alone."""
        table = make(nodes, distances)
        clues = (CClue * len(nodes))(*[CClue(n.subtype.encode(), n.dax_type.encode(), n.dax_parent.encode(),
                                             n.cxl_device) for n in nodes])
        platform = CPlatform(KNIGHTS[knights], cluster_mode.encode(), memory_mode.encode(), has_cpus_known,
                             Cpuset.of(side_cache))
        self.library.recognise(ctypes.byref(table), clues, ctypes.byref(platform))
        return table

    def select(self, table, kind: str, cpus=None, everywhere=False, wanted=()) -> set[int]:
        """The nodes of a kind, or of several ("FASTMEM+DRAM"); ValueError with the message."""
        kinds = sum(1 << KIND[word] for word in kind.split("+"))
        nodes, message = Nodeset(), Message()
        result = self.library.topology_select(
            ctypes.byref(table), ctypes.c_uint(kinds), ctypes.byref(Nodeset.of(wanted)),
            None if cpus is None else ctypes.byref(Cpuset.of(cpus)), ctypes.c_bool(everywhere), ctypes.byref(nodes),
            ctypes.byref(message))
        if result != 0:
            assert result == -1
            raise ValueError(message.text.decode())
        return nodes.numbers()


def found(table) -> dict[int, str]:
    """{node number: memory}"""
    names = {number: name for name, number in MEMORY.items()}
    return {node.number: names[node.memory] for node in table.node}


def marked(table, what: str) -> set[int]:
    """The nodes with a mark: fast, capacity, allowed, has_cpus, memory_cache."""
    return {node.number for node in table.node if getattr(node, what)}


def evidence(table) -> dict[int, str]:
    names = {number: name for name, number in EVIDENCE.items()}
    return {node.number: names[node.evidence] for node in table.node}


def local(table) -> dict[int, set[int]]:
    return {node.number: node.cpus.numbers() for node in table.node}
