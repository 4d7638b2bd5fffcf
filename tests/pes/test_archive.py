"""Programs with the library linked into them, and on engines that allow it with the engine linked into them too."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from jobs import ROOT, check_job, run_job
from unaware import ALL_BOUND, FIRST, NONE_BOUND, SOURCES, bindings, compiled, package_flags, wrapper

from pyshmem.build import preload_library

ENGINE = Path(wrapper()).resolve().parent.parent
SANDIA = ENGINE / "lib/libsma.a"
# How to link the engine: as its wrapper does, and with nothing of it left for the loader (Debian's has no archive).
LINKED = {"shared": ((), [])} | ({"static": (
    ("gcc", f"-I{ENGINE / 'include'}"),
    [str(SANDIA), *map(str, SANDIA.parent.glob("libpmi_simple.a")), "-lfabric", "-lhwloc", "-lpthread"])}
    if SANDIA.exists() else {})
# Names that the library has inside, and that are the program's business there.
CLASHES = "int engine, library, pages_exist, heap_create, blocks_place; int engine_malloc(void) { return 1; }\n"


def libraries(program: str) -> set[str]:
    """What the loader is to bring."""
    text = subprocess.run(["readelf", "-d", program], capture_output=True, text=True, check=True).stdout
    return set(re.findall(r"NEEDED.*\[(\w+)", text))


@pytest.fixture(scope="module", params=LINKED)
def linked(request, tmp_path_factory):
    """Make a program of some source, with the library linked into it."""
    directory = tmp_path_factory.mktemp("linked")
    compiler, engine = LINKED[request.param]

    def linked(*arguments):
        program = compiled(directory / Path(arguments[0]).stem, *arguments, *package_flags("shmem_partition_static"),
                           *engine, compiler=compiler)
        assert not libraries(program) & ({"libshmem_partition"} | ({"libsma"} if engine else set()))
        return program

    return linked


@pytest.fixture(scope="module")
def app(linked, tmp_path_factory):
    clashes = tmp_path_factory.mktemp("clashes") / "clashes.c"
    clashes.write_text(CLASHES)
    return linked(str(SOURCES / "app.c"), str(clashes), "-Wno-deprecated-declarations")


@pytest.mark.parametrize("arguments", [[], ["old"], ["children"]])
def test_partition_1_takes_all_allocations(app, arguments):
    assert bindings(check_job(2, [app, *arguments], FIRST)) == ALL_BOUND


def test_without_definitions_it_is_the_engine_that_serves(app):
    output = check_job(2, [app], {"SHMEM_SYMMETRIC_SIZE": "96M"})
    assert bindings(output) == NONE_BOUND and output.count("environment 96M") == 2


@pytest.mark.parametrize("preload, when", [([], "late"), ([f"LD_PRELOAD={preload_library()}"], "early")])
def test_placement_is_early_with_the_preload_library(app, preload, when):
    output = check_job(2, ["env", *preload, app], FIRST | {"PYSHMEM_REPORT": "1"})
    assert bindings(output) == ALL_BOUND and output.count(f"on node 0, placed {when}") == 1, output


def test_errors_end_the_job_with_one_message(app):
    result = run_job(2, [app], {"SHMEM_SYMMETRIC_PARTITION1": "size=64M:kind=FASTMEN"})
    assert result.status == 1 and result.output.count("shmem_partition: ") == 1, result.output
    assert 'unknown kind "FASTMEN"; did you mean "FASTMEM"?' in result.output, result.output


def test_partitions_by_their_own_functions(linked):
    output = check_job(2, [linked(str(ROOT / "examples/c/seven.c"))])
    assert output.count("all patterns are right") == 2, output
