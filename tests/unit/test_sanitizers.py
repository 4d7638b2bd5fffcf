"""Every tests/c/*_check.c, with both compilers, under the address and undefined-behaviour sanitizers.

The first lines of a check name what it is built with: ``// sources: heap.c sizes.c`` (of src/) and
``// libraries: hwloc`` (pkg-config packages).  clang needs Debian's libclang-rt-dev for its sanitizers.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CHECKS = sorted((ROOT / "tests/c").glob("*_check.c"))
FLAGS = ["-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Wpedantic", "-Werror",
         f"-I{ROOT / 'src'}", f"-I{ROOT / 'include'}"]
SANITIZE = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]


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
        pytest.fail(f"pkg-config: {done.stderr.strip()}")
    return done.stdout.split()


def run(*command: str, timeout: float) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout[-4000:]}{done.stderr[-4000:]}"


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.stem)
def test_check(check, compiler, tmp_path):
    assert shutil.which(compiler), f"{compiler} is missing: apt-get install {compiler}"
    program = tmp_path / check.stem
    sources = [str(ROOT / "src" / name) for name in named(check, "sources")]
    libraries = package_flags(named(check, "libraries"))
    run(compiler, *FLAGS, *SANITIZE, str(check), *sources, "-o", str(program), *libraries, timeout=120)
    run(str(program), timeout=120)
