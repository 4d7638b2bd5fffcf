"""Pictures: nothing overflows, and bands are as high as they should be."""

from __future__ import annotations

import stat
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from pyshmem import command, files, layout, picture

SAVED = Path(__file__).parent / "topologies"
GIB = 1 << 30
NUMBERS = {1: [0], 2: [0, 1], 8: [0, 8, *range(250, 256)], 66: range(66)}


def node(number: int, cpus, size=16 * GIB, memory="DRAM", **more):
    return {"node": number, "memory": memory, "evidence": "named by hwloc", "fast": False, "capacity": False,
            "allowed": True, "memory_side_cache": False, "size": size, "free": None, "bandwidth": 100_000,
            "latency": 80, "cpus": list(cpus)} | more


def elements(svg: str, tag: str):
    return ET.fromstring(svg).iter(f"{{http://www.w3.org/2000/svg}}{tag}")


def check_inside(svg: str) -> None:
    """Every box and text is on the page, as wide as the widest usual font makes it."""
    root = ET.fromstring(svg)
    width, height = float(root.get("width")), float(root.get("height"))
    assert width <= 1024  # what a README page shows about as large as it is
    for one in elements(svg, "rect"):
        x, y, wide, high = (float(one.get(name)) for name in ("x", "y", "width", "height"))
        assert x >= 0 and y >= -0.01 and x + wide <= width + 0.1 and y + high <= height + 0.1
    for one in elements(svg, "text"):
        wide = layout.width_of(one.text, float(one.get("font-size")), one.get("font-weight") == "bold")
        right = float(one.get("x")) + (0 if one.get("text-anchor") == "end" else wide)
        assert right <= width, one.text
        assert 0 < float(one.get("y")) < height


@pytest.mark.parametrize("count", NUMBERS)
def test_nothing_overflows(count):
    nodes = [node(number, range(4 * i, 4 * i + 4)) for i, number in enumerate(NUMBERS[count])]
    nodes.append(node(900, [], memory="UNKNOWN", evidence="none", allowed=False, memory_side_cache=True))
    names = ["fast", "a-name-of-" + 53 * "x", *"cdefgh"]
    bands = {one["node"]: [picture.Band(name, 100 << (20 + i % 3)) for i, name in enumerate(names)] for one in nodes}
    svg = picture.draw("A title that is longer than the page is wide, " * 5, [picture.Machine("x" * 300, nodes, bands)],
                       {name: "1G per PE" for name in names}, (False, "would fail: " + "because " * 80), ["a note"])
    check_inside(svg)
    texts = [one.text for one in elements(svg, "text")]
    for one in nodes:
        assert any(words.startswith(f"node {one['node']} ") for words in texts)


@pytest.mark.parametrize("name", sorted(path.name for path in SAVED.glob("*.xml")))
def test_saved_machines(name, tmp_path, capsys):
    path = tmp_path / "memory.svg"
    assert command.main(["topology", "--xml", str(SAVED / name), "--svg", str(path)]) == 0
    check_inside(path.read_text())


def heights(svg: str, fill: str) -> list[float]:
    return [float(one.get("height")) for one in elements(svg, "rect")
            if one.get("fill") == fill and one.get("stroke") is None and float(one.get("height")) > 14]


def test_bands_are_proportional():
    """A quarter in use, a quarter one partition, a half the other."""
    machine = picture.Machine("", [node(0, [0], free=12 * GIB)], {0: [picture.Band("a", 4 * GIB),
                                                                      picture.Band("b", 8 * GIB)]})
    svg = picture.draw("", [machine], {"a": "", "b": ""})
    [used], [a], [b] = (heights(svg, fill) for fill in (picture.IN_USE, *picture.BAND_COLOURS[:2]))
    assert used == pytest.approx(a, abs=0.1) and b == pytest.approx(2 * a, abs=0.2)
    assert not [one for one in elements(svg, "line") if one.get("stroke-dasharray")]


def test_what_is_counted_is_no_longer_free():
    """Of 16 GiB 4 are free and 8 are the partition's: 4 are in use otherwise."""
    machine = picture.Machine("", [node(0, [0], free=4 * GIB)], {0: [picture.Band("a", 8 * GIB)]}, counted=True)
    texts = [one.text for one in elements(picture.draw("", [machine], {"a": ""}), "text")]
    assert texts[texts.index("in use") + 1] == "4 GiB" and texts[texts.index("free") + 1] == "4 GiB"


def test_too_much_is_marked():
    machine = picture.Machine("", [node(0, [0])], {0: [picture.Band("a", 20 * GIB)]})
    svg = picture.draw("", [machine], {"a": ""})
    assert [one for one in elements(svg, "line") if one.get("stroke-dasharray")]
    assert "4 GiB too much" in [one.text for one in elements(svg, "text")]


@pytest.mark.parametrize("centres", [[50, 50, 50], [95, 94, 5], [5, 4, 3], [99]])
def test_labels_do_not_overlap(centres):
    heights_of = [20.0] * len(centres)
    places = layout.spread(sorted(centres, reverse=True), heights_of, 0, 100)
    edges = [100, *(place - 10 for place in places)]
    assert all(place + 10 <= edge for place, edge in zip(places, edges, strict=False)) and edges[-1] >= 0


def test_files_are_whole_or_not_there(tmp_path):
    path = tmp_path / "x.svg"
    files.write(path, "one")
    files.write(path, "two")
    assert path.read_text() == "two" and stat.S_IMODE(path.stat().st_mode) & 0o600 == 0o600
    with pytest.raises(UnicodeEncodeError):
        files.write(path, "\ud800")
    assert path.read_text() == "two" and [one.name for one in tmp_path.iterdir()] == ["x.svg"]
