"""The guest's first file system: busybox, the kernel modules it needs, and ``init.sh``.

The archive is written here, in the kernel's ``newc`` format, so that neither cpio nor a
directory tree to pack is needed.  Modules are found by their names and ordered by what they say
they depend on, since kernels differ in it.
"""

from __future__ import annotations

import lzma
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from .errors import MissingProgramError

WANTED_MODULES = ("virtio_pci", "9pnet_virtio", "9p", "overlay")
INIT_SCRIPT = Path(__file__).with_name("init.sh")

_DIRECTORY, _FILE = 0o040755, 0o100755


def build_initramfs(modules: Path) -> bytes:
    """Return the archive for the kernel whose modules are in a directory.

    Raises
    ------
    MissingProgramError
        There is no statically linked busybox.
    """
    loaded = load_order(modules, WANTED_MODULES)
    order = "".join(f"{name}\n" for name in loaded)
    return b"".join(
        [
            _entry("bin", _DIRECTORY),
            _entry("bin/busybox", _FILE, _busybox().read_bytes()),
            _entry("init", _FILE, INIT_SCRIPT.read_bytes()),
            _entry("modules", _DIRECTORY),
            _entry("modules/order", _FILE, order.encode()),
            *(_entry(f"modules/{name}", _FILE, content) for name, content in loaded.items()),
            _entry("TRAILER!!!", 0),
        ]
    )


def load_order(directory: Path, wanted: tuple[str, ...]) -> dict[str, bytes]:
    """Return modules' contents by name, each after those it depends on.

    What is not found as a file is taken to be part of the kernel.
    """
    files = {_module_name(path): path for path in directory.rglob("*.ko*")}
    contents: dict[str, bytes] = {}

    def add(name: str) -> None:
        if name in contents or name not in files:
            return
        content = _read_module(files[name])
        for dependency in _dependencies(content):
            add(dependency)
        contents[name] = content

    for name in wanted:
        add(name)
    return contents


def _module_name(path: Path) -> str:
    return path.name.split(".ko")[0].replace("-", "_")


def _read_module(path: Path) -> bytes:
    content = path.read_bytes()
    return lzma.decompress(content) if path.suffix == ".xz" else content


def _dependencies(module: bytes) -> Iterator[str]:
    stated = re.search(rb"\0depends=([^\0]*)\0", module)
    if stated and stated[1]:
        yield from stated[1].decode().replace("-", "_").split(",")


def _busybox() -> Path:
    found = shutil.which("busybox")
    if found is None or b"/ld-linux" in Path(found).read_bytes()[:4096]:
        raise MissingProgramError(
            "the guest needs a static busybox: apt-get install busybox-static"
        )
    return Path(found)


def _entry(name: str, mode: int, content: bytes = b"") -> bytes:
    """Return one member of a ``newc`` archive; header and content are padded to four bytes."""
    encoded = name.encode() + b"\0"
    fields = (0, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(encoded), 0)
    header = b"070701" + b"".join(b"%08X" % field for field in fields) + encoded
    return _padded(header) + _padded(content)


def _padded(block: bytes) -> bytes:
    return block + bytes(-len(block) % 4)
