"""C programs built without the library, with it preloaded: in partitions if some are defined, else as without it.

Where pages are and how they are bound says the program itself, from the kernel (``preload/app.c``).
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from jobs import ROOT, check_job, launcher, run_command, run_job
from unaware import (
    ALL_BOUND,
    FIRST,
    MPOL_BIND,
    MPOL_DEFAULT,
    MPOL_PREFERRED,
    NONE_BOUND,
    SOURCES,
    bindings,
    compiled,
    package_flags,
    places,
)

import pyshmem
from pyshmem.build import include_directory, library_directory


def preloaded(program, environment=()):
    return run_command([*launcher(), "run", "--preload", "-n", "2", *program], dict(environment))


@pytest.fixture(scope="module")
def build(tmp_path_factory):
    """Compile a file of ``preload/`` with the engine's own wrapper and nothing of ours."""
    directory = tmp_path_factory.mktemp("preload")

    def build(name, *flags, compiler=()):
        return compiled(directory / name, str(SOURCES / f"{name}.c"), *flags, compiler=compiler)

    return build


@pytest.fixture(scope="module")
def app(build):
    return build("app", "-Wno-deprecated-declarations")


@pytest.mark.parametrize("arguments", [[], ["old"], ["children"]])
def test_partition_1_takes_all_allocations(app, arguments):
    result = preloaded([app, *arguments], FIRST)
    assert result.status == 0 and "wrong byte" not in result.output, result.output
    assert bindings(result.output) == ALL_BOUND
    assert result.output.count("environment unset") == 2
    assert result.output.count("child is fine") == (2 if arguments == ["children"] else 0)


OPEN_MPI = [{"OMPI_MCA_sshmem": "ucx"}, {"OMPI_MCA_sshmem": "sysv"}, {"OMPI_MCA_sshmem": "mmap"},
            {"OMPI_MCA_sshmem": "mmap", "OMPI_MCA_sshmem_mmap_anonymous": "0"}]
SANDIA = [{"SHMEM_SYMMETRIC_HEAP_USE_MALLOC": "1"}, {"SHMEM_SYMMETRIC_HEAP_USE_HUGE_PAGES": "1"}]


@pytest.mark.parametrize("heap", OPEN_MPI if "Open MPI" in pyshmem.build_info()["engine"] else SANDIA)
def test_placement_is_early_however_the_engine_makes_its_heap(app, heap):
    result = preloaded([app], FIRST | heap | {"PYSHMEM_REPORT": "1"})
    assert result.status == 0 and result.output.count("on node 0, placed early") == 1, result.output
    assert bindings(result.output) == ALL_BOUND


def test_placement_is_late_if_early_is_turned_off(app):
    result = preloaded([app], FIRST | {"PYSHMEM_REPORT": "1", "PYSHMEM_EARLY": "0"})
    assert result.status == 0 and result.output.count("on node 0, placed late") == 1, result.output


def test_alignments_may_be_far_above_that_of_the_block(app):
    """The partition's block is at a multiple of 2 MiB, which is not the most that a program may ask for."""
    result = preloaded([app, "aligned"], FIRST)
    assert result.status == 0 and result.output.count("0 alignments are wrong") == 2, result.output


def test_without_definitions_nothing_changes(app):
    size = {"SHMEM_SYMMETRIC_SIZE": "96M"}
    plain, result = check_job(2, [app], size), preloaded([app], size)
    assert result.status == 0, result.output
    assert bindings(result.output) == bindings(plain) == NONE_BOUND
    assert places(result.output) == places(plain)
    assert result.output.count("environment 96M") == 2


def test_other_partitions_leave_the_default_heap_alone(app):
    result = preloaded([app], {"SMA_SYMMETRIC_PARTITION7": "size=8M:kind=NODES(0)"})
    assert result.status == 0, result.output
    assert bindings(result.output) == NONE_BOUND


def test_bad_definition_ends_the_job_with_one_message(app):
    result = preloaded([app], {"SHMEM_SYMMETRIC_PARTITION1": "size=64M:knd=DDR"})
    assert result.status != 0 and "PE 0: malloc" not in result.output
    assert result.output.count("SHMEM_SYMMETRIC_PARTITION1=size=64M:knd=DDR\n") == 1, result.output
    assert "^~~" in result.output and 'did you mean "kind"' in result.output


@pytest.mark.parametrize("name, value", [
    ("SHMEM_SYMMETRIC_PARTITION1", "size=64M:" + "kind=" * 4000),
    ("SHMEM_SYMMETRIC_PARTITION1", bytes(range(11, 256)).decode(errors="surrogateescape")),
    ("SMA_SYMMETRIC_PARTITION" + "9" * 300, "size=1M"),
    ("SHMEM_PARTITION_RULES", "size>=1K:1;" * 2000),
], ids=["long", "bytes", "name", "rules"])
def test_rubbish_is_refused_in_one_message(app, name, value):
    """What parses is the business of tests/c/spec_check.c; here, that nothing before and after it minds."""
    result = run_command([*launcher(), "run", "--preload", "-n", "1", app], FIRST | {name: value})
    assert 0 < result.status < 128 and "PE 0: malloc" not in result.output, result.output
    assert result.output.count("shmem_partition: ") == 1, result.output


def test_program_that_links_the_library_has_it_once(tmp_path):
    """Two copies of the library would have two heaps in one partition, and not know each other's pointers."""
    package, program = ROOT / "examples/c/seven.c", tmp_path / "seven"
    compiled(program, str(package), *package_flags("shmem_partition"))
    result = preloaded([str(program)], FIRST)
    assert result.status == 0 and result.output.count("all patterns are right") == 2, result.output


OTHER = """\
#include <shmem.h>
#include <string.h>
void shmem_info_get_name(char *name) { strcpy(name, "Another OpenSHMEM 7"); }
int main(void) { shmem_init(); shmem_finalize(); return 0; }
"""


def test_program_of_another_openshmem_library_is_told_so(tmp_path):
    """As when one is compiled by one library's wrapper, and linked with partitions that were built for the other's."""
    (tmp_path / "other.c").write_text(OTHER)
    program = compiled(tmp_path / "other", str(tmp_path / "other.c"), *package_flags("shmem_partition"))
    result = run_job(2, [program], FIRST)
    assert result.status == 1, result.output
    assert "uses another OpenSHMEM library (Another OpenSHMEM 7)" in result.output, result.output


RULED = {
    "SHMEM_SYMMETRIC_PARTITION2": "size=8M:kind=NODES(0):name=bound",
    "SHMEM_SYMMETRIC_PARTITION3": "size=8M:kind=NODES(0):policy=PREFERRED:name=preferred",
    "SHMEM_PARTITION_RULES": "site=libasks.so,size>4K:3; size>=64K:bound; size<200:preferred; site=ruled,size<=300:2",
}
DECIDED = {"malloc:65536": MPOL_BIND, "malloc:65535": MPOL_DEFAULT, "calloc:199": MPOL_PREFERRED,
           "malloc:200": MPOL_BIND, "calloc:300": MPOL_BIND, "malloc:301": MPOL_DEFAULT, "ask:300": MPOL_DEFAULT,
           "ask:4096": MPOL_DEFAULT, "ask:65536": MPOL_PREFERRED}


@pytest.fixture(scope="module")
def ruled(build):
    library = build("asks", "-shared", "-fPIC")
    named = Path(library).with_name("libasks.so.1")
    Path(library).rename(named)
    return build("ruled", str(named), f"-Wl,-rpath,{named.parent}", "-no-pie")


def test_rules_send_allocations_by_size_and_site(ruled):
    result = preloaded([ruled, *DECIDED], RULED | {"PYSHMEM_REPORT": "1"})
    assert result.status == 0, result.output
    found = re.findall(r"PE (\d): (\S+) policy (-?\d+)", result.output)
    assert {(int(pe), how): int(policy) for pe, how, policy in found} == {
        (pe, how): policy for pe in (0, 1) for how, policy in DECIDED.items()}
    assert re.findall(r'rule \d "(.*)": decided on (\d+)', result.output) == [
        ("site=libasks.so,size>4K:3", "1"), ("size>=64K:bound", "1"), ("size<200:preferred", "1"),
        ("site=ruled,size<=300:2", "2")]
    assert re.search(r'partition 2 "bound": 8 MiB, peak 64 KiB, NODES MANDATORY on node 0, placed early\n'
                     r"  pages of PE 0: node 0 8 MiB, not present 0 bytes", result.output), result.output


@pytest.mark.parametrize("rules, texts", [
    ("size>=64K:bond", ["SHMEM_PARTITION_RULES=size>=64K:bond\n", "^~~~", "no partition has this name"]),
    (None, ["the definitions of partitions differ", "here:    rule 1: sizes 11 to", "on PE 0: rule 1: sizes 10 to"]),
])
def test_bad_rules_end_the_job_with_one_message(ruled, rules, texts):
    differing = 'SHMEM_PARTITION_RULES="size>=1${OMPI_COMM_WORLD_RANK:-$PMI_RANK}:bound"'
    command = [ruled, "malloc:1"] if rules else ["sh", "-c", f'export {differing}; exec "$0" malloc:1', ruled]
    environment = {**RULED, "SHMEM_PARTITION_RULES": rules or ""}
    result = preloaded(command, environment)
    assert result.status != 0 and "policy" not in result.output, result.output
    for text in texts:
        assert result.output.count(text) == 1, result.output


def test_fortran_interface(tmp_path):
    """The installed interface file, compiled with the program; linked as in C, before the engine."""
    assert shutil.which("gfortran"), "gfortran is missing: apt-get install gfortran"
    build_info, lib = pyshmem.build_info(), library_directory()
    sources = [str(include_directory() / "shmem_partition.f90"), str(SOURCES / "words.f90")]
    compiled = run_command(["gfortran", "-std=f2008", "-Wall", "-c", *sources], cwd=tmp_path)
    assert (compiled.status, compiled.output) == (0, "")
    program = str(tmp_path / "words")
    linked = run_command([build_info["oshcc"] or "oshcc", "words.o", "shmem_partition.o", "-o", program, f"-L{lib}",
                          f"-Wl,-rpath,{lib}", "-lshmem_partition", "-lgfortran", "-lm"], cwd=tmp_path)
    assert linked.status == 0, linked.output
    output = check_job(2, [program], {"SHMEM_SYMMETRIC_PARTITION5": "size=1M:name=near"})
    # 1000 words from the left neighbour, each its number plus ten
    assert sorted(re.findall(r"PE .*", output)) == ["PE 0: partition 5 of 2, sum 11000",
                                                    "PE 1: partition 5 of 2, sum 10000"]


@pytest.mark.parametrize("environment", [{}, FIRST])
def test_profilers_before_and_behind(app, build, environment):
    """Before it a profiler sees the calls; behind it too if they are passed on; in no order do they go in circles."""
    profiler = build("profiler", "-shared", "-fPIC", "-Wl,-soname,profiler.so", compiler=("cc",))
    library = run_command([*launcher(), "config", "--preload"]).output.strip()
    expected = ALL_BOUND if environment else NONE_BOUND
    for libraries in ([profiler, library], [library, profiler]):
        result = run_job(2, ["env", f"LD_PRELOAD={':'.join(libraries)}", app], environment)
        assert result.status == 0 and bindings(result.output) == expected, result.output
        seen = not environment or libraries[0] == profiler
        # The program has two calls; an engine may come by once more on behalf of shmalloc().
        assert len(re.findall("profiler: [23] calls", result.output)) == (2 if seen else 0), result.output


def test_python_programs_are_served_once(tmp_path):
    program = tmp_path / "program.py"
    program.write_text("import pyshmem as shmem\nshmem.init()\na = shmem.ones(9)\n"
                       "print('partition', shmem.partitions()[0].id, a.sum(), shmem.partitions()[0].placed)\n")
    result = preloaded([str(program)], FIRST)
    assert result.status == 0 and result.output.count("partition 1 9.0 early") == 2, result.output


def test_other_processes_do_not_notice():
    """A process without OpenSHMEM gets one more library, which needs libc alone and runs nothing."""
    library = run_command([*launcher(), "config", "--preload"]).output.strip()
    loaded = run_command(["cat", "/proc/self/maps"], {"LD_PRELOAD": library, **FIRST})
    assert loaded.status == 0 and library in loaded.output
    assert not re.search(r"hwloc|libmpi|oshmem|libsma|libshmem_partition\.so\.", loaded.output), loaded.output
    result = run_command(["/bin/sh", "-c", "echo $0"], {"LD_PRELOAD": library, **FIRST})
    assert (result.status, result.output) == (0, "/bin/sh\n")


def test_call_without_an_openshmem_library_is_an_error(tmp_path):
    program = tmp_path / "alone.c"
    program.write_text("void shmem_init(void);\nint main(void) { shmem_init(); return 0; }\n")
    library = run_command([*launcher(), "config", "--preload"]).output.strip()
    built = run_command(["cc", str(program), library, "-o", str(tmp_path / "alone")])
    assert built.status == 0, built.output
    result = run_command([str(tmp_path / "alone")], {"LD_PRELOAD": library})
    assert result.status == 1
    assert result.output == "shmem_partition: this program has no OpenSHMEM library with shmem_init\n"
