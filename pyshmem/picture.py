"""Pictures of a machine's memory with partitions in it, as SVG: in the manner of ``lstopo``, from plain data.

What is drawn is made of items, each of a known size, that are put beside and into each other (``pyshmem.layout``).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from xml.etree.ElementTree import Element

from pyshmem import layout, sizes
from pyshmem.layout import Item, box, line, text

WIDTH = 984  # of a page; what README pages show without shrinking it much
NORMAL, COMPACT = 222, 144  # widths of a memory
COMPACT_FROM = 17  # memories
TALLEST, SMALLEST = 110.0, 40.0  # of a memory's contents
TANK = 58.0  # width of the contents where labels stand beside them
LABELS = 6  # of one memory; the rest are counted

MEMORY_COLOURS = {"DRAM": "#cfe0f1", "MCDRAM": "#fbdcb4", "HBM": "#fbdcb4", "CXL": "#cdebd9", "NVM": "#e2d6f0",
                  "GPU": "#f3ecb0", "UNKNOWN": "#e4e4e4"}
BAND_COLOURS = ("#0b6fb3", "#d1570a", "#0a8f68", "#b1508d", "#8a6d00", "#4b4fae", "#8c2d2d", "#3b7d86")
IN_USE, EDGE, QUIET, BAD, GOOD = "#a9b1ba", "#5c6670", "#4d565f", "#b3261e", "#1b6e3c"


@dataclass(frozen=True)
class Band:
    """Bytes of a partition in one memory; ``how`` says how they come about, in a few words."""

    name: str
    size: int
    how: str = ""


@dataclass
class _Locality:
    """Memories that are local to the same CPUs, and localities within these."""

    cpus: frozenset[int]
    nodes: list[Mapping[str, Any]]
    inner: list[_Locality] = field(default_factory=list)


@dataclass(frozen=True)
class Machine:
    """A machine to be drawn: NUMA nodes as ``topology.recognise()`` tells of them, and what lies in each.

    ``counted``: what lies there is no longer free.  ``pes``: the CPUs of PEs, and their numbers.
    """

    title: str
    nodes: Sequence[Mapping[str, Any]]
    bands: Mapping[int, Sequence[Band]] = field(default_factory=dict)
    counted: bool = False
    pes: Sequence[tuple[frozenset[int], Sequence[int]]] = ()

    def bands_in(self, node: Mapping[str, Any]) -> Sequence[Band]:
        """What lies in one memory."""
        return [band for band in self.bands.get(node["node"], ()) if band.size]

    def in_use(self, node: Mapping[str, Any]) -> int:
        """Bytes that are neither free nor the partitions'."""
        if node["free"] is None:
            return 0
        used = max(0, int(node["size"] or 0) - int(node["free"]))
        return max(0, used - sum(band.size for band in self.bands_in(node))) if self.counted else used

    def over(self, node: Mapping[str, Any]) -> int:
        """Bytes that shall lie in a memory and do not fit."""
        return max(0, self.whole(node) - int(node["size"] or 0))

    def pes_at(self, one: _Locality) -> list[int]:
        """The PEs whose CPUs are these, and not only those of a locality within."""
        return sorted(pe for cpus, pes in self.pes for pe in pes
                      if cpus and cpus <= one.cpus and not any(cpus <= each.cpus for each in one.inner))

    def whole(self, node: Mapping[str, Any]) -> int:
        """Bytes of a memory, or what shall lie in it if that is more."""
        return max(int(node["size"] or 0), self.in_use(node) + sum(band.size for band in self.bands_in(node)))


@dataclass(frozen=True)
class Style:
    """How large memories are drawn, and which colour a partition has: the same in all machines of a picture."""

    width: int
    largest: int
    colours: Mapping[str, str]

    @property
    def compact(self) -> bool:
        """Whether there is room for the essential only."""
        return self.width == COMPACT


def draw(title: str, machines: Sequence[Machine], partitions: Mapping[str, str] | None = None,
         verdict: tuple[bool, str] | None = None, notes: Sequence[str] = ()) -> str:
    """Draw a picture.

    Parameters
    ----------
    title : str
    machines : sequence of Machine
    partitions : mapping, optional
        The name of every partition, and a few words on it for the legend.
    verdict : tuple, optional
        Whether all is well, and the sentence that says so.
    notes : sequence of str, optional
        Lines below the picture.

    Returns
    -------
    str
        An SVG document.
    """
    partitions = partitions or {}
    nodes = [node for machine in machines for node in machine.nodes]
    style = Style(
        COMPACT if max((len(machine.nodes) for machine in machines), default=0) >= COMPACT_FROM else NORMAL,
        max((machine.whole(node) for machine in machines for node in machine.nodes), default=0) or 1,
        {name: BAND_COLOURS[i % len(BAND_COLOURS)] for i, name in enumerate(partitions)},
    )
    body = layout.stack([_machine(machine, style) for machine in machines], 14)
    inside = max(body.width, 520.0)
    parts = [layout.lines([title], inside, 17, bold=True)]
    if verdict:
        parts.append(layout.lines([verdict[1]], inside, 13, bold=True, fill=GOOD if verdict[0] else BAD))
    parts += [body, _legend(nodes, partitions, style, inside)]
    if notes:
        parts.append(layout.lines(notes, inside, 11.5, fill=QUIET))
    return layout.document(layout.stack(parts, 10), title)


# ---- machines --------------------------------------------------------------------------------------------------------


def _localities(nodes: Sequence[Mapping[str, Any]]) -> list[_Locality]:
    found: dict[frozenset[int], _Locality] = {}
    for node in sorted(nodes, key=lambda one: int(one["node"])):
        cpus = frozenset(node["cpus"])
        found.setdefault(cpus, _Locality(cpus, [])).nodes.append(node)
    outermost: list[_Locality] = []
    for one in sorted(found.values(), key=lambda each: (not each.cpus, min(each.cpus, default=0))):
        around = [other for other in found.values() if one.cpus and one.cpus < other.cpus]
        (min(around, key=lambda other: len(other.cpus)).inner if around else outermost).append(one)
    return outermost


def _machine(machine: Machine, style: Style) -> Item:
    inside = [_locality(one, machine, style, WIDTH - 24) for one in _localities(machine.nodes)]
    body = layout.flow(inside, WIDTH - 24, 10)
    return layout.frame(machine.title, body, fill="#f4f6f8", size=13)


def _locality(one: _Locality, machine: Machine, style: Style, room: float) -> Item:
    memories = [_memory(node, machine, style) for node in one.nodes]
    parts = [layout.flow(memories, room - 20, 8)]
    if one.inner:
        parts.append(layout.flow([_locality(each, machine, style, room - 20) for each in one.inner], room - 20, 8))
    heading = _counted("CPU", one.cpus) if one.cpus else "local to no CPUs"
    if pes := machine.pes_at(one):
        heading = f"{_counted('PE', pes)}{', ' if style.compact else ' on '}{heading}"
    body = layout.stack(parts, 8)
    if style.compact:  # many small ones stand in columns
        return layout.frame(heading, body, fill="#ffffff", size=9.5, widest=0)
    return layout.frame(heading, body, fill="#ffffff", size=12)


def _counted(what: str, numbers: Collection[int]) -> str:
    return f"{what}{'s' if len(numbers) > 1 else ''} {layout.number_list(numbers)}"


# ---- one memory ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Layer:
    """What lies in a memory, from the bottom up."""

    size: int
    fill: str
    label: str
    detail: str = ""
    bold: bool = False


def _layers(node: Mapping[str, Any], machine: Machine, style: Style) -> list[_Layer]:
    colour = MEMORY_COLOURS[node["memory"]]
    used = machine.in_use(node)
    layers = [_Layer(used, IN_USE, "in use", sizes.text(used))] if used else []
    layers += [_Layer(band.size, style.colours.get(band.name, EDGE), band.name, _amount(band), True)
               for band in machine.bands_in(node)]
    free = int(node["size"] or 0) - sum(layer.size for layer in layers)
    if free > 0 and (layers or node["free"] is not None):
        layers.append(_Layer(free, colour, "free", sizes.text(free)))
    return layers


def _amount(band: Band) -> str:
    return f"{sizes.text(band.size)}{': ' + band.how if band.how else ''}"


def _memory(node: Mapping[str, Any], machine: Machine, style: Style) -> Item:
    colour = MEMORY_COLOURS[node["memory"]]
    size = int(node["size"] or 0)
    layers = _layers(node, machine, style)
    over = machine.over(node)
    heading = _heading(node, over, style)
    tank = _tank(layers, size, colour, style)
    item = layout.stack([heading, tank], 7)

    def paint(parent: Element, x: float, y: float) -> None:
        one = box(parent, x, y, style.width, item.height + 18, fill="#ffffff", edge=BAD if over else EDGE,
                  thick=2.4 if over else 1.0, round=5)
        layout.describe(one, _tip(node, machine.bands_in(node)))
        box(parent, x + 1.5, y + 1.5, style.width - 3, 6, fill=colour, edge="none", round=3)
        item.paint(parent, x + 9, y + 11)

    return Item(style.width, item.height + 18, paint)


def _tip(node: Mapping[str, Any], bands: Sequence[Band]) -> str:
    placed = "; ".join(f"{band.name} {_amount(band)}" for band in bands)
    return f"node {node['node']}, {node['memory']}, {sizes.text(node['size'] or 0)}{', ' if placed else ''}{placed}"


def _heading(node: Mapping[str, Any], over: int, style: Style) -> Item:
    room = style.width - 18.0
    amount = sizes.text(node["size"] or 0)
    name = f"node {node['node']}  {node['memory']}"
    if style.compact:
        rows = [(" · ".join([amount, *_kind(node)]), QUIET)]
    else:
        rows = [(" · ".join([*_kind(node), *_figures(node)]), QUIET), (_evidence(node), QUIET)]
    rows += [(remark, QUIET) for remark in _remarks(node)]
    if over:
        rows.append((f"{sizes.text(over)} too much", BAD))
    rows = [row for row in rows if row[0]]

    def paint(parent: Element, x: float, y: float) -> None:
        large, beside = (11.0, 0.0) if style.compact else (12.5, layout.width_of(amount, 12, True) + 10)
        text(parent, x, y + 10, layout.fit(name, room - beside, large, True), large, bold=True)
        if not style.compact:
            text(parent, x + room, y + 10, amount, 12, bold=True, anchor="end")
        for i, (words, ink) in enumerate(rows, 1):
            text(parent, x, y + 10 + 15 * i, layout.fit(words, room, 11), 11, bold=ink == BAD, fill=ink)

    return Item(room, 15 * len(rows) + 13, paint)


def _kind(node: Mapping[str, Any]) -> list[str]:
    return ["FASTMEM"] if node["fast"] else ["CAPACITY"] if node["capacity"] else []


def _figures(node: Mapping[str, Any]) -> list[str]:
    figures = []
    if node["bandwidth"] is not None:
        figures.append(f"{node['bandwidth'] / 1000:.3g} GB/s")
    if node["latency"] is not None:
        figures.append(f"{node['latency']} ns")
    return figures


def _evidence(node: Mapping[str, Any]) -> str:
    return "evidence: none" if node["evidence"] == "none" else f"evidence: {node['evidence']}"


def _remarks(node: Mapping[str, Any]) -> list[str]:
    remarks = []
    if node["memory_side_cache"]:
        remarks.append("behind a memory-side cache")
    if not node["allowed"]:
        remarks.append("not allowed (cpuset)")
    return remarks


# ---- what lies in a memory -------------------------------------------------------------------------------------------


def _label_height(layer: _Layer, style: Style) -> float:
    return 15.0 if style.compact or not layer.detail else 27.0


def _shown(layers: Sequence[_Layer]) -> list[_Layer]:
    """The layers with a label: all, or the largest of many."""
    if len(layers) <= LABELS:
        return list(layers)
    largest = sorted(layers, key=lambda layer: -layer.size)[: LABELS - 1]
    return [layer for layer in layers if layer in largest]


def _tank(layers: Sequence[_Layer], size: int, colour: str, style: Style) -> Item:
    room = style.width - 18.0
    whole = max(size, sum(layer.size for layer in layers)) or 1
    shown = _shown(layers)
    hidden = len(layers) - len(shown)
    needed = sum(_label_height(layer, style) for layer in shown) + (15 if hidden else 0)
    height = max(SMALLEST, (TALLEST if not style.compact else 64) * math.sqrt(whole / style.largest), needed)
    wide = room if not layers else 30.0 if style.compact else TANK

    def paint(parent: Element, x: float, y: float) -> None:
        box(parent, x, y, wide, height, fill=colour, edge="none")
        bottom, centres = y + height, []
        for layer in layers:
            thick = height * layer.size / whole
            seen = max(thick, 1.5)
            box(parent, x, bottom - seen, wide, seen, fill=layer.fill, edge="none")
            centres.append(bottom - thick / 2)
            bottom -= thick
        box(parent, x, y, wide, height, fill="none", edge=EDGE)
        if whole > size:
            level = y + height * (1 - size / whole)
            line(parent, x - 5, level, x + wide + 5, level, BAD, 2, "5 3")
        wanted = [(centre, layer) for centre, layer in zip(centres, layers, strict=True) if layer in shown]
        _labels(parent, x, y, wide, height, wanted, room, style, hidden)

    return Item(room, height, paint)


def _labels(parent: Element, x: float, y: float, wide: float, height: float,
            wanted: Sequence[tuple[float, _Layer]], room: float, style: Style, hidden: int) -> None:
    """Labels beside their layers, moved apart where they would overlap."""
    places = layout.spread([centre for centre, _ in wanted], [_label_height(layer, style) for _, layer in wanted],
                           y + (15 if hidden else 0), y + height)
    left, beside = x + wide + 14, room - wide - 14
    for (centre, layer), place in zip(wanted, places, strict=True):
        line(parent, x + wide, centre, left - 3, place, EDGE, 0.8)
        ink = layer.fill if layer.bold else QUIET
        if style.compact:
            both = f"{layer.label} {layer.detail.split(':')[0]}"
            text(parent, left, place + 4, layout.fit(both, beside, 10.5), 10.5, fill=ink)
            continue
        name = layout.fit(layer.label, beside, 11.5, layer.bold)
        text(parent, left, place - 2, name, 11.5, bold=layer.bold, fill=ink)
        text(parent, left, place + 10.5, layout.fit(layer.detail, beside, 10.5), 10.5, fill=QUIET)
    if hidden:
        text(parent, left, y + 10, f"and {hidden} more", 10.5, fill=QUIET)


# ---- legend ----------------------------------------------------------------------------------------------------------


def _legend(nodes: Sequence[Mapping[str, Any]], partitions: Mapping[str, str], style: Style, room: float) -> Item:
    there = {node["memory"] for node in nodes}
    kinds = [_swatch(colour, name, room) for name, colour in MEMORY_COLOURS.items() if name in there]
    if any(node["free"] is not None and node["free"] < (node["size"] or 0) for node in nodes):
        kinds.append(_swatch(IN_USE, "in use", room))
    kinds.append(layout.lines(["(heights are to scale within each memory)"], room, 11, fill=QUIET))
    rows = [layout.flow(kinds, room, 16)]
    if partitions:
        rows.append(layout.flow([_swatch(style.colours[name], f"{name}: {words}" if words else name, room)
                                 for name, words in partitions.items()], room, 16, 4))
    return layout.stack(rows, 6)


def _swatch(colour: str, words: str, room: float) -> Item:
    words = layout.fit(words, room - 20, 11.5)

    def paint(parent: Element, x: float, y: float) -> None:
        box(parent, x, y + 1, 13, 13, fill=colour, edge=EDGE)
        text(parent, x + 19, y + 12, words, 11.5)

    return Item(19 + layout.width_of(words, 11.5), 16, paint)
