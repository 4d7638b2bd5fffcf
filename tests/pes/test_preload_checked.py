"""The preload library, and all that it loads, under tools that watch each access to memory.

The engines have faults of their own under both tools, so that what counts is where an error was made: the innermost
place that is no C library's, and not hwloc's, which does what it is asked.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest
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


def run(pes: int, *program: str) -> Result:
    return run_command([*launcher(), "run", "-n", str(pes), "--", *program], DEFINED)


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
