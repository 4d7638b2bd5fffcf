"""Reports over all PEs: extremes, and who is out of line, from placements whose truth is plain to see."""

from __future__ import annotations

import pytest

from pyshmem import gathered

M = 1 << 20


def said(pe, places, host="a", node=0, machine=False):
    placements = [{"partition": number, "bound": bound, "fell_back": False, "absent": absent,
                   "nodes": {str(key): size for key, size in nodes.items()}}
                  for number, (bound, nodes, absent) in places.items()]
    one = {"pe": pe, "host": host, "node": node, "placements": placements}
    return one | {"machine": {"platform": "KNL", "nodes": []}} if machine else one


def assembled(*each):
    record = dict.fromkeys(gathered.KEPT, 0)
    return gathered.assemble(each, [record | {"id": 2, "name": "fast", "kind": "FASTMEM", "policy": "MANDATORY"}])


def outliers(*placements):
    return {one["pe"]: one["nodes"] for one in
            assembled(*[said(pe, {2: place}) for pe, place in enumerate(placements)])["outliers"]}


def test_extremes():
    data = assembled(*[said(pe, {2: ("4", {4: size}, 0)}) for pe, size in enumerate((8 * M, 6 * M, 7 * M))])
    assert data["partitions"][0]["nodes"] == {"4": {"least": 6 * M, "most": 8 * M}}


def test_local_nodes_are_alike():
    """One PE a cluster: each is on a node of its own, and none is out of line."""
    assert outliers(*[(str(node), {node: 8 * M}, 0) for node in (4, 5, 6, 7)]) == {}


def test_who_spilt_is_named():
    data = assembled(*[said(pe, {2: ("4", {4: 8 * M}, 0)}, "x") for pe in range(3)],
                     said(3, {2: ("4", {4: 5 * M, 0: 3 * M}, 0)}, "x", machine=True))
    assert [one["pe"] for one in data["outliers"]] == [3]
    [sentence] = gathered.describe_outliers(data)
    assert sentence == "PE 3 on x: fast has 5 MiB on node 4, 3 MiB on node 0; usual is 8 MiB on its own nodes"
    assert data["hosts"] == [{"name": "x", "pes": [0, 1, 2, 3], "platform": "KNL", "nodes": []}]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_of_two_the_one_off_its_nodes(order):
    places = [("4", {4: 8 * M}, 0), ("4", {0: 8 * M}, 0)]
    assert outliers(*[places[i] for i in order]) == {order.index(1): {"0": 8 * M}}


def test_unbound_pes_without_a_majority():
    assert outliers(("", {0: M}, 0), ("", {1: M}, 0)) == {}
    assert outliers(("", {0: M}, 0), ("", {1: M}, 0), ("", {0: M}, 0)) == {1: {"1": M}}


def test_many_are_counted():
    places = [("4", {4: M}, 0)] * 20 + [("4", {0: M}, 0)] * 12
    data = assembled(*[said(pe, {2: place}) for pe, place in enumerate(places)])
    sentences = gathered.describe_outliers(data)
    assert len(sentences) == 9 and sentences[-1] == "and 4 more such"


def test_hosts_that_share_a_machine_are_one():
    each = [said(0, {}, "a", 0, machine=True), said(1, {}, "b", 1, machine=True), said(2, {}, "b", 1)]
    data = gathered.assemble(each, [])
    assert [(host["name"], host["pes"]) for host in data["hosts"]] == [("a", [0]), ("b", [1, 2])]
