"""Items of known size that are put beside and into each other, and become an SVG document."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from xml.etree.ElementTree import Element

FONTS = "DejaVu Sans, Verdana, Helvetica, Arial, sans-serif"
INK, EDGE = "#1d242b", "#5c6670"
PAGE = 14.0  # margin of a document
WIDEST_HEADING = 340.0  # that makes a frame wider


@dataclass(frozen=True)
class Item:
    """Something to be painted at a place that is found later."""

    width: float
    height: float
    paint: Callable[[Element, float, float], None]


def document(item: Item, title: str) -> str:
    """The picture of an item, on white, so that it can be read on a dark page."""
    width, height = item.width + 2 * PAGE, item.height + 2 * PAGE
    root = Element("svg", {"xmlns": "http://www.w3.org/2000/svg", "width": _number(width), "height": _number(height),
                           "viewBox": f"0 0 {_number(width)} {_number(height)}", "font-family": FONTS, "role": "img"})
    describe(root, title)
    box(root, 0, 0, width, height, fill="#ffffff", edge="none")
    item.paint(root, PAGE, PAGE)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode") + "\n"


# ---- putting items together ------------------------------------------------------------------------------------------


def stack(items: Sequence[Item], gap: float) -> Item:
    """One below the other."""
    items = [item for item in items if item.height > 0]

    def paint(parent: Element, x: float, y: float) -> None:
        for item in items:
            item.paint(parent, x, y)
            y += item.height + gap

    return Item(max((item.width for item in items), default=0),
                sum(item.height for item in items) + gap * max(0, len(items) - 1), paint)


def flow(items: Sequence[Item], room: float, gap: float, between: float | None = None) -> Item:
    """Side by side, in as many rows as it takes, with a gap ``between`` these."""
    rows: list[list[Item]] = []
    for item in items:
        if rows and sum(one.width + gap for one in rows[-1]) + item.width <= room:
            rows[-1].append(item)
        else:
            rows.append([item])
    return stack([_row(row, gap) for row in rows], gap if between is None else between)


def _row(items: Sequence[Item], gap: float) -> Item:
    def paint(parent: Element, x: float, y: float) -> None:
        for item in items:
            item.paint(parent, x, y)
            x += item.width + gap

    return Item(sum(item.width for item in items) + gap * max(0, len(items) - 1),
                max((item.height for item in items), default=0), paint)


def frame(heading: str, item: Item, fill: str, size: float, widest: float = WIDEST_HEADING) -> Item:
    """An item in a box with a heading, which makes it as wide as ``widest`` and is cut beyond."""
    pad = 10.0
    head = size + 9 if heading else 0.0
    width = max(item.width, min(width_of(heading, size, True), widest)) + 2 * pad
    shown = fit(heading, width - 2 * pad, size, True)

    def paint(parent: Element, x: float, y: float) -> None:
        around = box(parent, x, y, width, item.height + head + 2 * pad, fill=fill, edge=EDGE, round=7)
        if heading:
            describe(around, heading)
            text(parent, x + pad, y + pad + size - 1, shown, size, bold=True)
        item.paint(parent, x + pad, y + pad + head)

    return Item(width, item.height + head + 2 * pad, paint)


def lines(sentences: Iterable[str], room: float, size: float, bold: bool = False, fill: str = INK) -> Item:
    """Sentences, broken where they are too long."""
    broken = [part for sentence in sentences for row in sentence.splitlines() for part in _break(row, room, size, bold)]

    def paint(parent: Element, x: float, y: float) -> None:
        for i, part in enumerate(broken):
            text(parent, x, y + size + i * size * 1.35, part, size, bold=bold, fill=fill)

    return Item(max((width_of(part, size, bold) for part in broken), default=0), len(broken) * size * 1.35, paint)


def _break(sentence: str, room: float, size: float, bold: bool) -> list[str]:
    rows: list[str] = []
    for word in sentence.split():
        longer = f"{rows[-1]} {word}" if rows else word
        if rows and width_of(longer, size, bold) <= room:
            rows[-1] = longer
        else:
            rows.append(fit(word, room, size, bold))
    return rows


def spread(centres: Sequence[float], heights: Sequence[float], top: float, bottom: float) -> list[float]:
    """Places from the bottom up, near ``centres``, that do not overlap and stay between ``top`` and ``bottom``."""
    places: list[float] = []
    edge = bottom
    for centre, height in zip(centres, heights, strict=True):
        places.append(min(centre, edge - height / 2))
        edge = places[-1] - height / 2
    edge = top
    for i in reversed(range(len(places))):
        places[i] = max(places[i], edge + heights[i] / 2)
        edge = places[i] + heights[i] / 2
    return places


# ---- text ------------------------------------------------------------------------------------------------------------


def width_of(words: str, size: float, bold: bool = False) -> float:
    """About how wide a text is, in the widest of the usual fonts."""
    return sum(_advance(letter) for letter in words) * size * (1.11 if bold else 1.0)


def _advance(letter: str) -> float:
    if letter in "iljI.,:;|'!()[] ·-/ft":
        return 0.37
    if letter in "mwMW@%":
        return 0.98
    return 0.71 if letter.isupper() else 0.635


def fit(words: str, room: float, size: float, bold: bool = False) -> str:
    """A text as far as there is room, with an ellipsis where it is cut."""
    if width_of(words, size, bold) <= room:
        return words
    while words and width_of(words + "…", size, bold) > room:
        words = words[:-1]
    return words.rstrip() + "…"


def number_list(numbers: Iterable[int]) -> str:
    """``0-3,8``."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


# ---- elements --------------------------------------------------------------------------------------------------------


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _add(parent: Element, tag: str, numbers: dict[str, float], **words: str) -> Element:
    attributes = {name.replace("_", "-"): _number(value) for name, value in numbers.items()}
    attributes.update({name.replace("_", "-"): word for name, word in words.items()})
    return ET.SubElement(parent, tag, attributes)


def box(parent: Element, x: float, y: float, width: float, height: float, fill: str, edge: str = EDGE,
        thick: float = 1.0, round: float = 0.0) -> Element:
    """A rectangle."""
    numbers = {"x": x, "y": y, "width": width, "height": height}
    if round:
        numbers["rx"] = round
    if edge == "none":
        return _add(parent, "rect", numbers, fill=fill)
    return _add(parent, "rect", numbers | {"stroke-width": thick}, fill=fill, stroke=edge)


def line(parent: Element, x1: float, y1: float, x2: float, y2: float, stroke: str, thick: float,
         dashes: str = "") -> None:
    """A straight line."""
    words = {"stroke_dasharray": dashes} if dashes else {}
    _add(parent, "line", {"x1": x1, "y1": y1, "x2": x2, "y2": y2, "stroke-width": thick}, stroke=stroke, **words)


def text(parent: Element, x: float, y: float, words: str, size: float, bold: bool = False, fill: str = INK,
         anchor: str = "") -> None:
    """A line of text; ``y`` is its base line."""
    more = {"font_weight": "bold"} if bold else {}
    if anchor:
        more["text_anchor"] = anchor
    _add(parent, "text", {"x": x, "y": y, "font-size": size}, fill=fill, **more).text = words


def describe(element: Element, words: str) -> None:
    """What is shown when the pointer rests on an element."""
    ET.SubElement(element, "title").text = words
