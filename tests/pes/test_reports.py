"""``PYSHMEM_REPORT=FILE``: written once, whole, and refused before anything takes long."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from jobs import check_job, launcher, run_command, run_job

PROGRAM = str(Path(__file__).parent / "programs/report_file.py")


def test_data_in_a_file(tmp_path):
    """The program compares it with the counts on each PE."""
    path = tmp_path / "report.json"
    check_job(2, [PROGRAM], {"PYSHMEM_REPORT": str(path)})
    assert json.loads(path.read_text())["pes"] == 2 and [one.name for one in tmp_path.iterdir()] == ["report.json"]


def test_picture_in_a_file(tmp_path):
    path = tmp_path / "report.SVG"
    check_job(2, [PROGRAM], {"PYSHMEM_REPORT": str(path)})
    texts = [one.text for one in ET.parse(path).getroot().iter("{http://www.w3.org/2000/svg}text")]
    assert "6 MiB: 2 PEs" in texts and "2 PEs, none out of line" in texts


@pytest.mark.parametrize("value, text", [
    ("report.txt", "a report is a table (1), or a file called something.json or something.svg"),
    ("/nowhere/report.json", "No such file or directory; PE 0 writes the report there"),
])
def test_refused_on_all_pes(value, text):
    result = run_job(2, [PROGRAM], {"PYSHMEM_REPORT": value})
    assert result.status != 0 and result.output.count(text) == 1 and "Traceback" not in result.output, result.output


def test_unknown_word_for_debugging_is_refused_on_all_pes():
    result = run_job(2, [PROGRAM], {"PYSHMEM_DEBUG": "leeks,collectives"})
    assert result.status != 0 and "Traceback" not in result.output, result.output
    assert result.output.count('unknown word "leeks"; did you mean "leaks"?') == 1, result.output


@pytest.mark.parametrize("definition", ["size=1M:kind=HBM+NVM", "size=1G:pgsize=3M", "size=1000M:pgsize=2M:kind=DDR"])
def test_plan_says_what_init_says(definition, tmp_path):
    program = tmp_path / "start.py"
    program.write_text("import pyshmem\npyshmem.init()\n")
    environment = {"SHMEM_SYMMETRIC_PARTITION7": definition}
    planned = run_command([*launcher(), "plan", "-n", "2"], environment)
    result = run_job(2, [str(program)], environment)
    assert planned.status == 1 and result.status != 0
    _, said = planned.output.split("would fail on PE 0:\n")
    assert said.strip() in result.output, result.output
