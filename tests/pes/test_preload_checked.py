"""The preload library, and all that it loads, under tools that watch each access to memory.

The engines have faults of their own under both tools, so that what counts is where an error was made: in our code, or
below it, but not where we start and stop the engine; or of what, if that came from our code.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from xml.etree import ElementTree

import pytest
from jobs import Result, launcher, run_command
from unaware import SOURCES
from watched import ELSEWHERE, LIBRARY, PRELOADED, PROGRAM, compiled, sanitized_program

from pyshmem.build import preload_library

DEFINED = {"SHMEM_SYMMETRIC_PARTITION1": "size=16M:kind=NODES(0)", "SHMEM_SYMMETRIC_PARTITION2": "size=8M:name=large",
           "SHMEM_SYMMETRIC_PARTITION7": "size=4M:kind=NODES(0):policy=INTERLEAVED:fallback=large",
           "SHMEM_PARTITION_RULES": "size>=50K:large; size<32:7", "PYSHMEM_REPORT": "1", **ELSEWHERE}
OURS = (LIBRARY, PRELOADED, "every")
PASSED_OVER = ("libc.so", "ld-linux", "vgpreload_", "valgrind", "libstdc++", "libhwloc.so")
LOADING = "_dl_open"  # which reads texts by words, at times beyond their end
ENGINES = ("start_engine", "partitions_stop", "leave")  # below which the engines do what they do without us


def run(pes: int, *program: str) -> Result:
    return run_command([*launcher(), "run", "-n", str(pes), "--", *program], DEFINED)


def check_output(result: Result, pes: int) -> None:
    assert result.status == 0 and result.output.count("all well") == pes, result.output
    assert 'partition 7 "partition7"' in result.output, result.output
    for alignment in 0, 48:
        assert result.output.count(f"shmem_partition_align: alignment {alignment} is not a power of two") == pes


# ---- address and undefined behaviour ---------------------------------------------------------------------------------


@pytest.mark.parametrize("pes, start", [(1, "start_pes"), (1, "init_thread"), (2, "init")])
def test_sanitizers_find_nothing(sanitized_environment, tmp_path, pes, start):
    program = sanitized_program(tmp_path, "every")
    environment = [f"{name}={value}" for name, value in sanitized_environment.items()]
    # What engines never give back is not ours; valgrind, below, tells whose a leak is.
    result = run(pes, "env", *environment, "ASAN_OPTIONS=detect_leaks=0", program, start)
    check_output(result, pes)
    assert "Sanitizer" not in result.output and "runtime error" not in result.output, result.output


# ---- valgrind --------------------------------------------------------------------------------------------------------


def is_ours(stack: ElementTree.Element) -> bool:
    """Is something of ours in it, that did not just start or stop the engine?

    What the engine does wrong on our behalf is most often what it was given.
    """
    in_engine = False
    for frame in stack.iter("frame"):
        name = Path(frame.findtext("obj") or "").name
        if frame.findtext("fn") == LOADING:
            return False
        if name in OURS:
            return not (in_engine and frame.findtext("fn") in ENGINES)
        in_engine |= not name.startswith(PASSED_OVER)
    return False


def errors_of_ours(report: Path) -> list[str]:
    """The errors that one process made in our code, or with what came from it, as valgrind tells them."""
    tree = ElementTree.parse(report)
    return [ElementTree.tostring(error, encoding="unicode") for error in tree.iter("error")
            if any(is_ours(stack) for stack in error.iter("stack"))]


@pytest.mark.parametrize("pes, start", [(1, "start_pes"), (2, "init")])
def test_valgrind_finds_nothing(tmp_path, pes, start):
    assert shutil.which("valgrind"), "valgrind is missing: apt-get install valgrind"
    program = compiled(tmp_path / "every", *PROGRAM, str(SOURCES / "every.c"))
    result = run(pes, "env", f"LD_PRELOAD={preload_library()}", "valgrind", "--quiet", "--fair-sched=yes", "--xml=yes",
                 f"--xml-file={tmp_path}/%p.xml", "--leak-check=full", "--show-leak-kinds=definite",
                 "--track-origins=yes", "--num-callers=40",  # as deep as the C library may go below us
                 str(program), start)
    check_output(result, pes)
    reports = sorted(tmp_path.glob("*.xml"))
    assert len(reports) == pes
    for report in reports:
        assert errors_of_ours(report) == []
