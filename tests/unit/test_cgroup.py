"""What memory cgroups still grant, from hierarchies made of plain files in both versions' layouts."""

from __future__ import annotations

import ctypes

import pytest
from clibrary import build

UNLIMITED = 2**64 - 1
MIB = 1 << 20


@pytest.fixture(scope="module")
def available():
    library = build("cgroup", ["cgroup.c"])
    library.cgroup_available_bytes.restype = ctypes.c_uint64

    def ask(self, mounts):
        return library.cgroup_available_bytes(str(self).encode(), str(mounts).encode())

    return ask


NAMES = {1: ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
         2: ("memory.max", "memory.current", "inactive_file")}


class Machine:
    """A file system of cgroups in a directory."""

    def __init__(self, path, version, group, root="/"):
        self.path, self.version = path, version
        self.self, self.mounts = path / "self", path / "mountinfo"
        self.self.write_text(f"3:cpuset:/x\n4:cpu,memory:{group}\n" if version == 1 else f"1:cpu:/x\n0::{group}\n")
        kind = "cgroup cgroup rw,memory" if version == 1 else "cgroup2 cgroup2 rw,nsdelegate"
        self.mounts.write_text("20 1 0:5 / / rw - ext4 /dev/sda1 rw,memory\n"
                               f"30 20 0:27 {root} {path}/mount rw,relatime shared:9 - {kind}\n"
                               f"31 20 0:28 / {path}/other rw - cgroup cgroup rw,cpuset,memoryless\n")

    def limit(self, group, limit, usage, cache=0):
        directory = self.path / "mount" / group
        directory.mkdir(parents=True, exist_ok=True)
        for name, value in zip(NAMES[self.version][:2], (limit, usage), strict=True):
            (directory / name).write_text(f"{value}\n")
        (directory / "memory.stat").write_text(f"cache 999999999\n{NAMES[self.version][2]} {cache}\n")


@pytest.mark.parametrize("version", [1, 2])
def test_least_of_all_groups_above(available, tmp_path, version):
    machine = Machine(tmp_path, version, "/job/step")
    machine.limit("job/step", 500 * MIB, 100 * MIB)
    assert available(machine.self, machine.mounts) == 400 * MIB
    machine.limit("job", 300 * MIB, 150 * MIB)
    assert available(machine.self, machine.mounts) == 150 * MIB
    machine.limit("job", 300 * MIB, 150 * MIB, cache=100 * MIB)  # the kernel takes page cache back
    assert available(machine.self, machine.mounts) == 250 * MIB
    machine.limit("", 50 * MIB, 60 * MIB)  # the root, over its limit
    assert available(machine.self, machine.mounts) == 0


@pytest.mark.parametrize("version", [1, 2])
def test_container_sees_its_own_group_as_the_root(available, tmp_path, version):
    machine = Machine(tmp_path, version, "/docker/abc/inner", root="/docker/abc")
    machine.limit("inner", 80 * MIB, 0)
    assert available(machine.self, machine.mounts) == 80 * MIB
    machine.limit("", 64 * MIB, MIB)
    assert available(machine.self, machine.mounts) == 63 * MIB


def test_no_limit(available, tmp_path):
    machine = Machine(tmp_path, 2, "/job")
    machine.limit("job", "max", 100 * MIB)
    assert available(machine.self, machine.mounts) == UNLIMITED
    assert available(tmp_path / "absent", machine.mounts) == UNLIMITED
    assert available(machine.self, tmp_path / "absent") == UNLIMITED


@pytest.mark.parametrize("text", ["", "::", "0:", "0::", "\0\0", "4:memory:" + "/x" * 5000, "9" * 9000, "0::/../../.."])
def test_damaged_files_limit_nothing(available, tmp_path, text):
    machine = Machine(tmp_path, 2, "/job")
    machine.self.write_text(text)
    assert available(machine.self, machine.mounts) == UNLIMITED
    machine.mounts.write_text(text + " - cgroup2 cgroup2 " + text)
    assert available(machine.self, machine.mounts) == UNLIMITED
