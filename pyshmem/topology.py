"""The node's memory as recognised, with the evidence, in a table that fits into 80 columns."""

from __future__ import annotations

import json
import os
from typing import Any

from pyshmem import colour, layout, picture, sizes
from pyshmem._core import binding

VERSION = 1
HEADINGS = ("node", "memory", "kinds", "size", "free", "GB/s", "ns", "CPUs", "evidence")
LONGEST_LIST = 14  # characters of a list of CPUs


def recognise(xml: str | os.PathLike[str] | None = None) -> dict[str, Any]:
    """What memory this machine has, or the one of a saved topology. Local, and needs no ``init``.

    Parameters
    ----------
    xml : path, optional
        A file in hwloc's XML format.

    Returns
    -------
    dict
        ``version``, 1; ``platform``, a line or ``""``; ``nodes``, for each NUMA node: ``node``, ``memory``,
        ``evidence``, ``fast`` and ``capacity`` (whether it is of these kinds), ``allowed``, ``memory_side_cache``,
        ``size`` and ``free`` (bytes), ``bandwidth`` (MB/s), ``latency`` (ns), ``cpus`` (to which it is local).  None:
        not known.

    Raises
    ------
    OSError
        The file cannot be read, or is none.
    """
    platform, nodes = binding.recognise(None if xml is None else os.fspath(xml))
    return {"version": VERSION, "platform": platform, "nodes": nodes}


def as_json(found: dict[str, Any]) -> str:
    """What ``recognise()`` found, for programs."""
    return json.dumps(found, indent=2)


def as_text(found: dict[str, Any], paint: colour.Painter = colour.plain) -> str:
    """What ``recognise()`` found, for people."""
    from tabulate import tabulate

    rows = [_row(node) for node in found["nodes"]]
    head, *rest = tabulate([HEADINGS, *rows], tablefmt="plain", disable_numparse=True).splitlines()
    platform = [found["platform"]] if found["platform"] else []
    return "\n".join([*platform, paint(head, "heading"), *rest, *(paint(note, "notable") for note in _notes(found))])


def as_picture(found: dict[str, Any], title: str) -> str:
    """What ``recognise()`` found, as SVG."""
    return picture.draw(title, [picture.Machine(found["platform"], found["nodes"])])


def _row(node: dict[str, Any]) -> tuple[str, ...]:
    amounts = ("-" if node[key] is None else sizes.short(node[key]) for key in ("size", "free"))
    bandwidth = "-" if node["bandwidth"] is None else f"{node['bandwidth'] / 1000:.3g}"
    latency = "-" if node["latency"] is None else str(node["latency"])
    return (str(node["node"]), node["memory"], _kinds(node), *amounts, bandwidth, latency, _cpus(node),
            node["evidence"])


def _cpus(node: dict[str, Any]) -> str:
    return shortened(layout.number_list(node["cpus"]) or "-", LONGEST_LIST)


def _kinds(node: dict[str, Any]) -> str:
    return "FASTMEM" if node["fast"] else "CAPACITY" if node["capacity"] else "-"


def shortened(words: str, longest: int) -> str:
    """A text, cut where it is long."""
    return words if len(words) <= longest else words[: longest - 3] + "..."


def _notes(found: dict[str, Any]) -> list[str]:
    notes = []
    for node in found["nodes"]:
        if node["memory_side_cache"]:
            notes.append(f"node {node['node']} is behind a memory-side cache")
        if not node["allowed"]:
            notes.append(f"node {node['node']} is not allowed to this process (cpuset)")
        if node["memory"] == "UNKNOWN" and node["evidence"] == "none":
            notes.append(f"nothing tells what node {node['node']} is: kind=NODES({node['node']}) uses it all the same")
    return notes
