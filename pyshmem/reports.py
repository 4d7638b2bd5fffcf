"""What happened to the partitions, in a table that fits into 80 columns (sizes as in a definition: 1.5G)."""

from __future__ import annotations

import json
import os
import sys
import textwrap
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, overload

import numpy as np

from pyshmem import colour, failure, files, gathered, sizes
from pyshmem._core import binding
from pyshmem.errors import PartitionError
from pyshmem.memory import Partition, describe_placement, partitions

VARIABLE = "PYSHMEM_REPORT"
FORMS = ("text", "dict", "json", "svg")
SUFFIXES = (".json", ".svg")
SHOWN = Path("1")  # not a file, but a table for people
PLACED = {"early": "placed early, as the engine mapped its heap", "late": "placed late, after the engine had started"}
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
    if record["placed"]:
        notes.append(f"{' ' * len(one.name)}  {PLACED[record['placed']]}")
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


def _describe_spread(spread: dict[int | None, tuple[int, int]]) -> str:
    return ", ".join(f"{'not present' if node is None else f'node {node}'} {_range(*pair)}"
                     for node, pair in spread.items())


def _range(least: int, most: int) -> str:
    return sizes.text(least) if least == most else f"{sizes.text(least)} to {sizes.text(most)}"


def count_all() -> list[dict[int | None, int]]:
    """Count the pages of all partitions on all PEs, for the tables to come; those of this PE. Collective."""
    everything = partitions()
    if not everything:
        return []
    found = [gathered.pages(one) for one in everything]
    nodes: list[int | None] = [*_nodes_of_job(found), None]
    local = np.array([[-place.get(node, 0), place.get(node, 0)] for place in found for node in nodes], dtype="i8")
    most = binding.greatest_of_all(local)
    _spread.clear()
    for row, one in zip(most.reshape(len(found), len(nodes), 2), everything, strict=True):
        _spread[one.id] = {
            node: (-int(least), int(greatest)) for node, (least, greatest) in zip(nodes, row, strict=True) if greatest
        }
    return found


def _nodes_of_job(found: list[dict[int | None, int]]) -> list[int]:
    """The nodes on which any PE has pages."""
    present = np.zeros(1024, dtype="i8")
    for place in found:
        present[[node for node in place if node is not None]] = 1
    return [int(node) for node in np.flatnonzero(binding.greatest_of_all(present))]


def _text(data: Mapping[str, Any]) -> str:
    platform = binding.platform()
    heading = [platform] if platform else []
    odd = [textwrap.fill(words, 80, subsequent_indent="  ", break_on_hyphens=False)
           for words in gathered.describe_outliers(data)]
    return "\n".join([*heading, table(partitions()), *odd])


@overload
def report(form: Literal["text", "json", "svg"] = "text") -> str: ...
@overload
def report(form: Literal["dict"]) -> dict[str, Any]: ...
def report(form: Literal["text", "dict", "json", "svg"] = "text") -> str | dict[str, Any]:
    """What became of the partitions, with pages counted afresh on all PEs. Collective.

    Parameters
    ----------
    form : {'text', 'dict', 'json', 'svg'}, optional
        The table; the data behind it, as a dictionary or as JSON (docs/reports.md says what it holds); or a picture.

    Returns
    -------
    str or dict
        The same on every PE, except that the table shows where this PE's own pages are.
    """
    if form not in FORMS:
        raise ValueError(f"form must be one of {', '.join(FORMS)}, not {form!r}")
    mine = gathered.collect(count_all())
    data: dict[str, Any] = json.loads(binding.tell_all(json.dumps(mine).encode()))
    return data if form == "dict" else _in_form(data, form)


def _in_form(data: Mapping[str, Any], form: str) -> str:
    if form == "svg":
        return gathered.as_picture(data)
    return json.dumps(data, indent=2) + "\n" if form == "json" else _text(data)


# ---- at init ---------------------------------------------------------------------------------------------------------


def destination() -> Path | None:
    """Where the report of ``PYSHMEM_REPORT`` goes; ``SHOWN``: to people; None: nowhere.

    What is wrong with it lets the start to come fail, on all PEs alike and before anything takes long.
    """
    value = os.environ.get(VARIABLE, "").strip()
    if value in ("", "0"):
        return None
    path = Path(value)
    if value == "1":
        return SHOWN
    if path.suffix.lower() not in SUFFIXES:
        binding.refuse(f"{VARIABLE}={value}: a report is a table (1), or a file called something.json or "
                       "something.svg".encode())
    elif failure.launched_as() == 0:
        try:
            files.check_writable(path)
        except OSError as error:
            binding.refuse(_unwritable(path, error).encode())
    return path


def _unwritable(path: Path, error: OSError) -> str:
    return (f"{VARIABLE}={path}: {error.strerror or error}; PE 0 writes the report there, so give it a directory that "
            "exists on its host, and in which it may write")


def at_init(where: Path | None) -> None:
    """Count pages once partitions exist; PE 0 prints or writes what was asked for. Collective."""
    counted = count_all()
    if where is None:
        return
    data = gathered.collect(counted)
    reason = b""
    if data is not None:
        reason = _put(data, where)
    if where is not SHOWN and (reason := binding.tell_all(reason)):
        raise PartitionError(reason.decode(), pe=0)


def _put(data: Mapping[str, Any], where: Path) -> bytes:
    """Print or write a report; what went wrong."""
    if where is SHOWN:
        paint = colour.painter(sys.stderr)
        head, *rest = _text(data).splitlines()
        sys.stderr.write("\n".join([head, *(paint(line, "bad") if line.startswith("PE ") else line for line in rest)]))
        sys.stderr.write("\n")
        sys.stderr.flush()
        return b""
    try:
        files.write(where, _in_form(data, where.suffix.lower()[1:]))
    except OSError as error:
        return _unwritable(where, error).encode()
    return b""
