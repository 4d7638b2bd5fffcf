"""What happened to the partitions, in a table that fits into 80 columns (sizes as in a definition: 1.5G)."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from typing import Any

import numpy as np

from pyshmem import sizes
from pyshmem._core import binding
from pyshmem.memory import Partition, describe_placement, partitions

HEADINGS = ("ID", "name", "size", "used", "peak", "largest free", "kind", "policy", "page", "nodes")

_spread: dict[int, dict[int | None, tuple[int, int]]] = {}  # partition -> node -> least and most of any PE


def table(which: Iterable[Partition]) -> str:
    """Partitions as a table, with the pages of this PE and what the last common count said of all PEs. Local."""
    records = {record["id"]: record for record in binding.partition_records()}
    chosen = [one for one in which if one.id in records]
    if not chosen:
        return "no partitions"
    from tabulate import tabulate  # few programs print a table, and it takes longer to load than the rest

    rows = [_row(records[one.id]) for one in chosen]
    # The headings as a row of their own: tabulate would pad its own headings beyond 80 columns.
    lines = [tabulate([HEADINGS, *rows], tablefmt="plain", disable_numparse=True)]
    lines += [line for one in chosen for line in _notes(one, records[one.id])]
    return "\n".join(lines)


def _row(record: dict[str, Any]) -> tuple[str, ...]:
    amounts = (sizes.short(record[key]) for key in ("size", "used", "peak", "largest_free"))
    policy = record["policy"] or "-"
    return (str(record["id"]), record["name"], *amounts, record["kind"], policy, _page(record),
            record["nodes"] or "-")


def _allocations(number: int) -> str:
    return "1 allocation" if number == 1 else f"{number} allocations"


def _page(record: dict[str, Any]) -> str:
    return "THP" if record["transparent"] else sizes.short(record["page_size"])


def _notes(one: Partition, record: dict[str, Any]) -> list[str]:
    notes = [f"{one.name}: pages: {_describe_pages(one)} (PE {binding.my_pe()})"]
    if one.id in _spread:
        notes.append(f"{' ' * len(one.name)}  all PEs: {_describe_spread(_spread[one.id])}")
    if record["fell_back"]:
        notes.append(f"{' ' * len(one.name)}  no {record['kind']} on this node: PREFERRED fell back to DRAM")
    if record["weighted"]:
        notes.append(f"{' ' * len(one.name)}  interleaved by the kernel's weights of the nodes")
    if record["moved_to"]:
        notes.append(f"{' ' * len(one.name)}  moved to {record['moved_to']} by migrate() (PE {binding.my_pe()})")
    if record["diverted"]:
        notes.append(f"{' ' * len(one.name)}  full: {_allocations(record['diverted'])} went to {record['fallback']}")
    if record["origin"] != "program":
        notes.append(f"{' ' * len(one.name)}  defined by the {record['origin']}")
    return notes


def _describe_pages(one: Partition) -> str:
    try:
        return describe_placement(one.placement())
    except OSError as error:  # a container may forbid the question
        return f"not known, {error}"


def _pages(one: Partition) -> dict[int | None, int]:
    try:
        return one.placement()
    except OSError:
        return {}


def _describe_spread(spread: dict[int | None, tuple[int, int]]) -> str:
    return ", ".join(f"{'not present' if node is None else f'node {node}'} {_range(*pair)}"
                     for node, pair in spread.items())


def _range(least: int, most: int) -> str:
    return sizes.text(least) if least == most else f"{sizes.text(least)} to {sizes.text(most)}"


def count_all() -> None:
    """Count the pages of all partitions on all PEs, for the tables to come. Collective."""
    everything = partitions()
    if not everything:
        return
    found = [_pages(one) for one in everything]
    nodes: list[int | None] = [*_nodes_of_job(found), None]
    local = np.array([[-place.get(node, 0), place.get(node, 0)] for place in found for node in nodes], dtype="i8")
    most = binding.greatest_of_all(local)
    _spread.clear()
    for row, one in zip(most.reshape(len(found), len(nodes), 2), everything, strict=True):
        _spread[one.id] = {
            node: (-int(least), int(greatest)) for node, (least, greatest) in zip(nodes, row, strict=True) if greatest
        }


def _nodes_of_job(found: list[dict[int | None, int]]) -> list[int]:
    """The nodes on which any PE has pages."""
    present = np.zeros(1024, dtype="i8")
    for place in found:
        present[[node for node in place if node is not None]] = 1
    return [int(node) for node in np.flatnonzero(binding.greatest_of_all(present))]


def report() -> str:
    """The partition table with pages counted afresh on all PEs. Collective.

    Returns
    -------
    str
        The table, on every PE.
    """
    count_all()
    platform = binding.platform()
    heading = f"{platform}\n" if platform else ""
    return heading + table(partitions())


def at_init() -> None:
    """Count pages once partitions exist; with ``PYSHMEM_REPORT=1`` PE 0 prints the table. Collective."""
    if not binding.partition_records():
        return
    if os.environ.get("PYSHMEM_REPORT", "0") in ("", "0"):
        count_all()
        return
    text = report()
    if binding.my_pe() == 0:
        sys.stderr.write(text + "\n")
        sys.stderr.flush()
