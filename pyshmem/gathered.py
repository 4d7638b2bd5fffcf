"""What all PEs say of their pages, put together on PE 0: hosts, placements, extremes, and who is out of line."""

from __future__ import annotations

import json
import socket
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyshmem
from pyshmem import sizes
from pyshmem._core import binding
from pyshmem.memory import Partition, partitions

VERSION = 1
HOSTS_DRAWN = 6
OUTLIERS_NAMED = 8
KEPT = ("id", "name", "kind", "policy", "origin", "size", "used", "peak", "largest_free", "page_size", "transparent",
        "fallback", "diverted")

Record = dict[str, Any]


def pages(one: Partition) -> dict[int | None, int]:
    """Where the pages of a partition are, as far as the kernel says it."""
    try:
        return one.placement()
    except OSError:  # a container may forbid the question
        return {}


def collect(counted: Sequence[Mapping[int | None, int]]) -> Record | None:
    """The report's data on PE 0, None elsewhere; ``counted`` are the pages of each partition here. Collective."""
    found = binding.gather(json.dumps(_mine(counted)).encode())
    if not found:
        return None
    return assemble([json.loads(one) for one in found], binding.partition_records())


def _mine(counted: Sequence[Mapping[int | None, int]]) -> Record:
    """What this PE has to say; of the machine only the one that looked at it."""
    leader, platform, nodes = binding.node_of_job()
    records = {record["id"]: record for record in binding.partition_records()}
    placements = [_placement(each, records[one.id]) for one, each in zip(partitions(), counted, strict=True)]
    host = socket.gethostname()
    said: Record = {"pe": binding.my_pe(), "host": host, "node": leader if nodes else host, "placements": placements}
    if not nodes or leader == binding.my_pe():
        said["machine"] = {"platform": platform, "nodes": nodes}
    return said


def _placement(found: Mapping[int | None, int], record: Mapping[str, Any]) -> Record:
    return {"partition": record["id"], "bound": record["nodes"], "fell_back": record["fell_back"],
            "placed": record["placed"],
            "nodes": {str(node): size for node, size in found.items() if node is not None},
            "absent": found.get(None, 0)}


# ---- putting together ------------------------------------------------------------------------------------------------


def assemble(said: Sequence[Mapping[str, Any]], records: Iterable[Mapping[str, Any]]) -> Record:
    """The report's data from what the PEs have said, and PE 0's records of the partitions."""
    hosts: dict[Any, Record] = {}
    for one in said:
        host = hosts.setdefault(one["node"], {"name": one["host"], "pes": [], "platform": "", "nodes": []})
        host["pes"].append(one["pe"])
        if "machine" in one:
            host.update(one["machine"], name=one["host"])
    placements = [{"pe": one["pe"], "host": hosts[one["node"]]["name"], **place}
                  for one in said for place in one["placements"]]
    by_partition = {record["id"]: [one for one in placements if one["partition"] == record["id"]] for record in records}
    return {
        "version": VERSION, "pyshmem": pyshmem.__version__, "pes": len(said), "hosts": list(hosts.values()),
        "partitions": [{key: record[key] for key in KEPT} | _extremes(by_partition[record["id"]])
                       for record in records],
        "placements": placements,
        "outliers": [one for places in by_partition.values() for one in _outliers(places)],
    }


def _extremes(places: Sequence[Mapping[str, Any]]) -> Record:
    """The least and the most bytes that any PE has on each node, and not present."""
    nodes = sorted({node for one in places for node in one["nodes"]}, key=int)
    by_node = {node: [one["nodes"].get(node, 0) for one in places] for node in nodes}
    absent = [one["absent"] for one in places]
    return {"nodes": {node: {"least": min(sizes), "most": max(sizes)} for node, sizes in by_node.items()},
            "absent": {"least": min(absent), "most": max(absent)}}


# ---- who is out of line ----------------------------------------------------------------------------------------------

Pattern = tuple[int, tuple[tuple[str, int], ...], int]  # on its own nodes, elsewhere by node, not present


def _pattern(one: Mapping[str, Any]) -> Pattern:
    """What is compared: PEs of one partition may well be bound to different nodes, each to those near it."""
    own = _numbers(one["bound"])
    here = sum(size for node, size in one["nodes"].items() if int(node) in own)
    elsewhere = tuple(sorted((node, size) for node, size in one["nodes"].items() if int(node) not in own))
    return here, elsewhere, one["absent"]


def _numbers(text: str) -> set[int]:
    """Of ``0-3,8``; none of a list that was cut because of its length."""
    if not text or text.endswith("..."):
        return set()
    runs = [run.split("-") for run in text.split(",")]
    return {number for run in runs for number in range(int(run[0]), int(run[-1]) + 1)}


def _outliers(places: Sequence[Mapping[str, Any]]) -> Iterator[Record]:
    """PEs whose pages lie otherwise than most others' of the same partition.

    Without a majority there is none, unless some have all that is theirs on their own nodes: then the others are.
    """
    counts = Counter(map(_pattern, places))
    if len(counts) < 2:
        return
    usual, votes = min(counts.items(), key=lambda one: (-one[1], len(one[0][1]), one[0]))
    if 2 * votes <= len(places) and not (usual[0] and not usual[1]):
        return
    example = next(one for one in places if _pattern(one) == usual)
    for one in places:
        if _pattern(one) != usual:
            yield {**one, "usual": {key: example[key] for key in ("bound", "nodes", "absent")}}


def describe_outliers(data: Mapping[str, Any]) -> list[str]:
    """Each PE out of line in a sentence; of many, the first."""
    names = {one["id"]: one["name"] for one in data["partitions"]}
    said = [f"PE {one['pe']} on {one['host']}: {names[one['partition']]} has {_places(one)}; usual is "
            f"{_usual(one['usual'])}" for one in data["outliers"][:OUTLIERS_NAMED]]
    more = len(data["outliers"]) - OUTLIERS_NAMED
    return [*said, f"and {more} more such"] if more > 0 else said


def _usual(example: Mapping[str, Any]) -> str:
    """Of one PE's placement what is true of its like, which may be bound to other nodes."""
    here, elsewhere, absent = _pattern(example)
    return _places(example) if elsewhere or absent or not here else f"{sizes.text(here)} on its own nodes"


def _places(one: Mapping[str, Any]) -> str:
    parts = [f"{sizes.text(size)} on node {node}" for node, size in one["nodes"].items()]
    if one["absent"]:
        parts.append(f"{sizes.text(one['absent'])} not present")
    return ", ".join(parts) or "nothing"


# ---- the picture -----------------------------------------------------------------------------------------------------


def as_picture(data: Mapping[str, Any]) -> str:
    """The report as SVG."""
    from pyshmem import picture  # few programs draw

    names = {one["id"]: one["name"] for one in data["partitions"]}
    machines = [_machine(data, host, names) for host in data["hosts"][:HOSTS_DRAWN]]
    legend = {one["name"]: f"{sizes.text(one['size'])} per PE, {one['kind']} {one['policy']}".rstrip()
              for one in data["partitions"]}
    odd = describe_outliers(data)
    notes = []
    if more := len(data["hosts"]) - HOSTS_DRAWN:
        notes += [f"and {more} more hosts, which are not drawn"] if more > 0 else []
    notes += [f"{one['name']}: {sizes.text(one['absent']['least'])} or more per PE are not present yet"
              for one in data["partitions"] if one["absent"]["least"]]
    count = data["pes"]
    said = "\n".join(odd) if odd else f"{count} PE{'s' if count > 1 else ''}, none out of line"
    return picture.draw("Where the pages are, as the kernel counts them", machines, legend, (not odd, said), notes)


def _machine(data: Mapping[str, Any], host: Mapping[str, Any], names: Mapping[int, str]) -> Any:
    from pyshmem import layout, picture

    bands: dict[int, list[picture.Band]] = {}
    mine = [one for one in data["placements"] if one["pe"] in set(host["pes"])]
    for node in host["nodes"]:
        number = str(node["node"])
        for partition, name in names.items():
            parts = [size for one in mine if one["partition"] == partition and (size := one["nodes"].get(number, 0))]
            how = f"{len(parts)} PE{'s' if len(parts) > 1 else ''}"
            bands.setdefault(node["node"], []).append(picture.Band(name, sum(parts), how))
    pes = f"{'PEs' if len(host['pes']) > 1 else 'PE'} {layout.number_list(host['pes'])}"
    title = ", ".join(filter(None, [f"{host['name']}: {pes}", host["platform"]]))
    return picture.Machine(title, host["nodes"], bands, counted=True)
