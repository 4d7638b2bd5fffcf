"""``pyshmem plan``: against what saved machines are known to have, and arithmetic."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from pyshmem import command, plan

SAVED = Path(__file__).parent / "topologies"
SNC4 = SAVED / "knl-snc4-hybrid.xml"
MCDRAM_OF_CLUSTER = (7, 4, 5, 6)  # of the clusters with CPUs 0, 4, 8, 12 and up
PAGE = 4096
MIB = 1 << 20


@pytest.fixture(autouse=True)
def no_definitions(monkeypatch):
    for name in ("SHMEM_SYMMETRIC_SIZE", "SMA_SYMMETRIC_SIZE", "SHMEM_SYMMETRIC_HEAP_SIZE"):
        monkeypatch.delenv(name, raising=False)


def size_in_file(xml: Path, node: int) -> int:
    """A node's bytes, read without hwloc."""
    return int(re.search(rf'type="NUMANode" os_index="{node}" .*?local_memory="(\d+)"', xml.read_text())[1])


def nodes_by_pe(made, number=2) -> dict[int, list[int]]:
    return {pe: one["nodes"] for group in made["placements"] for pe in group["pes"] for one in group["partitions"]
            if one["id"] == number}


def test_cores_in_turn():
    made = plan.make(32, SNC4, "core", ["size=10M:kind=FASTMEM"])
    # 16 cores of 4 hardware threads; PE 16 is the second on the first core.
    assert nodes_by_pe(made) == {pe: [MCDRAM_OF_CLUSTER[pe % 16 // 4]] for pe in range(32)}
    assert {node["node"]: node["wanted"] for node in made["nodes"]} == (
        {node: {} for node in range(4)} | {node: {"2": 8 * 10 * MIB} for node in range(4, 8)})
    assert made["fits"]


def test_unbound_pes_use_all_local_nodes():
    made = plan.make(3, SNC4, "none", ["size=10M:kind=FASTMEM", "size=4M:kind=DDR"])
    assert set(map(tuple, nodes_by_pe(made).values())) == {(4, 5, 6, 7)}
    assert sum(node["wanted"].get("2", 0) for node in made["nodes"]) == 30 * MIB
    assert [sum(node["wanted"].get("3", 0) for node in made["nodes"] if node["memory"] == "DRAM")] == [12 * MIB]


def test_sockets_in_turn():
    """Two packages, of two nodes each: 0 and 2, 1 and 3, as the file has them."""
    made = plan.make(4, SAVED / "xeon-memory-side-cache.xml", "socket", ["size=10M:kind=DDR"])
    assert nodes_by_pe(made) == {0: [0, 2], 1: [1, 3], 2: [0, 2], 3: [1, 3]}


@pytest.mark.parametrize("policy, more", [("M", 0), ("M", PAGE), ("P", PAGE), ("I", PAGE)])
def test_as_much_as_there_is(policy, more, capsys):
    """4 PEs of the first cluster fill node 7 to the last page; a page more each, and MANDATORY fails."""
    room = size_in_file(SNC4, 7) // PAGE * PAGE
    size = room // 4 // PAGE * PAGE + more
    status = command.main(["plan", "-n", "4", "--bind", "core", "--xml", str(SNC4), "--partition",
                           f"size={size}:kind=FASTMEM:policy={policy},local:name=fast"])
    output = capsys.readouterr().out
    fails = policy != "P" and more > 0
    assert status == (1 if fails else 0)
    assert ("would fail" in output and "does not fit into NUMA node 7" in output and "by the 4 PEs there" in output
            ) == fails
    assert ("do not fit there" in output) == (policy == "P")
    assert max(map(len, output.split("would fail")[0].splitlines())) <= 80


def test_definitions_of_the_environment_win(monkeypatch, capsys):
    monkeypatch.setenv("SHMEM_SYMMETRIC_PARTITION5", "size=7M:kind=NODES(2):name=own")
    assert command.main(["plan", "-n", "2", "--xml", str(SNC4), "--json", "--partition", "size=1M:name=own"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert [(one["id"], one["name"], one["size"]) for one in made["partitions"]] == [(5, "own", 7 * MIB)]
    assert made["nodes"][2]["wanted"] == {"5": 14 * MIB} and made["version"] == 1


@pytest.mark.parametrize("definition, text", [
    ("size=1X", "this does not belong to a size"),
    ("size=1M:kind=HBM", "no node of kind HBM here"),
    ("size=1M:kind=NODES(9)", "node 9 does not exist here"),
    ("size=100T", "left in all"),
    ("size=1M:fallback=nowhere", "no partition is called"),
])
def test_what_init_would_say(definition, text, capsys):
    assert command.main(["plan", "-n", "2", "--xml", str(SNC4), "--partition", definition]) == 1
    assert text in capsys.readouterr().out


def test_preferred_falls_back(capsys):
    cache = SAVED / "knl-a2a-cache.xml"
    assert command.main(["plan", "-n", "2", "--xml", str(cache), "--partition", "size=1M:kind=MCDRAM:policy=P"]) == 0
    assert "falls back" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [
    ["plan"], ["plan", "-n", "0"], ["plan", "-n", "1", "--bind", "moon"], ["plan", "-n", "1", "--svg", "x.png"],
    ["plan", "-n", "1", "--xml", "/nowhere.xml"], ["plan", "-n", "1", "--svg", "/nowhere/x.svg"],
])
def test_mistakes_in_the_command(arguments, capfd):
    try:
        status = command.main(arguments)
    except SystemExit as ended:
        status = ended.code
    assert status == 2 and capfd.readouterr().err


def test_this_machine():
    made = plan.make(1, None, "none", ["size=1M:kind=DDR"])
    assert made["fits"] and not made["saved"]
    assert all(0 < node["free"] <= node["size"] for node in made["nodes"])


def test_colour_on_a_terminal_only(monkeypatch):
    from pyshmem import colour

    class Terminal:
        def __init__(self, there):
            self.isatty = lambda: there

    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\033" in colour.painter(Terminal(True))("x", "bad")
    assert colour.painter(Terminal(False))("x", "bad") == "x"
    monkeypatch.setenv("NO_COLOR", "1")
    assert colour.painter(Terminal(True))("x", "bad") == "x"
