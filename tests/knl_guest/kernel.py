"""The guest's kernel: Debian's own package, fetched once and unpacked, never installed.

Stands on apt and dpkg.  The cache is ``~/.cache/pyshmem-tests``, or ``PYSHMEM_TEST_CACHE``.
"""

from __future__ import annotations

import lzma
import os
import re
import struct
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from .errors import MissingProgramError

CACHE_VARIABLE = "PYSHMEM_TEST_CACHE"
METAPACKAGE = "linux-image-amd64"
PLAIN_IMAGE = "vmlinux"
DOWNLOAD_SECONDS = 300


@dataclass(frozen=True)
class Kernel:
    """An unpacked kernel package: the image to boot and the directory of its modules."""

    image: Path
    modules: Path


def find_kernel() -> Kernel:
    """Return the cached kernel, fetching Debian's current one if there is none yet.

    Raises
    ------
    MissingProgramError
        No kernel is cached and none can be fetched.
    """
    cache = cache_directory()
    unpacked = sorted(cache.glob("linux-image-*"), key=lambda path: path.stat().st_mtime)
    return _kernel_in(unpacked[-1] if unpacked else _fetch(cache))


def cache_directory() -> Path:
    """Return the directory of what is kept between runs; made if need be, for this user only."""
    named = os.environ.get(CACHE_VARIABLE)
    cache = Path(named) if named else Path.home() / ".cache" / "pyshmem-tests"
    cache.mkdir(mode=0o700, parents=True, exist_ok=True)
    if cache.stat().st_uid != os.getuid():
        raise MissingProgramError(f"{cache} belongs to someone else; set {CACHE_VARIABLE}")
    return cache


def _fetch(cache: Path) -> Path:
    """Download and unpack a kernel; it appears in the cache under its name only when complete."""
    package = _package_name()
    with tempfile.TemporaryDirectory(prefix="fetch-", dir=cache) as scratch:
        _run_apt(["apt-get", "download", package], cwd=scratch)
        (archive,) = Path(scratch).glob("*.deb")
        unpacked = Path(scratch, "unpacked")
        _run_apt(["dpkg", "-x", str(archive), str(unpacked)], cwd=scratch)
        _add_plain_image(unpacked)
        target = cache / package
        try:
            unpacked.rename(target)
        except OSError:  # another run was quicker
            if not target.is_dir():
                raise
    return target


def _add_plain_image(unpacked: Path) -> None:
    """Put the image's content beside it: QEMU boots that in half the time, emulating no unpacking.

    Where it is compressed otherwise than by xz, the image is booted as it is.
    """
    packed = _kernel_in(unpacked).image.read_bytes()
    setup_sectors = packed[0x1F1]
    offset, length = struct.unpack_from("<II", packed, 0x248)
    start = (setup_sectors + 1) * 512 + offset
    payload = packed[start : start + length]
    if payload.startswith(b"\xfd7zXZ"):
        plain = lzma.LZMADecompressor().decompress(payload)
        (unpacked / "boot" / PLAIN_IMAGE).write_bytes(plain)


def _package_name() -> str:
    """Return the name of the package that Debian's metapackage stands for."""
    record = _run_apt(["apt-cache", "show", "--no-all-versions", METAPACKAGE])
    match = re.search(r"^Depends:.*?\b(linux-image-[^\s,]+-amd64)\b", record, re.MULTILINE)
    if match is None:
        raise MissingProgramError(f"apt's record of {METAPACKAGE} names no kernel:\n{record}")
    return match[1]


def _run_apt(command: list[str], cwd: str | None = None) -> str:
    try:
        done = subprocess.run(
            command, cwd=cwd, timeout=DOWNLOAD_SECONDS, capture_output=True, text=True, check=True
        )
    except FileNotFoundError as error:
        raise MissingProgramError(f"{command[0]} not found: the guest needs Debian") from error
    except subprocess.CalledProcessError as error:
        raise MissingProgramError(
            f"the guest's kernel cannot be fetched ({' '.join(command)}); "
            f"run `apt-get update`, or look at this:\n{error.stderr}"
        ) from error
    except subprocess.TimeoutExpired as error:
        raise MissingProgramError(
            f"{' '.join(command)} did not end in {DOWNLOAD_SECONDS} s: no network?"
        ) from error
    return done.stdout


def _kernel_in(unpacked: Path) -> Kernel:
    plain = unpacked / "boot" / PLAIN_IMAGE
    images = [plain] if plain.exists() else list(unpacked.glob("boot/vmlinuz-*"))
    modules = [*unpacked.glob("lib/modules/*"), *unpacked.glob("usr/lib/modules/*")]
    if len(images) != 1 or len(modules) != 1:
        raise MissingProgramError(f"no kernel in {unpacked}; remove it, it is fetched again")
    return Kernel(images[0], modules[0])
