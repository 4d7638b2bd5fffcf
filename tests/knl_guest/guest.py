"""Boots an emulated machine that sees the host's files, and runs commands in it.

Stands on QEMU without KVM (which may exist and not work).  Commands and their answers go through
a directory that host and guest share, made for one boot and reached by no command: output comes
back byte for byte, whatever it is, and the kernel's messages, on the serial console, stay apart.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from .errors import GuestError, GuestTimeoutError, MissingProgramError
from .initramfs import build_initramfs
from .kernel import find_kernel
from .layouts import LAYOUTS, Layout

Command = str | Sequence[str]

BOOT_SECONDS = 120.0
COMMAND_SECONDS = 120.0
GRACE_SECONDS = 30.0
POLL_SECONDS = 0.05
CONSOLE_LINES = 80  # a panic's first line is some 60 before its last
EXPECTED_COMPLAINT = "TCG doesn't support requested feature"

ENVIRONMENT = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": "/root",
    "LANG": "C.UTF-8",
}
"""What a command finds set, besides what its caller gives."""


@dataclass(frozen=True)
class Result:
    """What a command answered: exit status, output and errors in one, and how long it took."""

    status: int
    output: str
    seconds: float


def run(
    layout: str,
    command: Command,
    *,
    timeout: float = COMMAND_SECONDS,
    cwd: str | Path = "/",
    env: Mapping[str, str] | None = None,
) -> Result:
    """Boot a machine, run one command in it, and return what it answered.

    The parameters are those of :class:`Guest` and :meth:`Guest.run`.
    """
    with Guest(layout) as guest:
        return guest.run(command, timeout=timeout, cwd=cwd, env=env)


class Guest:
    """A running machine, to be used in a ``with`` statement.

    It shows the host's files as they were when it first looked at them; what it writes is its
    own and gone with it.  Each command starts alone: processes and shared memory that the one
    before left are removed, files stay.

    Parameters
    ----------
    layout
        A name in :data:`~.layouts.LAYOUTS`.
    boot_timeout
        How many seconds the machine may take to come up.

    Attributes
    ----------
    layout
        The machine.

    Raises
    ------
    MissingProgramError
        QEMU, busybox or the kernel is missing; the message says what to install.
    GuestError
        The machine did not come up, or died; the message ends with its console.
    """

    def __init__(self, layout: str, *, boot_timeout: float = BOOT_SECONDS) -> None:
        self.layout = LAYOUTS[layout]
        self._boot_timeout = boot_timeout
        self._count = 0

    def __enter__(self) -> Guest:
        self._directory = tempfile.TemporaryDirectory(prefix="pyshmem-guest-")
        try:
            self._start(Path(self._directory.name))
        except BaseException:
            self._directory.cleanup()
            raise
        try:
            self._wait_for("ready", self._boot_timeout)
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._end()

    def run(
        self,
        command: Command,
        *,
        timeout: float = COMMAND_SECONDS,
        cwd: str | Path = "/",
        env: Mapping[str, str] | None = None,
    ) -> Result:
        """Run a command as root and return what it answered, whatever its status.

        Parameters
        ----------
        command
            A line for the shell, or a program and its arguments.
        timeout
            How many seconds it may take before it is killed.
        cwd
            Where it runs; 126 is its status if there is no such directory.
        env
            Variables to set besides :data:`ENVIRONMENT`, or over it.

        Raises
        ------
        GuestTimeoutError
            It did not end in its time.  The guest can be used on.
        GuestError
            The guest died, or does not answer.
        """
        job = str(self._count)
        self._count += 1
        self._write(f"{job}.limit", f"{timeout}")
        started = time.monotonic()
        self._write(f"{job}.command", _script(command, cwd, {**ENVIRONMENT, **(env or {})}))
        self._wait_for(f"{job}.status", timeout + GRACE_SECONDS)
        seconds = time.monotonic() - started
        output = (self._job / f"{job}.output").read_bytes().decode(errors="backslashreplace")
        if (self._job / f"{job}.late").exists():
            raise GuestTimeoutError(f"{command!r} did not end in {timeout} s", output)
        return Result(int((self._job / f"{job}.status").read_text()), output, seconds)

    @property
    def console(self) -> str:
        """What the machine has written on its console: the kernel's complaints, mostly."""
        return self._console.read_text(errors="backslashreplace").replace("\r", "")

    def _start(self, directory: Path) -> None:
        kernel = find_kernel()
        initramfs = directory / "initramfs"
        initramfs.write_bytes(build_initramfs(kernel.modules))
        self._console = directory / "console"
        self._console.touch()
        self._complaints = directory / "complaints"
        self._job = directory / "job"
        self._job.mkdir()
        command = [
            *_qemu(self.layout, kernel.image, initramfs),
            *("-serial", f"file:{self._console}"),
            *_shared_directory("host", Path("/"), "security_model=none,readonly=on"),
            *_shared_directory("job", self._job, "security_model=none"),
        ]
        with self._complaints.open("wb") as complaints:
            self._machine = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=complaints, stderr=subprocess.STDOUT
            )

    def _end(self) -> None:
        self._write("stop", "")
        try:
            self._machine.wait(GRACE_SECONDS if (self._job / "ready").exists() else 0)
        except subprocess.TimeoutExpired:
            self._machine.kill()
            self._machine.wait()
        self._directory.cleanup()

    def _write(self, name: str, content: str) -> None:
        """Give the guest a file, complete from the moment it appears."""
        new = self._job / f"{name}.new"
        new.write_text(content)
        new.rename(self._job / name)

    def _wait_for(self, name: str, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while not (self._job / name).exists():
            if self._machine.poll() is not None:
                raise self._failure("died")
            if time.monotonic() > deadline:
                raise self._failure(f"gave no {name} in {seconds:.0f} s")
            time.sleep(POLL_SECONDS)

    def _failure(self, what: str) -> GuestError:
        complaints = self._complaints.read_text(errors="backslashreplace").splitlines()
        told = [line for line in complaints if EXPECTED_COMPLAINT not in line]
        tail = "\n".join([*told, *self.console.splitlines()][-CONSOLE_LINES:])
        return GuestError(f"guest {self.layout.name} {what}; its console ends with:\n{tail}")


def _qemu(layout: Layout, image: Path, initramfs: Path) -> list[str]:
    program = shutil.which("qemu-system-x86_64")
    if program is None:
        raise MissingProgramError(
            "the guest needs qemu-system-x86_64: apt-get install qemu-system-x86"
        )
    return [
        *("setpriv", "--pdeathsig", "KILL"),  # no machine outlives its test
        *(program, "-accel", "tcg,thread=multi", "-nodefaults", "-no-user-config"),
        *("-display", "none", "-no-reboot"),
        *layout.qemu_arguments(),
        *("-kernel", str(image), "-initrd", str(initramfs)),
        # What guards against real processors' leaks costs an emulated one a third of its speed.
        *("-append", "console=ttyS0 quiet panic=-1 mitigations=off rdinit=/init"),
    ]


def _shared_directory(tag: str, path: Path, options: str) -> tuple[str, str]:
    quoted = str(path).replace(",", ",,")
    return "-virtfs", f"local,path={quoted},mount_tag={tag},multidevs=remap,{options}"


def _script(command: Command, cwd: str | Path, env: Mapping[str, str]) -> str:
    exports = "".join(f"export {name}={shlex.quote(value)}\n" for name, value in env.items())
    line = command if isinstance(command, str) else shlex.join(command)
    return f"{exports}cd {shlex.quote(os.fspath(cwd))} || exit 126\n{line}\n"
