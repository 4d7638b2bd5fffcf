"""The node's memory as recognised, with the evidence, in a table that fits into 80 columns."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any

from pyshmem import sizes
from pyshmem._core import binding

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
        ``platform``, a line or ``""``; ``nodes``, for each NUMA node: ``node``, ``memory``, ``evidence``, ``fast``
        and ``capacity`` (whether it is of these kinds), ``allowed``, ``memory_side_cache``, ``size`` and ``free``
        (bytes), ``bandwidth`` (MB/s), ``latency`` (ns), ``cpus`` (to which it is local).  None: not known.

    Raises
    ------
    OSError
        The file cannot be read, or is none.
    """
    platform, nodes = binding.recognise(None if xml is None else os.fspath(xml))
    return {"platform": platform, "nodes": nodes}


def as_json(found: dict[str, Any]) -> str:
    """What ``recognise()`` found, for programs."""
    return json.dumps(found, indent=2)


def as_text(found: dict[str, Any]) -> str:
    """What ``recognise()`` found, for people."""
    from tabulate import tabulate

    rows = [_row(node) for node in found["nodes"]]
    heading = [found["platform"]] if found["platform"] else []
    return "\n".join([*heading, tabulate([HEADINGS, *rows], tablefmt="plain", disable_numparse=True), *_notes(found)])


def _row(node: dict[str, Any]) -> tuple[str, ...]:
    amounts = ("-" if node[key] is None else sizes.short(node[key]) for key in ("size", "free"))
    bandwidth = "-" if node["bandwidth"] is None else f"{node['bandwidth'] / 1000:.3g}"
    latency = "-" if node["latency"] is None else str(node["latency"])
    return (str(node["node"]), node["memory"], _kinds(node), *amounts, bandwidth, latency, _list(node["cpus"]),
            node["evidence"])


def _kinds(node: dict[str, Any]) -> str:
    return "FASTMEM" if node["fast"] else "CAPACITY" if node["capacity"] else "-"


def _list(numbers: Sequence[int]) -> str:
    """``0-3,8``, cut where it is long."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    text = ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs) or "-"
    return text if len(text) <= LONGEST_LIST else text[: LONGEST_LIST - 3] + "..."


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
