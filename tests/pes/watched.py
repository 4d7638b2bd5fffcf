"""Ours, made to be preloaded as the build makes them, but watched by the compiler's sanitizers."""

from __future__ import annotations

import subprocess
from pathlib import Path

from jobs import ROOT, run_command

import pyshmem

SOURCES = ROOT / "tests/pes/preload"
SANITIZE = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
STRICT = ["-std=c11", "-O1", "-g", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
PROGRAM = ["-Wno-deprecated-declarations", f"-I{ROOT / 'include'}"]
LIBRARY, PRELOADED = "libshmem_partition.so.1", "libshmem_partition_preload.so"
# Open MPI's heap lies where the address sanitizer has its own tables, unless it is told another place.
ELSEWHERE = {"OMPI_MCA_sshmem_base_start_address": str(3 << 44)}


def compiled(made: Path, *arguments: str) -> Path:
    """A program or library, made with the engine's wrapper."""
    oshcc = pyshmem.build_info()["oshcc"] or "oshcc"
    done = run_command([oshcc, *STRICT, *arguments, "-o", str(made)])
    assert done.status == 0, done.output
    return made


def sanitized_program(directory: Path, name: str) -> str:
    """A program of ``preload/``, which nothing of ours is linked to."""
    return str(compiled(directory / name, *SANITIZE, *PROGRAM, str(SOURCES / f"{name}.c")))


def sanitized_libraries(directory: Path) -> dict[str, str]:
    """The environment of a process that has them preloaded."""
    features = pyshmem.build_info()["features"]
    (directory / "has.h").write_text("".join(f"#define {name} {int(has)}\n" for name, has in features.items()))
    shared = [*SANITIZE, "-shared", "-fPIC", "-fvisibility=hidden", f"-I{directory}", f"-I{ROOT / 'include'}"]
    hwloc = subprocess.run(["pkg-config", "--cflags", "--libs", "hwloc"], capture_output=True, text=True, check=True)
    compiled(directory / LIBRARY, *shared, *map(str, [*ROOT.glob("src/*.c"), *ROOT.glob("src/engine/*.c")]),
             f"-Wl,-soname,{LIBRARY}", "-Wl,-Bsymbolic",
             f"-Wl,--version-script={ROOT / 'src/libshmem_partition.map'}", *hwloc.stdout.split(), "-ldl")
    done = run_command(["gcc", *STRICT, *shared, *map(str, ROOT.glob("src/preload/*.c")), f'-DLIBRARY="{LIBRARY}"',
                        "-Wl,-rpath,$ORIGIN", f"-Wl,--version-script={ROOT / 'src/preload/mappings.map'}", "-ldl",
                        "-o", str(directory / PRELOADED)])
    assert done.status == 0, done.output
    tool = subprocess.run(["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True)
    # The tool opens libraries in our library's place, and so does not know where that one's are.
    return {"LD_PRELOAD": f"{Path(tool.stdout.strip()).resolve()}:{directory / PRELOADED}",
            "LD_LIBRARY_PATH": str(directory)}
