"""What definitions of partitions would do on a machine: PE by PE, node by node, decided as ``init`` decides."""

from __future__ import annotations

import json
import os
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from pyshmem import colour, layout, picture, sizes, topology
from pyshmem._core import binding

VERSION = 1
BINDINGS = ("core", "socket", "none")
LONGEST_LIST = 18  # characters of a list of PEs
PLACES = {"core": "bound to a core each", "socket": "bound to a socket each", "none": "not bound"}


def make(pes: int, xml: str | os.PathLike[str] | None = None, bind: str = "none",
         definitions: Sequence[str] = ()) -> dict[str, Any]:
    """Plan a job on one node. Local, and needs no ``init``.

    Parameters
    ----------
    pes : int
    xml : path, optional
        A machine that hwloc has saved, whose whole memory counts as free; the default is this machine, now.
    bind : {'none', 'socket', 'core'}, optional
        What the launcher binds PEs to, in turn.
    definitions : sequence of str, optional
        Such as a program would give, beside those of the environment.

    Returns
    -------
    dict
        As ``pyshmem plan --json`` prints it; docs/reports.md says what it holds.

    Raises
    ------
    OSError
        The machine cannot be looked at.
    """
    texts = [definition.encode() for definition in definitions]
    found = binding.plan_job(None if xml is None else os.fspath(xml), texts, pes, bind)
    placements = _placements(found, pes)
    wanted, anywhere = _wanted(found, placements)
    return {
        "version": VERSION, "pes": pes, "bind": bind, "saved": found["saved"], "platform": found["platform"],
        "fits": found["failure"] is None, "failed_pe": found["failed_pe"], "failure": found["failure"],
        "partitions": found["partitions"], "placements": placements,
        "nodes": [node | {"wanted": {str(number): size for number, size in wanted[node["node"]].items()}}
                  for node in found["nodes"]],
        "anywhere": {str(number): size for number, size in anywhere.items()},
    }


# ---- adding up -------------------------------------------------------------------------------------------------------


def _placements(found: Mapping[str, Any], pes: int) -> list[dict[str, Any]]:
    """PEs of one place and choice together, in the order of the first of them."""
    places = len(found["places"])
    together: dict[str, dict[str, Any]] = {}
    for place, choices in enumerate(found["choices"]):
        members = range(place, pes, places)
        one = together.setdefault(json.dumps(choices), {"pes": [], "cpus": set(), "partitions": [
            {"id": each["id"], "bytes": each["bytes"], **choice}
            for each, choice in zip(found["partitions"], choices, strict=True)]})
        one["pes"] += members
        one["cpus"].update(found["places"][place])
    return [one | {"pes": sorted(one["pes"]), "cpus": sorted(one["cpus"])} for one in together.values()]


def _is_mandatory(partition: Mapping[str, Any]) -> bool:
    return partition["policy"].split(",")[0] in ("MANDATORY", "INTERLEAVED")


def _wanted(found: Mapping[str, Any], placements: Sequence[Mapping[str, Any]]
            ) -> tuple[dict[int, dict[int, int]], dict[int, int]]:
    """Bytes by node and partition, and bytes of partitions that have no node or not enough of it."""
    room = {node["node"]: node["free"] for node in found["nodes"]}
    wanted: dict[int, dict[int, int]] = {node: {} for node in room}
    anywhere: dict[int, int] = {}
    partitions = {one["id"]: one for one in found["partitions"]}
    demands = [(partitions[each["id"]], each["nodes"], each["bytes"] * len(group["pes"]))
               for group in placements for each in group["partitions"]]
    # Who cannot give way comes first, and of these who has the least choice.
    for partition, nodes, size in sorted(demands, key=lambda one: (not _is_mandatory(one[0]), len(one[1]))):
        shares, rest = _share(size, nodes, room)
        if _is_mandatory(partition) and rest:
            shares = {node: share + rest // len(nodes) for node, share in shares.items()}
            rest = 0
        for node, share in shares.items():
            if share:
                wanted[node][partition["id"]] = wanted[node].get(partition["id"], 0) + share
        if rest:
            anywhere[partition["id"]] = anywhere.get(partition["id"], 0) + rest
    return {node: dict(sorted(parts.items())) for node, parts in wanted.items()}, anywhere


def _share(size: int, nodes: Sequence[int], room: dict[int, int]) -> tuple[dict[int, int], int]:
    """Bytes evenly over nodes while there is room, which is taken; and what is left."""
    shares = dict.fromkeys(nodes, 0)
    while size > 0 and (open_nodes := [node for node in nodes if room[node] > 0]):
        each = max(1, size // len(open_nodes))
        for node in open_nodes:
            part = min(each, room[node], size)
            shares[node] += part
            room[node] -= part
            size -= part
    return shares, size


# ---- for people ------------------------------------------------------------------------------------------------------


def as_json(plan: Mapping[str, Any]) -> str:
    """A plan for programs."""
    return json.dumps(plan, indent=2)


def verdict(plan: Mapping[str, Any]) -> str:
    """The sentence on which all depends."""
    if not plan["fits"]:
        return f"would fail on PE {plan['failed_pe']}:\n{plan['failure']}"
    return "fits" if plan["partitions"] else "fits: no partitions are defined"


def as_text(plan: Mapping[str, Any], paint: colour.Painter = colour.plain) -> str:
    """A plan for people, in 80 columns."""
    from tabulate import tabulate

    blocks = [_heading(plan)]
    for rows in (_pe_rows(plan), _node_rows(plan)):
        if len(rows) > 1:
            head, *rest = tabulate(rows, tablefmt="plain", disable_numparse=True).splitlines()
            blocks.append("\n".join([paint(head.rstrip(), "heading"), *rest]))
    blocks += [textwrap.fill(note, 80, subsequent_indent="  ", break_on_hyphens=False) for note in notes(plan)]
    blocks += [paint(verdict(plan), "good" if plan["fits"] else "bad")]
    return "\n".join(blocks)


def _heading(plan: Mapping[str, Any]) -> str:
    pes = f"{plan['pes']} PE{'s' if plan['pes'] > 1 else ''}, {PLACES[plan['bind']]}"
    return f"{plan['platform']}; {pes}" if plan["platform"] else pes


def _pe_rows(plan: Mapping[str, Any]) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [("PEs", "partition", "per PE", "kind", "policy", "nodes")]
    partitions = {one["id"]: one for one in plan["partitions"]}
    for group in plan["placements"]:
        who = topology.shortened(layout.number_list(group["pes"]), LONGEST_LIST)
        for each in group["partitions"]:
            one = partitions[each["id"]]
            where = topology.shortened(layout.number_list(each["nodes"]) or "-", LONGEST_LIST)
            rows.append((who, topology.shortened(f"{one['id']} {one['name']}", 16), sizes.short(each["bytes"]),
                         topology.shortened(one["kind"], 12), one["policy"] or "-", where))
            who = ""
    return rows


def _node_rows(plan: Mapping[str, Any]) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [("node", "memory", "wanted", "of", "partitions")]
    if not plan["placements"]:
        return rows
    names = {str(one["id"]): one["name"] for one in plan["partitions"]}
    for node in plan["nodes"]:
        parts = ", ".join(f"{names[number]} {sizes.short(size)}" for number, size in node["wanted"].items())
        total = sum(node["wanted"].values())
        rows.append((str(node["node"]), node["memory"], sizes.short(total) if total else "-",
                     sizes.short(node["free"]), topology.shortened(parts or "-", 44)))
    return rows


def notes(plan: Mapping[str, Any]) -> list[str]:
    """What should be known beside the tables."""
    said = []
    if plan["saved"]:
        said.append("a saved machine: what is in use there is not known, so all of its memory counts as free")
    for one in plan["partitions"]:
        said += _notes_on(plan, one)
    return said


def _notes_on(plan: Mapping[str, Any], partition: Mapping[str, Any]) -> list[str]:
    name, said = partition["name"], []
    choices = [each for group in plan["placements"] for each in group["partitions"] if each["id"] == partition["id"]]
    if reasons := [each["why"] for each in choices if each["fell_back"]]:
        said.append(f"{name}: PREFERRED falls back to other memory: {reasons[0]}")
    rest = plan["anywhere"].get(str(partition["id"]), 0)
    if rest and partition["policy"]:
        said.append(f"{name}: {sizes.text(rest)} do not fit there and go elsewhere, being PREFERRED")
    elif rest:
        said.append(f"{name}: {sizes.text(rest)} go wherever the system puts them")
    if plan["saved"] and partition["page_size"] > os.sysconf("SC_PAGESIZE"):
        said.append(f"{name}: pages of {sizes.short(partition['page_size'])} come from a pool, which a saved machine "
                    "does not tell of")
    return said


def _who(plan: Mapping[str, Any], node: int, number: int) -> str:
    """How many PEs have pages of a partition on a node."""
    count = sum(len(group["pes"]) for group in plan["placements"] for each in group["partitions"]
                if each["id"] == number and node in each["nodes"])
    return f"{count} PE{'s' if count > 1 else ''}"


def as_picture(plan: Mapping[str, Any], title: str) -> str:
    """A plan as SVG."""
    names = {str(one["id"]): one["name"] for one in plan["partitions"]}
    bands = {node["node"]: [picture.Band(names[number], size, _who(plan, node["node"], int(number)))
                            for number, size in node["wanted"].items()] for node in plan["nodes"]}
    pes = [(frozenset(group["cpus"]), group["pes"]) for group in plan["placements"]]
    machine = picture.Machine(_heading(plan), plan["nodes"], bands, pes=pes)
    legend = {one["name"]: " ".join([f"{sizes.text(one['bytes'])} per PE,", one["kind"], one["policy"]]).rstrip(" ,")
              for one in plan["partitions"]}
    return picture.draw(title, [machine], legend, (plan["fits"], verdict(plan)), notes(plan))
