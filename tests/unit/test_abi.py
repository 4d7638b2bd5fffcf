"""What programs were built against stays: exported names, structure layouts, sonames; lists only grow."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pyshmem
from pyshmem.build import include_directory, library_directory, preload_library

ROOT = Path(__file__).resolve().parents[2]
# Of SHMEM_PARTITION_1.0.  A name that is added needs a line here; one that is taken away needs a new soname.
PARTITIONS = """
    shmem_partition_align shmem_partition_calloc shmem_partition_count shmem_partition_define shmem_partition_discard
    shmem_partition_error shmem_partition_failed_pe shmem_partition_finalize_at_exit shmem_partition_find
    shmem_partition_free shmem_partition_id shmem_partition_id_at shmem_partition_init_thread shmem_partition_malloc
    shmem_partition_memory shmem_partition_migrate shmem_partition_migrate_range shmem_partition_of
    shmem_partition_outlive shmem_partition_placement shmem_partition_platform shmem_partition_query
    shmem_partition_realloc shmem_partition_release shmem_partition_reserve shmemx_kind_align shmemx_kind_malloc
"""
OPENSHMEM = """
    shmem_init shmem_init_thread shmem_finalize shmem_malloc shmem_calloc shmem_align shmem_realloc shmem_free
    shmem_malloc_with_hints start_pes shmalloc shmemalign shrealloc shfree
"""
PROFILED = """
    pshmem_init pshmem_init_thread pshmem_finalize pshmem_malloc pshmem_calloc pshmem_align pshmem_realloc pshmem_free
    pstart_pes pshmalloc pshmemalign pshrealloc pshfree
"""
# Offsets on 64-bit machines, counted by hand; the caller owns the structure, so its size may not change either.
INFO = {"id": 0, "name": 4, "kind": 68, "policy": 132, "origin": 148, "nodes": 188, "fell_back": 444, "page_size": 448,
        "huge_bytes": 456, "transparent": 464, "size": 472, "used": 480, "peak": 488, "largest_free": 496, "live": 504,
        "fallback": 512, "diverted": 576, "base": 584, "moved_to": 592, "weighted": 656,
        "placed_early": 660}
INFO_BYTES = 664


def output(*command) -> str:
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True).stdout


def taken_over() -> set[str]:
    """OpenSHMEM's names that are ours on this engine."""
    features = pyshmem.build_info()["features"]
    names = set(OPENSHMEM.split())
    if features["ENGINE_HAS_PROFILING_NAMES"]:
        names |= set(PROFILED.split())
    return names | ({"shmemx_malloc_with_hint"} if features["ENGINE_HAS_OLD_HINT"] else set())


def exported(library: Path) -> dict[str, str]:
    """Names and the version that each has ("" for none)."""
    lines = [line.split()[-1] for line in output("nm", "-D", "--defined-only", library).splitlines()]
    pairs = [line.partition("@")[::2] for line in lines]
    return {name: version.lstrip("@") for name, version in pairs if not name.startswith(("SHMEM_PARTITION_", "GLIBC_"))}


def test_exported_names():
    names = exported(library_directory() / "libshmem_partition.so.1")
    assert {name for name, version in names.items() if version == "SHMEM_PARTITION_1.0"} == (
        taken_over() | set(PARTITIONS.split()))
    others = {name for name, version in names.items() if version != "SHMEM_PARTITION_1.0"}
    assert {names[name] for name in others} == {"SHMEM_PARTITION_PRIVATE"}  # pyshmem's own, bound to its own build


def test_exported_names_of_the_preload_library():
    names = exported(preload_library())
    of_libc = {name for name, version in names.items() if version.startswith("GLIBC_")}
    assert of_libc == {"mmap", "mmap64", "shmat", "malloc"}  # with the version of the C library's own, see mappings.c
    assert set(names) - of_libc == taken_over() | {"shmemx_kind_malloc", "shmemx_kind_align",
                                                   "shmem_partition_watch_mappings", "shmem_partition_pass_on"}


def test_names_of_the_archive():
    """It has the same names, but those of OpenSHMEM as the linker's --wrap wants them, and no others to clash with."""
    lines = output("nm", "--defined-only", "--extern-only", library_directory() / "libshmem_partition.a").splitlines()
    names = {line.split()[-1] for line in lines if " T " in line}
    assert len(names) == sum(len(line.split()) == 3 for line in lines)
    assert names == set(PARTITIONS.split()) | {f"__wrap_{name}" for name in taken_over()}


def test_header_declares_what_is_exported():
    header = (include_directory() / "shmem_partition.h").read_text()
    code = re.sub(r"/\*.*?\*/", "", header, flags=re.DOTALL)
    declared = set(re.findall(r"\b(shmemx?_\w+)\s*\(", code))
    assert declared == set(PARTITIONS.split()) | {"shmem_malloc_with_hints"}


def test_libraries_are_found_by_their_names():
    library = output("readelf", "-d", library_directory() / "libshmem_partition.so.1")
    assert re.findall(r"SONAME.*\[(.*)\]", library) == ["libshmem_partition.so.1"]
    preload = output("readelf", "-d", preload_library())
    assert re.findall(r"NEEDED.*\[(.*)\]", preload) == ["libc.so.6"]  # it is loaded into programs of all kinds


def test_structure_layout(tmp_path):
    program = tmp_path / "layout.c"
    lines = "".join(f'    printf("{field} %zu\\n", offsetof(shmem_partition_info_t, {field}));\n' for field in INFO)
    program.write_text("#include <shmem_partition.h>\nint main(void)\n{\n" + lines +
                       '    printf("%zu\\n", sizeof(shmem_partition_info_t));\n}\n')
    output("gcc", f"-I{include_directory()}", program, "-o", tmp_path / "layout")
    *fields, whole = output(tmp_path / "layout").splitlines()
    assert {name: int(offset) for name, offset in map(str.split, fields)} == INFO
    assert int(whole) == INFO_BYTES


def test_every_function_has_a_manual_page():
    """Installed where man looks for what is on PATH, under each name."""
    manual = Path(sys.prefix, "share/man")
    for name in PARTITIONS.split():
        text = (manual / "man3" / f"{name}.3").read_text()
        if text.startswith(".so "):
            text = (manual / text.split()[1]).read_text()
        assert re.search(rf"^\.Fn {name} ", text, re.MULTILINE), name
    assert "SHMEM_PARTITION_RULES" in (manual / "man7/shmem_partition.7").read_text()


def test_manual_pages_are_without_fault():
    assert shutil.which("groff"), "groff is missing: apt-get install groff-base"
    pages = sorted(ROOT.glob("man/*"))
    assert len(pages) == 5
    for page in pages:
        done = subprocess.run(["groff", "-mdoc", "-ww", "-z", str(page)], capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, ""), page
