"""The guest itself: that its machine is the stated one, and that its answers can be trusted."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from . import LAYOUTS, Guest, GuestError, GuestTimeoutError, Layout, MissingProgramError, run
from .kernel import CACHE_VARIABLE
from .machine import Machine

pytestmark = pytest.mark.guest

# Of a node's memory, the kernel keeps some before it counts; on the last nodes up to 50 MiB.
SHARE_COUNTED = 0.7

SYS_NODES = "cd /sys/devices/system/node && grep -s . {} /dev/null; true"


@pytest.fixture(scope="module")
def guest() -> Iterator[Guest]:
    with Guest("a2a-flat") as running:
        yield running


def ask_nodes(guest: Guest, files: str) -> dict[int, str]:
    """Return a line of each node's file in /sys, by node."""
    lines = guest.run(SYS_NODES.format(f"node[0-9]*/{files}")).output
    return {int(n): text for n, text in re.findall(r"^node(\d+)/[^:]*:(.*)$", lines, re.MULTILINE)}


def cpu_count(text: str) -> int:
    """Return how many CPUs a list such as ``0-3,6`` names."""
    bounds = [part.split("-") for part in text.split(",")]
    return sum(int(part[-1]) - int(part[0]) + 1 for part in bounds)


def check_nodes(guest: Guest, layout: Layout) -> None:
    numbers = range(len(layout.nodes))
    cpus = ask_nodes(guest, "cpulist")
    assert {i: cpu_count(text) for i, text in cpus.items()} == {
        i: layout.nodes[i].cpus for i in numbers if layout.nodes[i].cpus
    }
    distances = ask_nodes(guest, "distance")
    assert {i: [int(d) for d in text.split()] for i, text in distances.items()} == {
        i: [layout.distance(i, j) for j in numbers] for i in numbers
    }


def check_sizes(guest: Guest, layout: Layout) -> None:
    lines = guest.run("grep -h MemTotal /sys/devices/system/node/node*/meminfo").output
    sizes = {int(n): int(kib) for n, kib in re.findall(r"Node (\d+) MemTotal: +(\d+) kB", lines)}
    assert sorted(sizes) == list(range(len(layout.nodes)))
    for number, node in enumerate(layout.nodes):
        assert SHARE_COUNTED * node.mib <= sizes[number] / 1024 <= node.mib, number


def check_performance(guest: Guest, layout: Layout) -> None:
    described = {i: n.performance for i, n in enumerate(layout.nodes) if n.performance}
    latency = ask_nodes(guest, "access0/initiators/read_latency")
    bandwidth = ask_nodes(guest, "access0/initiators/read_bandwidth")
    assert {i: int(text) for i, text in latency.items()} == {
        i: stated.latency_ns for i, stated in described.items()
    }
    assert {i: int(text) for i, text in bandwidth.items()} == {
        i: stated.bandwidth_gb * 1024 for i, stated in described.items()
    }


@pytest.mark.parametrize("machine", LAYOUTS, indirect=True)
def test_kernel_sees_the_stated_machine(machine: Machine) -> None:
    check_nodes(machine.guest, machine.layout)
    check_sizes(machine.guest, machine.layout)
    check_performance(machine.guest, machine.layout)


def test_status_and_both_outputs_come_back(guest: Guest) -> None:
    result = guest.run("echo out; echo err >&2; exit 7")
    assert (result.status, result.output) == (7, "out\nerr\n")


def test_program_that_does_not_exist_fails(guest: Guest) -> None:
    assert guest.run(["no-such-program"]).status == 127


def test_death_by_signal_is_a_status(guest: Guest) -> None:
    assert guest.run("kill -SEGV $$").status == 128 + 11


def test_hang_is_ended_and_keeps_its_output(guest: Guest) -> None:
    with pytest.raises(GuestTimeoutError) as caught:
        guest.run("echo before; sleep 1000", timeout=1)
    assert caught.value.output == "before\n"
    assert guest.run("pgrep -fx 'sleep 1000'").status == 1


def test_output_cannot_pass_for_an_answer(guest: Guest) -> None:
    written = bytes(range(256)) + b"0.status\n0\nready\nstop\nexit status 0\n"
    program = f"import sys; sys.stdout.buffer.write({written!r}); sys.exit(9)"
    result = guest.run(["/usr/bin/python3", "-c", program])
    assert result.status == 9
    assert result.output == written.decode(errors="backslashreplace")


def test_what_a_command_leaves_is_removed(guest: Guest) -> None:
    result = guest.run("touch /dev/shm/left; (sleep 1000 &) ; (sleep 1000 > /dev/null &)")
    assert (result.status, result.output) == (0, "")
    assert guest.run("pgrep -fx 'sleep 1000' || ls /dev/shm").output == ""


def test_environment_and_directory(guest: Guest) -> None:
    result = guest.run("pwd; echo $ODD", cwd="/usr/lib", env={"ODD": "a 'b' \"c\" $d"})
    assert result.output == "/usr/lib\na 'b' \"c\" $d\n"
    assert guest.run("true", cwd="/no/such/place").status == 126


def test_machine_has_a_name_and_a_network(guest: Guest) -> None:
    assert guest.run("ping -c 1 -W 5 $(hostname) || getent hosts $(hostname)").status == 0
    assert guest.run("cat /sys/class/net/lo/carrier").output == "1\n"


def test_guest_sees_host_files_and_writes_only_its_own(guest: Guest, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("host")
    assert guest.run(f"cat {file}; echo guest > {file}; cat {file}").output == "hostguest\n"
    assert file.read_text() == "host"


def test_pages_go_where_the_policy_says(guest: Guest) -> None:
    line = f"numactl --membind=1 {sys.executable} -m {__package__}.bound_pages"
    result = guest.run(line, cwd=Path(__file__).parents[1])
    assert (result.status, result.output) == (0, "PageCounts(nodes={1: 64}, not_present=0)\n")


def test_run_boots_and_answers() -> None:
    result = run("cache", ["uname", "-n"])
    assert (result.status, result.output) == (0, "knl\n")


def test_death_of_the_machine_is_an_error_with_its_console() -> None:
    with Guest("cache") as machine, pytest.raises(GuestError, match=r"died(.|\n)*Kernel panic"):
        machine.run("echo 1 > /proc/sys/kernel/sysrq; echo c > /proc/sysrq-trigger")


def test_machine_that_does_not_come_up_in_time_is_an_error() -> None:
    with pytest.raises(GuestError, match="gave no ready"), Guest("cache", boot_timeout=0.2):
        pass


@pytest.mark.parametrize("missing", ["qemu-system-x86", "busybox-static"])
def test_missing_program_is_named(
    missing: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    if missing == "qemu-system-x86":
        (tmp_path / "busybox").symlink_to("/usr/bin/busybox")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingProgramError, match=missing), Guest("cache"):
        pass


def test_kernel_that_cannot_be_fetched_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingProgramError, match="Debian"), Guest("cache"):
        pass
