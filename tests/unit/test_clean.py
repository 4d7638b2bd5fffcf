"""No compiler, linter or type checker has anything to say."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted([*ROOT.glob("src/*.c"), *ROOT.glob("src/engine/*.c"), *ROOT.glob("src/preload/*.c")])
WARNINGS = ["-std=c11", "-O2", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only"]


def quiet(command, **how):
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, **how)
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}"


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_no_warning_in_the_library(compiler, tmp_path):
    """On the engine's own header, whose include path the wrapper tells."""
    import pyshmem

    assert shutil.which(compiler), f"{compiler} is missing: apt-get install {compiler}"
    info = pyshmem.build_info()
    shown = subprocess.run([info["oshcc"], "-show"], capture_output=True, text=True, check=True).stdout.split()
    includes = [f"-isystem{word[2:]}" for word in shown if word.startswith("-I")]
    (tmp_path / "has.h").write_text("".join(f"#define {k} {int(v)}\n" for k, v in info["features"].items()))
    for source in SOURCES:
        quiet([compiler, *WARNINGS, *includes, f"-I{ROOT / 'include'}", f"-I{ROOT / 'src'}", f"-I{tmp_path}",
               '-DLIBRARY="libshmem_partition.so.1"', source])


def test_header_is_good_c_and_cplusplus(tmp_path):
    for compiler, standard, suffix in [("gcc", "-std=c11", ".c"), ("g++", "-std=c++17", ".cpp"),
                                       ("clang", "-std=c11", ".c")]:
        if suffix == ".cpp" and not shutil.which(compiler):
            compiler = "clang"  # C++ without a standard library is enough for this header
        source = tmp_path / f"use{suffix}"
        source.write_text("#include <shmem_partition.h>\nint main(void) { return shmem_partition_count(); }\n")
        quiet([compiler, standard, "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only",
               f"-I{ROOT / 'include'}", source])


@pytest.mark.parametrize("arguments", [["ruff", "check", "."], ["mypy"]], ids=["ruff", "mypy"])
def test_python_is_clean(arguments):
    tool = Path(sys.executable).parent / arguments[0]
    quiet([str(tool), *arguments[1:]])
