"""The preload library, and all that it loads, under tools that watch each access to memory.

The engines have faults of their own under both tools, so that what counts is where an error was made: the innermost
place that is no C library's, and not hwloc's, which does what it is asked.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from jobs import ROOT, Result, launcher, run_command

import pyshmem
from pyshmem.build import preload_library

SOURCES = ROOT / "tests/pes/preload"
DEFINED = {"SHMEM_SYMMETRIC_PARTITION1": "size=16M:kind=NODES(0)", "SHMEM_SYMMETRIC_PARTITION2": "size=8M:name=large",
           "SHMEM_SYMMETRIC_PARTITION7": "size=4M:kind=NODES(0):policy=INTERLEAVED:fallback=large",
           "SHMEM_PARTITION_RULES": "size>=50K:large; size<32:7", "PYSHMEM_REPORT": "1",
           # Open MPI's heap lies where the address sanitizer has its own tables, unless it is told another place.
           "OMPI_MCA_sshmem_base_start_address": str(3 << 44)}
SANITIZE = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
STRICT = ["-std=c11", "-O1", "-g", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
OURS = ("libshmem_partition.so.1", "libshmem_partition_preload.so", "every")
PASSED_OVER = ("libc.so", "ld-linux", "vgpreload_", "valgrind", "libstdc++", "libhwloc.so")
LOADING = "_dl_open"  # which reads texts by words, at times beyond their end


def compiled(made: Path, *arguments: str) -> Path:
    """A program or library, made with the engine's wrapper."""
    oshcc = pyshmem.build_info()["oshcc"] or "oshcc"
    done = run_command([oshcc, *STRICT, *arguments, "-o", str(made)])
    assert done.status == 0, done.output
    return made


def run(pes: int, *program: str, environment: Mapping[str, str] = DEFINED) -> Result:
    return run_command([*launcher(), "run", "-n", str(pes), "--", *program], environment)


def check_output(result: Result, pes: int) -> None:
    assert result.status == 0 and result.output.count("all well") == pes, result.output
    assert 'partition 7 "partition7"' in result.output, result.output


# ---- address and undefined behaviour ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def sanitized(tmp_path_factory):
    """The program, and the environment in which ours are preloaded as the build makes them, but watched."""
    directory = tmp_path_factory.mktemp("sanitized")
    features = pyshmem.build_info()["features"]
    (directory / "has.h").write_text("".join(f"#define {name} {int(has)}\n" for name, has in features.items()))
    shared = [*SANITIZE, "-shared", "-fPIC", "-fvisibility=hidden", f"-I{directory}", f"-I{ROOT / 'include'}"]
    hwloc = subprocess.run(["pkg-config", "--cflags", "--libs", "hwloc"], capture_output=True, text=True, check=True)
    compiled(directory / OURS[0], *shared, *map(str, [*ROOT.glob("src/*.c"), *ROOT.glob("src/engine/*.c")]),
             f"-Wl,-soname,{OURS[0]}", "-Wl,-Bsymbolic",
             f"-Wl,--version-script={ROOT / 'src/libshmem_partition.map'}", *hwloc.stdout.split(), "-ldl")
    preload = directory / OURS[1]
    done = run_command(["gcc", *STRICT, *shared, *map(str, ROOT.glob("src/preload/*.c")), f'-DLIBRARY="{OURS[0]}"',
                        "-Wl,-rpath,$ORIGIN", f"-Wl,--version-script={ROOT / 'src/preload/mappings.map'}", "-ldl",
                        "-o", str(preload)])
    assert done.status == 0, done.output
    program = compiled(directory / "every", *SANITIZE, "-Wno-deprecated-declarations", str(SOURCES / "every.c"))
    tool = subprocess.run(["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True)
    # The tool opens libraries in our library's place, and so does not know where that one's are.
    libraries = f"{Path(tool.stdout.strip()).resolve()}:{preload}"
    return str(program), [f"LD_PRELOAD={libraries}", f"LD_LIBRARY_PATH={directory}"]


@pytest.mark.parametrize("pes", [1, 2])
def test_sanitizers_find_nothing(sanitized, pes):
    program, environment = sanitized
    # What engines never give back is not ours; valgrind, below, tells whose a leak is.
    result = run(pes, "env", *environment, "ASAN_OPTIONS=detect_leaks=0", program)
    check_output(result, pes)
    assert "Sanitizer" not in result.output and "runtime error" not in result.output, result.output


# ---- any environment -------------------------------------------------------------------------------------------------


VARIABLES = [*(f"SHMEM_SYMMETRIC_PARTITION{number}" for number in ("1", "2", "02", "7", "127", "0", "128", "x", "")),
             "SMA_SYMMETRIC_PARTITION2", "SHMEM_PARTITION_RULES", "PYSHMEM_EARLY", "PYSHMEM_POPULATE", "PYSHMEM_REPORT"]
WORDS = ["size=", "16M", "4M", "1e3", "kind=", "DEFAULT", "FASTMEM", "NODES(0)", "NODES(0-", "+", "policy=",
         "PREFERRED", "INTERLEAVED", ",local", "pgsize=", "4K", "THP", "name=", "fast", "fallback=", ":", ";", ">",
         ">=", "<", "size", "site=", "libc.so*", "-1", "0", "18446744073709551616", "9" * 400, "\t", " ", "'", "=",
         "%s%n"]
RAW = st.binary(min_size=1, max_size=300).map(lambda raw: os.fsdecode(raw.replace(b"\0", b"")))
NEARLY = st.lists(st.sampled_from(WORDS), max_size=30).map("".join)
RIGHT = st.builds("size={}M:kind={}:policy={}".format, st.integers(1, 16), st.sampled_from(["DEFAULT", "NODES(0)"]),
                  st.sampled_from(["MANDATORY", "PREFERRED"]))
SPOILT = st.builds(lambda text, at, piece: text[:at] + piece + text[at + 1:], RIGHT, st.integers(0, 40), NEARLY)
ENVIRONMENTS = st.dictionaries(st.sampled_from(VARIABLES), RIGHT | SPOILT | NEARLY | RAW, min_size=1, max_size=4)
ELSEWHERE = {name: value for name, value in DEFINED.items() if name.startswith("OMPI_")}


@settings(max_examples=int(os.environ.get("PYSHMEM_TEST_EXAMPLES", "12")), deadline=None, derandomize=True,
          suppress_health_check=list(HealthCheck), phases=[Phase.generate])
@given(environment=ENVIRONMENTS)
def test_any_environment_is_used_or_refused_in_words(sanitized, tmp_path_factory, environment):
    """Whatever the variables say, the program runs to its end with the right values, or is told why it cannot."""
    program, preloaded = sanitized
    scratch = tmp_path_factory.mktemp("fuzzed")  # reports may go to a file of any name
    result = run(1, "env", "-C", str(scratch), *preloaded, "ASAN_OPTIONS=detect_leaks=0", program,
                 environment=ELSEWHERE | environment)
    assert "Sanitizer" not in result.output and "runtime error" not in result.output, result.output
    if result.status == 0:
        assert result.output.count("all well") == 1, result.output
    else:
        assert 0 < result.status < 128, result.output
        assert "shmem_partition: " in result.output or "PE 0: no memory" in result.output, result.output


@pytest.mark.parametrize("definition", ["size=16M:kind=NODES(0):policy=PREFERRED", "size=16M:kind=DEFAULT"])
def test_right_definitions_are_used(sanitized, definition):
    program, preloaded = sanitized
    result = run(1, "env", *preloaded, "ASAN_OPTIONS=detect_leaks=0", program,
                 environment=ELSEWHERE | {"SHMEM_SYMMETRIC_PARTITION1": definition})
    assert result.status == 0 and result.output.count("all well") == 1, result.output


# ---- valgrind --------------------------------------------------------------------------------------------------------


def is_ours(stack: ElementTree.Element) -> bool:
    """Is the innermost place outside the C library, and hwloc, in something of ours?"""
    for frame in stack.iter("frame"):
        if frame.findtext("fn") == LOADING:
            return False
        name = Path(frame.findtext("obj") or "").name
        if name and not name.startswith(PASSED_OVER):
            return name in OURS
    return False


def errors_of_ours(report: Path) -> list[str]:
    """The errors that one process made in our code, as valgrind tells them."""
    tree = ElementTree.parse(report)
    return [ElementTree.tostring(error, encoding="unicode") for error in tree.iter("error")
            if any(is_ours(stack) for stack in error.iter("stack"))]


@pytest.mark.parametrize("pes", [1, 2])
def test_valgrind_finds_nothing(tmp_path, pes):
    assert shutil.which("valgrind"), "valgrind is missing: apt-get install valgrind"
    program = compiled(tmp_path / "every", "-Wno-deprecated-declarations", str(SOURCES / "every.c"))
    result = run(pes, "env", f"LD_PRELOAD={preload_library()}", "valgrind", "--quiet", "--fair-sched=yes", "--xml=yes",
                 f"--xml-file={tmp_path}/%p.xml", "--leak-check=full", "--show-leak-kinds=definite",
                 "--num-callers=40", str(program))  # as deep as the C library may go below us
    check_output(result, pes)
    reports = sorted(tmp_path.glob("*.xml"))
    assert len(reports) == pes
    for report in reports:
        assert errors_of_ours(report) == []
