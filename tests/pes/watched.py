"""Ours, made to be preloaded as the build makes them, but watched by the compiler's sanitizers."""

from __future__ import annotations

import subprocess
from pathlib import Path

from jobs import ROOT
from unaware import SOURCES
from unaware import compiled as compiled_plainly

import pyshmem

SANITIZE = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
STRICT = ["-g", "-Wpedantic", "-Werror"]
PROGRAM = ["-Wno-deprecated-declarations", f"-I{ROOT / 'include'}"]
LIBRARY, PRELOADED = "libshmem_partition.so.1", "libshmem_partition_preload.so"
# Open MPI's heap lies where the address sanitizer has its own tables, unless it is told another place.
ELSEWHERE = {"OMPI_MCA_sshmem_base_start_address": str(3 << 44)}


def compiled(made: Path, *arguments: str, compiler: tuple[str, ...] = ()) -> str:
    """A program or library, without a warning and for debuggers."""
    return compiled_plainly(made, *STRICT, *arguments, compiler=compiler)


def sanitized_program(directory: Path, name: str) -> str:
    """A program of ``preload/``, which nothing of ours is linked to."""
    return compiled(directory / name, *SANITIZE, *PROGRAM, str(SOURCES / f"{name}.c"))


def sanitized_libraries(directory: Path) -> dict[str, str]:
    """The environment of a process that has them preloaded."""
    features = pyshmem.build_info()["features"]
    (directory / "has.h").write_text("".join(f"#define {name} {int(has)}\n" for name, has in features.items()))
    shared = [*SANITIZE, "-shared", "-fPIC", "-fvisibility=hidden", f"-I{directory}", f"-I{ROOT / 'include'}"]
    hwloc = subprocess.run(["pkg-config", "--cflags", "--libs", "hwloc"], capture_output=True, text=True, check=True)
    compiled(directory / LIBRARY, *shared, *map(str, [*ROOT.glob("src/*.c"), *ROOT.glob("src/engine/*.c")]),
             f"-Wl,-soname,{LIBRARY}", "-Wl,-Bsymbolic",
             f"-Wl,--version-script={ROOT / 'src/libshmem_partition.map'}", *hwloc.stdout.split(), "-ldl")
    compiled(directory / PRELOADED, *shared, *map(str, ROOT.glob("src/preload/*.c")), f'-DLIBRARY="{LIBRARY}"',
             "-Wl,-rpath,$ORIGIN", f"-Wl,--version-script={ROOT / 'src/preload/mappings.map'}", "-ldl",
             compiler=("gcc",))
    tool = subprocess.run(["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True)
    # The tool opens libraries in our library's place, and so does not know where that one's are.
    return {"LD_PRELOAD": f"{Path(tool.stdout.strip()).resolve()}:{directory / PRELOADED}",
            "LD_LIBRARY_PATH": str(directory)}
