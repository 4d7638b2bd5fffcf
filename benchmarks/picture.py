"""The picture: time and bandwidth of put and get against the size of the message."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib
from measuring import Times
from operations import SWEPT, Case, size_text

matplotlib.use("Agg")

from matplotlib import pyplot
from matplotlib.ticker import FuncFormatter, NullFormatter

# Colours that the colour-blind tell apart (Okabe and Ito), and a shape for each; C is a broad band behind the others.
STYLES: dict[str, dict[str, Any]] = {
    "C": {"color": "#B8B8B8", "linewidth": 7, "solid_capstyle": "round"},
    "pyshmem": {"color": "#0072B2", "marker": "o", "markersize": 4.5, "linewidth": 1.6},
    "shmem4py": {"color": "#D55E00", "marker": "s", "markersize": 4.5, "linewidth": 1.6},
    "mpi4py": {"color": "#009E73", "marker": "^", "markersize": 5.5, "linewidth": 1.6},
}
LABELS = {"mpi4py": "mpi4py (Put or Get, and Flush)"}


def time_label(nanoseconds: float, _: object = None) -> str:
    """A power of ten as people say it."""
    for limit, unit in ((1e3, "ns"), (1e6, "µs"), (1e9, "ms")):
        if nanoseconds < limit or unit == "ms":
            return f"{nanoseconds * 1e3 / limit:g} {unit}"
    raise AssertionError


def bandwidth_label(bytes_per_second: float, _: object = None) -> str:
    """The same for bytes per second."""
    for limit, unit in ((1e6, "kB/s"), (1e9, "MB/s"), (1e12, "GB/s")):
        if bytes_per_second < limit or unit == "GB/s":
            return f"{bytes_per_second * 1e3 / limit:g} {unit}"
    raise AssertionError


def points(results: Sequence[tuple[Case, Times]], operation: str, name: str) -> tuple[list[int], list[float]]:
    """Sizes and times of one line."""
    there = sorted((case.bytes, middle) for case, times in results
                   if case.operation.name == operation and (middle := times.median(name)) is not None)
    return [size for size, _ in there], [max(time, 1.0) for _, time in there]


def prepare(axes: Any, title: str, label: Any) -> None:
    """Scales, labels and lines of one panel."""
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_title(title, loc="left", fontsize=11)
    axes.set_xticks([8 * 8**step for step in range(8)])
    axes.xaxis.set_major_formatter(FuncFormatter(lambda size, _: size_text(int(size))))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.yaxis.set_major_formatter(FuncFormatter(label))
    axes.grid(True, which="major", color="#DDDDDD", linewidth=0.7)
    axes.set_axisbelow(True)
    axes.tick_params(labelsize=9)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def draw(results: Sequence[tuple[Case, Times]], names: Sequence[str], title: str, subtitle: str,
         stem: Path) -> list[Path]:
    """Write the picture as SVG and PNG."""
    figure, panels = pyplot.subplots(len(SWEPT), 2, figsize=(11, 8), sharex=True, sharey="col", layout="constrained")
    for (left, right), operation in zip(panels, SWEPT, strict=True):
        prepare(left, f"{operation.name}: time of one call", time_label)
        prepare(right, f"{operation.name}: bandwidth", bandwidth_label)
        for name in names:
            sizes, times = points(results, operation.name, name)
            style = {**STYLES[name], "label": LABELS.get(name, name)}
            left.plot(sizes, times, **style)
            right.plot(sizes, [size * 1e9 / time for size, time in zip(sizes, times, strict=True)], **style)
    for axes in panels[-1]:
        axes.set_xlabel("message size", fontsize=10)
    handles, labels = panels[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(names), frameon=False, fontsize=10)
    figure.suptitle(f"{title}\n", fontsize=13, x=0.01, ha="left")
    figure.text(0.01, 0.945, subtitle, fontsize=9, color="#555555")
    written = [stem.with_name(stem.name + ending) for ending in (".svg", ".png")]
    for path in written:
        figure.savefig(path, dpi=140)
    pyplot.close(figure)
    return written
