"""Every tests/c/*_check.c, with both compilers, under the address and undefined-behaviour sanitizers.

The first lines of a check name what it is built with: ``// sources: heap.c tree.c`` (of src/) and
``// libraries: hwloc`` (pkg-config packages).  Where a compiler comes without the sanitizers' run-time
library (Debian's clang without libclang-rt), undefined behaviour still traps.
"""

from __future__ import annotations

import functools
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CHECKS = sorted((ROOT / "tests/c").glob("*_check.c"))
FLAGS = ["-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Wpedantic", "-Werror",
         f"-I{ROOT / 'src'}", f"-I{ROOT / 'include'}"]
SANITIZE = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
TRAP = ["-fsanitize=undefined", "-fsanitize-undefined-trap-on-error"]


def named(check: Path, what: str) -> list[str]:
    """The words after ``// what:`` in the first lines of a check."""
    head = "\n".join(check.read_text().splitlines()[:10])
    found = re.search(rf"^// {what}:(.*)$", head, re.MULTILINE)
    return found[1].split() if found else []


def package_flags(packages: list[str]) -> list[str]:
    if not packages:
        return []
    done = subprocess.run(["pkg-config", "--cflags", "--libs", *packages], capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip(f"pkg-config: {done.stderr.strip()}")
    return done.stdout.split()


@functools.cache
def sanitizer_flags(compiler: str) -> list[str]:
    with tempfile.TemporaryDirectory() as scratch:
        program = Path(scratch, "nothing.c")
        program.write_text("int main(void) { return 0; }\n")
        command = [compiler, *SANITIZE, str(program), "-o", str(program.with_suffix(""))]
        return SANITIZE if subprocess.run(command, capture_output=True).returncode == 0 else TRAP


def run(*command: str, timeout: float) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout[-4000:]}{done.stderr[-4000:]}"


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.stem)
def test_check(check, compiler, tmp_path):
    if shutil.which(compiler) is None:
        pytest.skip(f"no {compiler}")
    program = tmp_path / check.stem
    sources = [str(ROOT / "src" / name) for name in named(check, "sources")]
    libraries = package_flags(named(check, "libraries"))
    run(compiler, *FLAGS, *sanitizer_flags(compiler), str(check), *sources, "-o", str(program), *libraries, timeout=120)
    run(str(program), timeout=120)
