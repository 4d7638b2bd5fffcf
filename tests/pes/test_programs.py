"""Programs that check themselves, on 1, 2, 3 and 4 PEs: each asserts against NumPy or the specification."""

from __future__ import annotations

from pathlib import Path

import pytest
from jobs import PE_COUNTS, check_job

PROGRAMS = sorted(Path(__file__).parent.glob("programs/*.py"))


@pytest.mark.parametrize("pes", PE_COUNTS)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_program(program, pes):
    output = check_job(pes, [str(program)])
    assert output.count("all well") == pes, output
