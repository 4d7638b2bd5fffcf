"""``pyshmem topology``: what it says of saved machines, against what is known of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pyshmem import command, topology

SAVED = Path(__file__).parent / "topologies"


def nodes(name):
    return {node["node"]: node for node in topology.recognise(SAVED / name)["nodes"]}


def test_snc4_hybrid():
    found = nodes("knl-snc4-hybrid.xml")
    assert {number: node["memory"] for number, node in found.items()} == (
        dict.fromkeys(range(4), "DRAM") | dict.fromkeys(range(4, 8), "MCDRAM"))
    assert {number for number, node in found.items() if node["fast"]} == {4, 5, 6, 7}
    assert found[0]["cpus"] == found[7]["cpus"] and found[1]["cpus"] == found[4]["cpus"]
    assert all(node["free"] is None and node["size"] > 0 for node in found.values())


@pytest.mark.parametrize("name", sorted(path.name for path in SAVED.glob("*.xml")))
def test_table_is_readable(name, capsys):
    assert command.main(["topology", "--xml", str(SAVED / name)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert all(len(line) <= 80 for line in lines), max(lines, key=len)
    assert command.main(["topology", "--xml", str(SAVED / name), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said == topology.recognise(SAVED / name)
    for node in said["nodes"]:
        assert any(line.split()[:2] == [str(node["node"]), node["memory"]] for line in lines)


def test_cache_mode_says_so(capsys):
    command.main(["topology", "--xml", str(SAVED / "knl-a2a-cache.xml")])
    output = capsys.readouterr().out
    assert "node 0 is behind a memory-side cache" in output and "FASTMEM" not in output


def test_this_machine(capsys):
    assert command.main(["topology"]) == 0
    assert "node" in capsys.readouterr().out
    assert all(node["free"] <= node["size"] for node in topology.recognise()["nodes"])


@pytest.mark.parametrize("content, text", [(None, "cannot read"), ("<topology", "damaged"), ("", "damaged")])
def test_files_that_are_none(content, text, tmp_path, capfd):
    path = tmp_path / "machine.xml"
    if content is not None:
        path.write_text(content)
    assert command.main(["topology", "--xml", str(path)]) == 2
    assert text in capfd.readouterr().err
