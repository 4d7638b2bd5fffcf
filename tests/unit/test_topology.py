"""Recognition and selection: every statement here is the contract's (section 2), not the code's."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from clibrary import build
from hypothesis import given, settings
from hypothesis import strategies as st
from memory_tables import GIB, KIND, MEMORY, Node, Topology, evidence, found, local, make, marked

HERE = Path(__file__).resolve().parent
OWN = HERE / "topologies"
SHARED = Path(os.environ.get("PYSHMEM_TOPOLOGIES") or HERE.parents[2] / "shared" / "topologies")
SOURCES = ["topology.c", "recognition.c", "knights.c", "selection.c", "message.c"]


@pytest.fixture(scope="module")
def topology() -> Topology:
    return Topology(build("topology", SOURCES, libraries=["hwloc"]))


def absent(topology, table, kind, **where) -> str:
    with pytest.raises(ValueError) as error:
        topology.select(table, kind, **where)
    return str(error.value)


# ---- saved topologies ----

KNL_CLUSTERS = {0: 7, 1: 4, 2: 5, 3: 6}  # DRAM node: its MCDRAM node

MEMORIES = {
    "knl-a2a-cache": {0: "DRAM"},
    "knl-a2a-hybrid": {0: "DRAM", 1: "MCDRAM"},
    "knl-snc4-hybrid": {**dict.fromkeys(range(4), "DRAM"), **dict.fromkeys(range(4, 8), "MCDRAM")},
    "hetero-dram-hbm-nvm": {0: "DRAM", 1: "DRAM", 2: "HBM", 4: "HBM", 6: "NVM", 8: "NVM", 9: "NVM"},
    "power9-gpu-nodes": {0: "DRAM", 8: "DRAM", **dict.fromkeys(range(250, 256), "GPU")},
    "xeon-memory-side-cache": dict.fromkeys(range(4), "DRAM"),
}
FAST = {"knl-a2a-hybrid": {1}, "knl-snc4-hybrid": {4, 5, 6, 7}, "hetero-dram-hbm-nvm": {2, 4}}
CAPACITY = {"hetero-dram-hbm-nvm": {6, 8, 9}}
CACHED = {"knl-a2a-cache": {0}, "xeon-memory-side-cache": {0, 1, 2, 3}}


def test_every_shared_topology_is_known_here():
    if SHARED.is_dir():
        assert {path.name: path.read_bytes() for path in SHARED.glob("*.xml")} == {
            path.name: path.read_bytes() for path in OWN.glob("*.xml")}
    assert {path.stem for path in OWN.glob("*.xml")} == set(MEMORIES)


@pytest.mark.parametrize("name", MEMORIES)
def test_saved_topology(topology, name):
    table = topology.load(OWN / f"{name}.xml")
    assert found(table) == MEMORIES[name]
    assert marked(table, "fast") == FAST.get(name, set())
    assert marked(table, "capacity") == CAPACITY.get(name, set())
    assert marked(table, "allowed") == set(MEMORIES[name])
    assert marked(table, "memory_cache") >= CACHED.get(name, set())
    for kind in ("MCDRAM", "HBM", "DRAM", "CXL", "NVM", "GPU"):
        wanted = {number for number, memory in MEMORIES[name].items() if memory == kind}
        if wanted:
            assert topology.select(table, kind, everywhere=True) == wanted
        else:
            assert f"no node of kind {kind} here" in absent(topology, table, kind)
    if name not in FAST:
        absent(topology, table, "FASTMEM")
    if name not in CAPACITY:
        absent(topology, table, "CAPACITY")
    assert topology.select(table, "DEFAULT") == set()


def test_knl_snc4_by_cluster(topology):
    table = topology.load(OWN / "knl-snc4-hybrid.xml")
    cpus = local(table)
    for dram, mcdram in KNL_CLUSTERS.items():
        assert topology.select(table, "FASTMEM", cpus=cpus[dram]) == {mcdram}
        assert topology.select(table, "FASTMEM", cpus={min(cpus[dram])}) == {mcdram}
        assert topology.select(table, "DRAM", cpus=cpus[dram]) == {dram}
        assert topology.select(table, "FASTMEM", cpus=cpus[dram], everywhere=True) == {4, 5, 6, 7}
    assert topology.select(table, "MCDRAM", cpus=cpus[0] | cpus[2]) == {7, 5}
    assert topology.select(table, "MCDRAM+DRAM", cpus=cpus[0] | cpus[2]) == {7, 5, 0, 2}
    assert topology.select(table, "MCDRAM+DRAM", everywhere=True) == set(range(8))
    assert "no node of kind HBM" in absent(topology, table, "MCDRAM+HBM")
    assert topology.select(table, "FASTMEM", cpus=set(range(64))) == {4, 5, 6, 7}
    assert topology.select(table, "FASTMEM") == topology.select(table, "FASTMEM", cpus=()) == {4, 5, 6, 7}
    assert b"SNC-4" in table.head.summary and b"hybrid" in table.head.summary


def test_knl_hybrid_is_local_to_all(topology):
    table = topology.load(OWN / "knl-a2a-hybrid.xml")
    for cpu in local(table)[0]:
        assert topology.select(table, "FASTMEM", cpus={cpu}) == {1}


def test_knl_cache_says_where_the_mcdram_is(topology):
    table = topology.load(OWN / "knl-a2a-cache.xml")
    assert b"cache" in table.head.summary
    assert "memory-side cache" in absent(topology, table, "FASTMEM")


def test_hetero_by_locality(topology):
    table = topology.load(OWN / "hetero-dram-hbm-nvm.xml")
    first, second, third = {0, 1}, {2, 3}, {4, 5}
    assert [topology.select(table, "FASTMEM", cpus=cpus) for cpus in (second, third)] == [{4}, {2}]
    assert topology.select(table, "FASTMEM", cpus=first) == {2, 4}  # none there; both are at 20
    assert [topology.select(table, "CAPACITY", cpus=cpus) for cpus in (first, second, third)] == [{8}, {6}, {9}]
    assert [topology.select(table, "DRAM", cpus=cpus) for cpus in (first, second)] == [{0}, {1}]
    assert topology.select(table, "DRAM", cpus=third) == {0, 1}
    assert topology.select(table, "CAPACITY", cpus=first | third) == {8, 9}
    assert topology.select(table, "NVM", cpus={1, 2}) == {6, 8}


def test_power9_gpu_nodes(topology):
    table = topology.load(OWN / "power9-gpu-nodes.xml")
    cpus = local(table)
    assert topology.select(table, "GPU", cpus=cpus[0]) == {253, 254, 255}
    assert topology.select(table, "GPU", cpus=cpus[8]) == {250, 251, 252}
    assert topology.select(table, "DRAM", cpus=cpus[8]) == {8}
    assert topology.select(table, "NODES", wanted={8, 250, 255}) == {8, 250, 255}


def test_xeon_by_cluster(topology):
    table = topology.load(OWN / "xeon-memory-side-cache.xml")
    for number, cpus in local(table).items():
        assert topology.select(table, "DRAM", cpus=cpus) == {number}


# ---- the same files with less in them, as another version of hwloc or another machine would write them ----

def rewritten(tmp_path, name, *changes) -> Path:
    text = (OWN / f"{name}.xml").read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path = tmp_path / f"{name}.xml"
    path.write_text(text)
    return path


def test_knl_without_hwlocs_knowledge(topology, tmp_path):
    path = rewritten(tmp_path, "knl-snc4-hybrid", (' subtype="MCDRAM"', ""), ('"ClusterMode"', '"Nothing"'),
                     ('"MemoryMode"', '"None"'), ('"Bandwidth"', '"Other"'))
    table = topology.load(path)
    assert found(table) == MEMORIES["knl-snc4-hybrid"]
    assert {evidence(table)[number] for number in range(4, 8)} == {"KNL"}
    assert table.head.summary.startswith(b"Knights Landing, SNC-4, hybrid")
    for dram, mcdram in KNL_CLUSTERS.items():
        assert topology.select(table, "FASTMEM", cpus=local(table)[dram]) == {mcdram}


def test_same_shape_on_another_processor_is_unknown(topology, tmp_path):
    path = rewritten(tmp_path, "knl-snc4-hybrid", (' subtype="MCDRAM"', ""), ('"ClusterMode"', '"Nothing"'),
                     ('"CPUModelNumber" value="87"', '"CPUModelNumber" value="85"'), ('"Bandwidth"', '"Other"'))
    table = topology.load(path)
    assert found(table) == {**dict.fromkeys(range(4), "DRAM"), **dict.fromkeys(range(4, 8), "UNKNOWN")}
    absent(topology, table, "FASTMEM")


def test_node_that_the_cpuset_forbids(topology, tmp_path):
    path = rewritten(tmp_path, "knl-snc4-hybrid", ('allowed_nodeset="0x000000ff"', 'allowed_nodeset="0x0000006f"'))
    table = topology.load(path)
    assert marked(table, "allowed") == {0, 1, 2, 3, 5, 6}
    assert topology.select(table, "FASTMEM", everywhere=True) == {5, 6}
    path = rewritten(tmp_path, "knl-snc4-hybrid", ('allowed_nodeset="0x000000ff"', 'allowed_nodeset="0x0000000f"'))
    message = absent(topology, topology.load(path), "FASTMEM")
    assert "not allowed" in message and "Mems_allowed_list" in message and "node 7 (MCDRAM, 2 GiB)" in message


def test_bad_files(topology, tmp_path):
    for path, text in ((tmp_path / "absent.xml", None), (tmp_path / "empty.xml", ""), (tmp_path / "other.xml", "<a/>"),
                       (tmp_path / "cut.xml", (OWN / "knl-snc4-hybrid.xml").read_text()[:6000])):
        if text is not None:
            path.write_text(text)
        with pytest.raises(ValueError, match=path.name):
            topology.load(path)
    with pytest.raises(ValueError, match=str(tmp_path)):
        topology.load(tmp_path)


def test_this_machine(topology):
    table = topology.load(None)
    allowed = next(line for line in Path("/proc/self/status").read_text().splitlines() if "Mems_allowed_list" in line)
    assert str(min(marked(table, "allowed"))) in allowed
    assert all(node.size > 0 for node in table.node if node.allowed)


# ---- Knights Landing by its shape alone ----

def clusters(count: int) -> list[set[int]]:
    return [set(range(i * 4, i * 4 + 4)) for i in range(count)]


def knl(count: int, order=None, size=16 * GIB) -> tuple[list[Node], dict]:
    """DRAM nodes 0.., MCDRAM nodes behind them; `order[i]` is the cluster of the i-th MCDRAM node."""
    order = list(order or range(count))
    everywhere = set().union(*clusters(count))
    nodes = [Node(i, cpus) for i, cpus in enumerate(clusters(count))]
    nodes += [Node(count + i, everywhere, size // count) for i in range(count)]
    distances = {(i, j): 21 for i in range(count) for j in range(i)}
    for i in range(count):
        distances |= {(j, count + i): 31 if order[i] == j else 41 for j in range(count)}
        distances |= {(count + i, count + j): 41 for j in range(i)}
    return nodes, distances | {(i, i): 10 for i in range(2 * count)}


@pytest.mark.parametrize("knights", ["LANDING", "MILL"])
@pytest.mark.parametrize(("count", "order"), [(1, None), (2, None), (2, (1, 0)), (4, None), (4, (1, 2, 3, 0))])
def test_knl_flat(topology, knights, count, order):
    nodes, distances = knl(count, order)
    table = topology.recognise(nodes, distances, knights)
    assert found(table) == {i: "DRAM" if i < count else "MCDRAM" for i in range(2 * count)}
    assert marked(table, "fast") == set(range(count, 2 * count))
    assert marked(table, "has_cpus") == set(range(count))
    assert not marked(table, "memory_cache") and b"flat" in table.head.summary
    for i, cluster in enumerate(order or range(count)):
        assert topology.select(table, "FASTMEM", cpus=clusters(count)[cluster]) == {count + i}
    assert topology.select(table, "FASTMEM") == set(range(count, 2 * count))


@pytest.mark.parametrize("count", [1, 2, 4])
def test_knl_locality_unknown_to_hwloc(topology, count):
    nodes, distances = knl(count)
    for node in nodes[count:]:
        node.cpus = set()
    table = topology.recognise(nodes, distances, "LANDING")
    assert [local(table)[count + i] for i in range(count)] == clusters(count)


def test_knl_cache_and_hybrid(topology):
    table = topology.recognise([Node(0, {0, 1, 2, 3}, 96 * GIB)], knights="LANDING")
    assert found(table) == {0: "DRAM"} and marked(table, "memory_cache") == {0} and b"cache" in table.head.summary
    absent(topology, table, "FASTMEM")
    nodes, distances = knl(2, size=8 * GIB)
    table = topology.recognise(nodes, distances, "LANDING")
    assert marked(table, "fast") == {2, 3} and marked(table, "memory_cache") == {0, 1}
    assert b"hybrid" in table.head.summary


def test_not_knls_shape(topology):
    def unknown(nodes, distances, knights="LANDING"):
        table = topology.recognise(nodes, distances, knights)
        assert not marked(table, "fast")
        assert set(found(table).values()) == {"DRAM", "UNKNOWN"}
        absent(topology, table, "FASTMEM")

    unknown(*knl(1), knights="NONE")
    unknown(*knl(1, size=32 * GIB))  # more than the MCDRAM of any
    nodes, distances = knl(2)
    nodes[3].size //= 2
    unknown(nodes, distances)
    nodes, distances = knl(1)
    unknown(nodes, distances | {(0, 1): 20})
    nodes, distances = knl(2)
    unknown(nodes, distances | {(1, 3): 41, (0, 3): 31})  # both beside the first cluster
    unknown([*nodes[:2], nodes[2]], {pair: d for pair, d in distances.items() if 3 not in pair})


# ---- figures ----

def with_figures(bandwidth: int, latency: int = 100, **more) -> list[Node]:
    return [Node(0, {0, 1}, bandwidth=1000, latency=100),
            Node(1, {0, 1}, bandwidth=bandwidth, latency=latency, **more)]


def test_fast_by_figures(topology):
    table = topology.recognise(with_figures(4000))
    assert marked(table, "fast") == {1} and not marked(table, "capacity")
    assert evidence(table) == {0: "CPUS", 1: "BANDWIDTH"}
    assert topology.select(table, "FASTMEM") == {1}
    assert topology.select(table, "DRAM") == {0}
    absent(topology, table, "HBM")  # of which technology it is, the figures do not tell
    absent(topology, table, "MCDRAM")


@pytest.mark.parametrize(("bandwidth", "latency"), [(300, 100), (300, 400), (0, 400), (1000, 400)])
def test_slow_by_figures(topology, bandwidth, latency):
    table = topology.recognise(with_figures(bandwidth, latency))
    assert marked(table, "capacity") == {1} and not marked(table, "fast")
    assert topology.select(table, "CAPACITY") == {1}
    absent(topology, table, "CXL")
    absent(topology, table, "FASTMEM")


@pytest.mark.parametrize(("bandwidth", "latency"), [(0, 0), (1000, 100), (1200, 110), (900, 120)])
def test_unknown_memory_only_node(topology, bandwidth, latency):
    table = topology.recognise(with_figures(bandwidth, latency))
    assert found(table) == {0: "DRAM", 1: "UNKNOWN"} and evidence(table)[1] == "NONE"
    for kind in set(KIND) - {"DEFAULT", "NODES", "DRAM", "COUNT"}:
        message = absent(topology, table, kind)
    assert "NODES" in message and "node 1 (UNKNOWN" in message
    assert topology.select(table, "NODES", wanted={1}) == {1}


def test_gpu_and_nvm_whatever_their_figures(topology):
    table = topology.recognise(with_figures(9000, subtype="GPUMemory"))
    assert not marked(table, "fast") and not marked(table, "capacity") and topology.select(table, "GPU") == {1}
    table = topology.recognise(with_figures(9000, dax_type="NVM"))
    assert not marked(table, "fast") and topology.select(table, "CAPACITY") == {1}


def test_only_the_fastest_is_fastmem(topology):
    nodes = [*with_figures(2000), Node(2, {0, 1}, bandwidth=8000)]
    assert marked(topology.recognise(nodes), "fast") == {2}


def test_ordinary_memory_with_a_slow_expander_is_not_hbm(topology):
    """hwloc from 2.10 names two classes of bandwidth HBM and DRAM, whichever has the CPUs."""
    nodes = with_figures(300, 400)
    nodes[0].subtype, nodes[1].subtype = "HBM", "DRAM"
    table = topology.recognise(nodes)
    assert found(table)[0] == "DRAM" and not marked(table, "fast") and marked(table, "capacity") == {1}


def test_half_filled_socket_is_still_dram(topology):
    table = topology.recognise([Node(0, {0, 1}, bandwidth=2000), Node(1, {2, 3}, bandwidth=1000)])
    assert found(table) == {0: "DRAM", 1: "DRAM"} and not marked(table, "fast")


# ---- names ----

@pytest.mark.parametrize(("clue", "memory"), [
    ({"subtype": "MCDRAM"}, "MCDRAM"), ({"subtype": "HBM"}, "HBM"), ({"subtype": "DRAM"}, "DRAM"),
    ({"subtype": "NVM"}, "NVM"), ({"subtype": "CXL-DRAM"}, "CXL"), ({"subtype": "GPUMemory"}, "GPU"),
    ({"subtype": "SPM"}, "UNKNOWN"), ({"dax_type": "SPM"}, "UNKNOWN"), ({"dax_type": "NVM"}, "NVM"),
    ({"dax_type": "SPM", "cxl_device": True}, "CXL"), ({"dax_parent": "LNXSYBUS:00/ACPI0012:00/ndbus0/region7"}, "NVM"),
    ({"dax_type": "SPM", "dax_parent": "ACPI0017:00/root0/decoder0.0/region0/dax_region0"}, "CXL"),
])
def test_names(topology, clue, memory):
    table = topology.recognise([Node(0, {0, 1}), Node(1, {0, 1}, **clue)])
    assert found(table) == {0: "DRAM", 1: memory}
    assert evidence(table)[1] == ("NONE" if memory == "UNKNOWN" else "SUBTYPE")
    assert marked(table, "fast") == ({1} if memory in ("MCDRAM", "HBM") else set())
    assert marked(table, "capacity") == ({1} if memory in ("NVM", "CXL") else set())
    assert marked(table, "has_cpus") == {0}


def test_name_is_stronger_than_figures(topology):
    assert found(topology.recognise(with_figures(4000, subtype="DRAM"))) == {0: "DRAM", 1: "DRAM"}


def test_machine_of_hbm_only(topology):
    table = topology.recognise([Node(i, cpus, subtype="HBM") for i, cpus in enumerate(clusters(2))])
    assert marked(table, "fast") == marked(table, "has_cpus") == {0, 1}
    assert topology.select(table, "FASTMEM", cpus={5}) == topology.select(table, "HBM", cpus={5}) == {1}
    assert "PREFERRED" not in absent(topology, table, "DRAM")


def test_cpus_known_from_the_kernel(topology):
    nodes = [Node(0, {0, 1}), Node(1, {0, 1}, has_cpus=True)]
    table = topology.recognise(nodes, has_cpus_known=True)
    assert found(table) == {0: "UNKNOWN", 1: "DRAM"}


def test_node_without_memory_is_no_dram(topology):
    table = topology.recognise([Node(0, {0, 1}), Node(1, {2, 3}, size=0)], {(0, 1): 20, (0, 0): 10, (1, 1): 10})
    assert topology.select(table, "DRAM", cpus={2}) == {0}


# ---- selection ----

def dram(number: int, cpus, **more) -> Node:
    return Node(number, set(cpus), memory="DRAM", has_cpus=True, **more)


def hbm(number: int, cpus, **more) -> Node:
    return Node(number, set(cpus), memory="HBM", fast=True, **more)


TWO_SOCKETS = [dram(0, {0, 1}), dram(1, {2, 3}), hbm(254, {0, 1}), hbm(1023, {2, 3})]
TWO_SOCKET_DISTANCES = {(0, 1): 20, (0, 254): 13, (0, 1023): 23, (1, 254): 23, (1, 1023): 13}


def test_numbers_above_one_word(topology):
    table = make(TWO_SOCKETS, TWO_SOCKET_DISTANCES)
    assert topology.select(table, "FASTMEM", cpus={0}) == {254}
    assert topology.select(table, "FASTMEM", cpus={3}) == {1023}
    assert topology.select(table, "NODES", wanted={1023, 0}) == {0, 1023}


def test_socket_without_fast_memory_takes_the_nearest(topology):
    """memkind 505; also where the local one is there but forbidden."""
    nodes = [dram(0, {0}), dram(1, {1}), dram(2, {2}), hbm(3, {1}), hbm(4, {2})]
    distances = {(0, 3): 28, (0, 4): 38}
    assert topology.select(make(nodes, distances), "FASTMEM", cpus={0}) == {3}
    assert topology.select(make(nodes), "FASTMEM", cpus={0}) == {3, 4}  # no distances: all
    nodes[3].allowed = False
    assert topology.select(make(nodes, distances), "FASTMEM", cpus={0}) == {4}
    assert topology.select(make(nodes, distances | {(1, 4): 28}), "FASTMEM", cpus={1}) == {4}


def test_messages_of_absence(topology):
    message = absent(topology, make([dram(0, {0}, size=48 * GIB)]), "FASTMEM")
    assert message.startswith("no node of kind FASTMEM here: the machine has node 0 (DRAM, 48 GiB)")
    message = absent(topology, make([dram(0, {0}), hbm(1, {0}, allowed=False)]), "HBM")
    assert "node 1 (HBM, 4 GiB) exists but is not allowed to this process" in message and "Mems_allowed_list" in message
    many = make([dram(number, {number}) for number in range(1000)])
    assert absent(topology, many, "FASTMEM").startswith("no node of kind FASTMEM here: the machine has node 0 (DRAM, ")
    assert len(absent(topology, many, "FASTMEM")) < 2000


def test_named_nodes(topology):
    table = make([dram(0, {0}), hbm(70, {0}, allowed=False)])
    message = absent(topology, table, "NODES", wanted={0, 5, 71})
    assert "nodes 5, 71 do not exist here" in message and "node 70 (HBM" in message
    message = absent(topology, table, "NODES", wanted={0, 70})
    assert message.startswith("node 70 (HBM, 4 GiB) exists but is not allowed")
    absent(topology, table, "NODES")
    assert topology.select(table, "NODES", cpus={1}, wanted={0}) == {0}


# ---- properties ----

CPUS = st.sets(st.integers(0, 200), max_size=6)
FIGURE = st.sampled_from([0, 100, 149, 150, 1000, 2**63, 2**64 - 1])
NODE = st.builds(
    Node, number=st.integers(0, 1023), cpus=CPUS, size=st.sampled_from([0, 1, GIB, 16 * GIB, 2**64 - 1]),
    subtype=st.sampled_from(["", "HBM", "DRAM", "MCDRAM", "GPUMemory", "NVM", "CXL-DRAM", "SPM", "?"]),
    bandwidth=FIGURE, latency=FIGURE, allowed=st.booleans(), has_cpus=st.booleans())


@st.composite
def machines(draw):
    nodes = sorted(draw(st.lists(NODE, min_size=1, max_size=9, unique_by=lambda node: node.number)),
                   key=lambda node: node.number)
    values = draw(st.lists(st.sampled_from([0, 10, 20, 31, 41, 65535]), min_size=81, max_size=81))
    pairs = [(a.number, b.number) for a in nodes for b in nodes]
    return nodes, dict(zip(pairs, values, strict=False))


@settings(max_examples=150, deadline=None)
@given(machine=machines(), knights=st.sampled_from(["NONE", "LANDING"]), known=st.booleans(), cpus=CPUS,
       kind=st.sampled_from(sorted(set(KIND) - {"DEFAULT", "NODES", "COUNT"})), everywhere=st.booleans())
def test_selected_nodes_are_of_the_kind_and_allowed(topology, machine, knights, known, cpus, kind, everywhere):
    table = topology.recognise(*machine, knights=knights, has_cpus_known=known)
    allowed = marked(table, "allowed")
    of_kind = (marked(table, "fast") if kind == "FASTMEM" else marked(table, "capacity") if kind == "CAPACITY" else
               {number for number, memory in found(table).items() if memory == kind})
    assert not any(node.fast and node.memory in (MEMORY["DRAM"], MEMORY["GPU"], MEMORY["NVM"]) for node in table.node)
    if not of_kind & allowed:
        assert f"no node of kind {kind} here" in absent(topology, table, kind, cpus=cpus, everywhere=everywhere)
        return
    nodes = topology.select(table, kind, cpus=cpus, everywhere=everywhere)
    assert nodes and nodes <= of_kind & allowed
    if everywhere or not cpus:
        assert nodes == of_kind & allowed
    near = {number for number in of_kind & allowed if local(table)[number] & cpus}
    if near and not everywhere:
        assert nodes == near
