"""What the pages show is what the tools print and draw: run again, compared to the letter.

``PYSHMEM_WRITE_DOCUMENTATION=1`` puts what they print and draw now into the pages, to be looked at and committed.
"""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

import pytest

from pyshmem import command, gathered, plan, topology

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/machines.md"
BLOCK = re.compile(r"```console\n\$ pyshmem ((?:.*\\\n)*.*)\n((?:.*\n)*?)```")
WRITE = os.environ.get("PYSHMEM_WRITE_DOCUMENTATION") == "1"
SHOWN = BLOCK.findall(PAGE.read_text())


@pytest.fixture(autouse=True)
def user(monkeypatch):
    """One who set nothing, in a clone."""
    monkeypatch.chdir(ROOT)
    for name in ("SHMEM_SYMMETRIC_SIZE", "SMA_SYMMETRIC_SIZE", "SHMEM_SYMMETRIC_HEAP_SIZE"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("line, output", SHOWN, ids=[" ".join(line.split()[:1]) + str(i) for i, (line, _) in
                                                     enumerate(SHOWN)])
def test_page_shows_what_is_printed(line, output, capsys, tmp_path):
    words = shlex.split(line.replace("\\\n", " "))
    picture = Path(words[words.index("--svg") + 1]) if "--svg" in words else None
    if picture:
        words[words.index(str(picture))] = str(picture if WRITE else tmp_path / picture.name)
    status = command.main(words)
    printed = capsys.readouterr().out
    if WRITE:
        PAGE.write_text(PAGE.read_text().replace(f"$ pyshmem {line}\n{output}```", f"$ pyshmem {line}\n{printed}```"))
        return
    assert printed == output
    assert status == (1 if "would fail" in output else 0)
    if picture:
        assert (tmp_path / picture.name).read_text() == picture.read_text()


def test_every_picture_is_drawn_and_shown():
    drawn = {Path(word).name for line, _ in SHOWN for word in line.split() if word.endswith(".svg")}
    shown = set(re.findall(r"!\[[^]]*\]\(pictures/(.*?)\)", PAGE.read_text()))
    assert drawn == shown == {path.name for path in (ROOT / "docs/pictures").iterdir()}


def keys(data) -> set[str]:
    """All keys, except those that are numbers."""
    if isinstance(data, dict):
        return {key for key in data if not key.isdigit()}.union(*map(keys, data.values()))
    return set().union(*map(keys, data)) if isinstance(data, list) else set()


def test_every_key_is_documented():
    saved = ROOT / "docs/topologies/cxl.xml"
    machine = topology.recognise(saved)
    record = dict.fromkeys(gathered.KEPT, 0) | {"id": 2, "name": "fast"}
    said = [{"pe": pe, "host": "a", "node": 0, "machine": machine, "placements": [
        {"partition": 2, "bound": "0", "fell_back": False, "nodes": {str(pe): 1}, "absent": 0}]} for pe in (0, 1)]
    report = gathered.assemble(said, [record])
    assert len(report["outliers"]) == 1
    documented = set(re.findall(r"`(\w+)`", (ROOT / "docs/reports.md").read_text()))
    assert keys([machine, plan.make(2, saved, "core", ["size=1M:kind=DDR"]), report]) <= documented
