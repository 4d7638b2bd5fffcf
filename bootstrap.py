#!/usr/bin/env python3
"""Set up pyshmem on a bare Debian or Ubuntu machine, then show it or test it.

Needs nothing but Python 3.10 and its standard library.  What is up to date is left as it is, so
that a second run is fast.  All output of the steps is kept in ``.build/log``.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent
WORK = ROOT / ".build"
LOGS = WORK / "log"

BUILD_PACKAGES = (
    "openmpi-bin", "libopenmpi-dev", "libhwloc-dev", "pkg-config", "gcc", "libc6-dev", "python3-dev", "python3-venv",
)
TEST_PACKAGES = ("clang", "libclang-rt-dev", "valgrind", "make", "groff-base", "gfortran")
GUEST_PACKAGES = ("qemu-system-x86", "busybox-static", "numactl", "procps", "iproute2")

GUEST = "guest"
FETCH_KERNEL = "from tests.knl_guest.kernel import find_kernel; find_kernel()"

SOURCES = ("pyproject.toml", "setup.py", "src/**/*", "include/**/*", "man/*", "pyshmem/**/*")
GENERATED = re.compile(r"\.(so[.\d]*|o|pyc)$|^pyshmem/(_core/\w+\.c$|lib/|include/|build_record\.json$)")

DEMO_PES = 4
DEMO_PROGRAM = ("examples/stencil.py", "10", "1000", "--partition", "fast")
DEMO_ENVIRONMENT = {
    "SHMEM_SYMMETRIC_PARTITION1": "size=64M:kind=DEFAULT:name=default",
    "SHMEM_SYMMETRIC_PARTITION2": "size=128M:kind=FASTMEM:policy=PREFERRED:name=fast",
    "PYSHMEM_REPORT": "1",
}

HINTS = (
    (r"Temporary failure resolving|NameResolutionError|Failed to establish a new connection|Network is unreachable"
     r"|Could not resolve|Could not connect|ConnectTimeout|Max retries exceeded",
     "the package server cannot be reached from here; look at the network, or at proxy settings"),
    (r"Could not get lock|Unable to acquire the dpkg", "another program is using apt; rerun when it has ended"),
    (r"ensurepip is not|No module named ensurepip", "this Python makes no environments: apt-get install python3-venv"),
    (r"No space left on device", "the disk is full"),
)

WIDTH = 80
TAIL = 40
POLL_SECONDS = 0.2

EXAMPLES = """\
examples:
  python3 bootstrap.py demo
  python3 bootstrap.py test
  python3 bootstrap.py test -k allocator --leave-out guest
  PYSHMEM_TEST_ENGINES=/opt/sos/bin/oshcc python3 bootstrap.py test

environment:
  OSHCC                 the OpenSHMEM library to use instead of Debian's
  PYSHMEM_TEST_ENGINES  further libraries to test with: paths of their oshcc, with ':' between
"""


class BootstrapError(Exception):
    """Nothing more can be done; the message says why, and what would help."""


class CommandError(BootstrapError):
    """A command failed; the message shows it, the end of its output, and where the rest is."""

    def __init__(self, command: Sequence[str], status: int, log: Path, output: str) -> None:
        super().__init__("\n".join(self._lines(command, status, log, output)))
        self.status = status

    @staticmethod
    def _lines(command: Sequence[str], status: int, log: Path, output: str) -> Iterator[str]:
        yield f"this command failed with status {status}:"
        yield f"    {shlex.join(command)}"
        lines = output.splitlines()
        if lines:
            yield f"the last {min(TAIL, len(lines))} lines of its output:"
        yield from (f"  | {line}" for line in lines[-TAIL:])
        yield f"full log: {log}"
        yield from (f"hint: {hint}" for pattern, hint in HINTS if re.search(pattern, output))


# --- Showing and running -----------------------------------------------------------------------


@dataclass
class Console:
    """Shows one line per step, with its seconds, and runs the steps' commands."""

    verbose: bool = False
    live: bool = field(default_factory=sys.stdout.isatty)
    title: str = ""
    started: float = 0.0

    def begin(self, title: str, streamed: bool = False) -> None:
        """Start the line of a step; a step whose output is streamed has its seconds on a line below."""
        self.title, self.started = title, time.monotonic()
        self.streamed = streamed or self.verbose
        self._write(f"  {title}\n" if self.streamed else f"  {title:<{WIDTH - 14}}")

    def tick(self) -> None:
        """Show on a terminal how long the step has taken so far."""
        if self.live and not self.streamed:
            self._write(f"\r{self._line(self._seconds())}")

    def end(self, note: str = "") -> None:
        """Complete the line of a step, with its seconds or a note."""
        note = note or self._seconds()
        if self.live or self.streamed:
            self._write(("" if self.streamed else "\r") + self._line(note) + "\n")
        else:
            self._write(f"{note:>12}\n")

    def say(self, text: str = "") -> None:
        """Write lines that belong to no step."""
        self._write(text + "\n")

    def run(self, command: Sequence[str], log: Path, env: Mapping[str, str] | None = None, show: bool = False) -> None:
        """Run a command with its output in a log, and on the console if asked; raise if it fails."""
        show = show or self.verbose
        if self.verbose:
            self.say(f"$ {shlex.join(command)}")
        with log.open("ab") as sink, log.open("rb") as source:
            sink.write(f"$ {shlex.join(command)}\n".encode())
            sink.flush()
            start = source.seek(0, os.SEEK_END)
            process = subprocess.Popen(
                command, cwd=ROOT, env=env, stdin=subprocess.DEVNULL, stdout=sink, stderr=subprocess.STDOUT
            )
            status = self._follow(process, lambda: self._copy(source.read()) if show else self.tick())
            source.seek(start)
            if status != 0:
                raise CommandError(command, status, log, source.read().decode(errors="replace"))

    def _follow(self, process: subprocess.Popen[bytes], each_time: Callable[[], None]) -> int:
        try:
            while process.poll() is None:
                each_time()
                time.sleep(POLL_SECONDS)
            each_time()
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait()
        return process.returncode

    def _copy(self, output: bytes) -> None:
        if output:
            sys.stdout.buffer.write(output)
            sys.stdout.buffer.flush()

    def _seconds(self) -> str:
        return f"{time.monotonic() - self.started:.1f} s"

    def _line(self, note: str) -> str:
        return f"  {self.title:<{WIDTH - 14}}{note:>12}"

    def _write(self, text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()


@dataclass(frozen=True)
class Step:
    """Something to be made so, unless it is so already."""

    title: str
    is_done: Callable[[], bool]
    act: Callable[[Console, Path], None]


def take(steps: Iterable[Step], console: Console) -> None:
    """Take the steps that are not done already, in order."""
    for step in steps:
        console.begin(step.title)
        note = "FAILED"
        try:
            if step.is_done():
                note = "up to date"
            else:
                step.act(console, new_log(step.title))
                note = ""
        finally:
            console.end(note)


def new_log(title: str) -> Path:
    """An empty log file for a step."""
    LOGS.mkdir(parents=True, exist_ok=True)
    log = log_of(title)
    log.write_bytes(b"")
    return log


def log_of(title: str) -> Path:
    """Where the log of a step is."""
    return LOGS / (re.sub(r"[^\w.-]+", "-", title).strip("-") + ".log")


# --- Packages ----------------------------------------------------------------------------------


def packages_step(packages: Sequence[str]) -> Step:
    """Debian packages that are missing."""
    return Step(
        f"Debian packages ({len(packages)})",
        lambda: not missing_packages(packages),
        lambda console, log: install_packages(missing_packages(packages), console, log),
    )


def missing_packages(packages: Sequence[str]) -> list[str]:
    """Those of the packages that are not installed."""
    if not (shutil.which("dpkg-query") and shutil.which("apt-get")):
        raise BootstrapError(
            "this is not Debian or Ubuntu: install these yourself, under the\n"
            f"names they have here, then rerun with --no-apt:\n    {' '.join(packages)}"
        )
    query = ["dpkg-query", "-W", "-f", "${Package} ${db:Status-Status}\n", *packages]
    told = subprocess.run(query, capture_output=True, text=True).stdout
    installed = {line.split()[0] for line in told.splitlines() if line.endswith(" installed")}
    return [package for package in packages if package not in installed]


def install_packages(packages: Sequence[str], console: Console, log: Path) -> None:
    """Install packages, and only if that fails refresh apt's lists and try again."""
    by_hand = f"apt-get install {' '.join(packages)}"
    install = [*apt_get(by_hand), "install", "--yes", "--no-install-recommends", *packages]
    run_with_fresh_lists(install, by_hand, console, log)


def run_with_fresh_lists(command: Sequence[str], by_hand: str, console: Console, log: Path) -> None:
    """Run a command that needs apt's lists; refresh them only if it fails, and run it again."""
    try:
        console.run(command, log)
    except CommandError:
        console.run([*apt_get(by_hand), "update"], log)
        console.run(command, log)


def apt_get(by_hand: str) -> list[str]:
    """The command that starts ``apt-get`` as root; where that cannot be, the user is told what to do by hand."""
    command = ["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-o", "DPkg::Lock::Timeout=120"]
    if os.geteuid() == 0:
        return command
    advice = f"run this as root:\n    {by_hand}\nthen rerun with --no-apt"
    if not shutil.which("sudo"):
        raise BootstrapError(f"Debian packages are missing, and there is no sudo; {advice}")
    asks = subprocess.run(["sudo", "-n", "true"], capture_output=True).returncode != 0
    if asks and (not sys.stdin.isatty() or subprocess.run(["sudo", "-v"]).returncode != 0):
        raise BootstrapError(f"Debian packages are missing, and sudo gives no permission; {advice}")
    return ["sudo", *command]


def kernel_step() -> Step:
    """Debian's kernel for the emulated machines, unpacked in the tests' cache."""
    cache = Path(os.environ.get("PYSHMEM_TEST_CACHE") or Path.home() / ".cache/pyshmem-tests")
    fetch = [sys.executable, "-c", FETCH_KERNEL]
    return Step(
        "kernel for the emulated machines",
        lambda: any(cache.glob("linux-image-*")),
        lambda console, log: run_with_fresh_lists(fetch, "apt-get update", console, log),
    )


# --- Engines and their environments ------------------------------------------------------------


@dataclass(frozen=True)
class Engine:
    """An OpenSHMEM library to build against, by its compiler wrapper, and the environment for it."""

    oshcc: str | None
    venv: Path

    @property
    def python(self) -> str:
        """The Python of the environment."""
        return self.tool("python")

    def tool(self, name: str) -> str:
        """A program of the environment."""
        return str(self.venv / "bin" / name)

    def environment(self, **more: str) -> dict[str, str]:
        """Variables under which its programs run: its own tools come first."""
        first = [self.venv / "bin", *([Path(self.oshcc).parent] if self.oshcc else [])]
        path = os.pathsep.join([*map(str, first), os.environ.get("PATH", os.defpath)])
        chosen = {"OSHCC": self.oshcc} if self.oshcc else {}
        return {**os.environ, "PATH": path, **chosen, **more}


def first_engine() -> Engine:
    """The library that ``OSHCC`` names, else Debian's, else what the build finds by itself."""
    asked = os.environ.get("OSHCC")
    if asked and not shutil.which(asked):
        raise BootstrapError(f"OSHCC={asked} is not a program")
    return Engine(shutil.which(asked or "/usr/bin/oshcc") or shutil.which("oshcc"), ROOT / ".venv")


def further_engines() -> list[Engine]:
    """The libraries of ``PYSHMEM_TEST_ENGINES``."""
    engines = []
    for path in filter(None, os.environ.get("PYSHMEM_TEST_ENGINES", "").split(":")):
        oshcc = shutil.which(path)
        if not oshcc:
            raise BootstrapError(f"PYSHMEM_TEST_ENGINES: {path} is not a program")
        oshcc = os.path.abspath(oshcc)
        short = hashlib.sha256(oshcc.encode()).hexdigest()[:6]
        engines.append(Engine(oshcc, ROOT / f".venv-{short}"))
    return engines


def engine_steps(engine: Engine, extra: str = "") -> list[Step]:
    """A virtual environment, and pyshmem in it, built for an engine."""
    name = engine.venv.name
    built_for = engine.oshcc or "the OpenSHMEM library that pkg-config knows"
    return [
        Step(
            f"virtual environment {name}",
            lambda: venv_works(engine),
            lambda console, log: console.run([sys.executable, "-m", "venv", "--clear", str(engine.venv)], log),
        ),
        Step(
            f"pyshmem in {name} for {built_for}",
            lambda: is_installed(engine, extra),
            lambda console, log: install(engine, extra, console, log),
        ),
    ]


def venv_works(engine: Engine) -> bool:
    """Tell whether the environment is there, with a Python and pip that start."""
    if not Path(engine.python).exists():
        return False
    return subprocess.run([engine.python, "-m", "pip", "--version"], capture_output=True).returncode == 0


def install(engine: Engine, extra: str, console: Console, log: Path) -> None:
    """Build and install pyshmem, in a build directory that no other engine's objects are in."""
    stamp(engine).unlink(missing_ok=True)
    base = WORK / f"build{engine.venv.name}"
    shutil.rmtree(base, ignore_errors=True)
    base.mkdir(parents=True)
    config = base / "distutils.cfg"
    config.write_text(f"[build]\nbuild_base = {base}\n")
    digest = inputs_digest(engine)
    what = f".[{extra}]" if extra else "."
    console.run(
        [engine.python, "-m", "pip", "install", "--no-input", "--disable-pip-version-check", what],
        log,
        engine.environment(DIST_EXTRA_CONFIG=str(config)),
    )
    stamp(engine).write_text(json.dumps({"inputs": digest, "extra": extra}) + "\n")


def is_installed(engine: Engine, extra: str) -> bool:
    """Tell whether pyshmem was installed from these sources, for this engine, with at least this extra."""
    try:
        found = json.loads(stamp(engine).read_text())
    except (OSError, ValueError):
        return False
    return found["inputs"] == inputs_digest(engine) and extra in ("", found["extra"])


def stamp(engine: Engine) -> Path:
    """Where it is written down what an environment holds."""
    return engine.venv / "pyshmem-installed.json"


def inputs_digest(engine: Engine) -> str:
    """A hash of all that the build depends on: the sources and the engine's compiler wrapper."""
    digest = hashlib.sha256()
    for path in source_files():
        digest.update(f"{path.relative_to(ROOT)}\0".encode() + path.read_bytes() + b"\0")
    if engine.oshcc:
        wrapper = Path(engine.oshcc).resolve()
        digest.update(f"{engine.oshcc}\0{wrapper}\0{wrapper.stat().st_mtime_ns}".encode())
    return digest.hexdigest()


def source_files() -> list[Path]:
    """The files that the package is built from."""
    found = (path for pattern in SOURCES for path in ROOT.glob(pattern) if path.is_file())
    return sorted(path for path in found if not GENERATED.search(path.relative_to(ROOT).as_posix()))


# --- The two commands --------------------------------------------------------------------------


def demo(options: argparse.Namespace, console: Console) -> int:
    """Set up, and run the stencil with its arrays in fast memory."""
    if not options.no_apt:
        take([packages_step(BUILD_PACKAGES)], console)
    engine = first_engine()
    take(engine_steps(engine), console)
    console.begin(f"{' '.join(DEMO_PROGRAM)} on {DEMO_PES} PEs", streamed=True)
    console.say()
    plain = {name: value for name, value in engine.environment().items() if not name.startswith(("SHMEM_", "SMA_"))}
    command = [engine.tool("pyshmem"), "run", "-n", str(DEMO_PES), *DEMO_PROGRAM]
    console.run(command, new_log("demo"), {**plain, **DEMO_ENVIRONMENT}, show=True)
    console.say(f"\nTo run it yourself:\n\n{as_typed(command)}")
    return 0


def as_typed(command: Sequence[str]) -> str:
    """The demo's command with its settings, as a user would type it."""
    settings = [f"    {name}={value} \\\n" for name, value in DEMO_ENVIRONMENT.items()]
    program = Path(command[0]).relative_to(ROOT)
    return "".join(settings) + f"    {shlex.join([str(program), *command[1:]])}"


@dataclass
class Outcome:
    """What the tests of one engine said, in all the summary lines that its session wrote."""

    name: str
    passed: int = 0
    failed: int = 0
    seen: dict[str, list[str]] = field(default_factory=lambda: {"pes": [], "guests": [], "left_out": []})

    def add(self, line: Mapping[str, object]) -> None:
        """Take in one line of the summary."""
        self.name = str(line.get("engine") or self.name)
        self.passed += int(str(line.get("passed", 0)))
        self.failed += int(str(line.get("failed", 0)))
        for key, values in self.seen.items():
            given = line.get(key)
            values += [str(value) for value in (given if isinstance(given, list) else []) if str(value) not in values]


def test(options: argparse.Namespace, console: Console) -> int:
    """Set up, run all tests once per engine, and say what ran."""
    others = further_engines()
    if not options.no_apt:
        take(test_package_steps(with_guests=GUEST not in options.leave_out), console)
    first = first_engine()
    engines = [first, *(engine for engine in others if engine.oshcc != first.oshcc)]
    outcomes = [test_engine(engine, options, console) for engine in engines]
    console.say(f"\n{'Tests by engine':<{WIDTH - 24}}{'passed':>10}{'failed':>10}\n")
    for outcome in outcomes:
        console.say(described(outcome))
    passed, failed = (sum(getattr(outcome, which) for outcome in outcomes) for which in ("passed", "failed"))
    if passed + failed == 0:
        raise BootstrapError("no test ran")
    console.say(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


def test_package_steps(with_guests: bool) -> list[Step]:
    """What Debian must supply for the tests."""
    packages = [*BUILD_PACKAGES, *TEST_PACKAGES]
    return [packages_step([*packages, *GUEST_PACKAGES]), kernel_step()] if with_guests else [packages_step(packages)]


def test_engine(engine: Engine, options: argparse.Namespace, console: Console) -> Outcome:
    """Build for one engine and run the tests; a failure here does not keep the other engines from theirs."""
    outcome = Outcome(engine.oshcc or "OpenSHMEM")
    try:
        take(engine_steps(engine, "test"), console)
        run_tests(engine, options, console, outcome)
    except CommandError as error:
        outcome.failed = outcome.failed or 1
        complain(error)
    return outcome


# An emulated machine leaves half a core idle, which is enough for what has no PEs that wait for each other.
BESIDE = (("tests in emulated machines", ["-m", "guest"]), ("tests with one PE or none", ["-m", "beside"]))
THE_REST = ["-m", "not guest and not beside"]


def run_tests(engine: Engine, options: argparse.Namespace, console: Console, outcome: Outcome) -> None:
    """Run pytest, showing its progress, and read the summary that it leaves."""
    summary = WORK / f"summary{engine.venv.name}.jsonl"
    summary.unlink(missing_ok=True)
    environment = engine.environment(PYSHMEM_TEST_SUMMARY=str(summary))
    leave_out = [f"--leave-out={name}" for name in options.leave_out]
    colour = ["--color=yes"] if console.live else []
    command = [engine.tool("pytest"), "-v" if options.verbose else "-q", *colour, *leave_out, *options.pytest]
    whole = not options.pytest and GUEST not in options.leave_out
    failures = run_beside(command, outcome.name, environment, console) if whole else []
    title = f"tests for {outcome.name}"
    console.begin(title, streamed=True)
    failures += run_pytest([*command, *(THE_REST if whole else [])], title, environment, console)
    console.end("FAILED" if failures else "")
    read_summary(summary, outcome)
    if failures:
        outcome.failed = outcome.failed or 1
        complain(BootstrapError("\n".join(failures)))


def run_beside(command: Sequence[str], name: str, environment: Mapping[str, str], console: Console) -> list[str]:
    """Run what can run at the same time; what it prints follows when all is done."""
    failures: list[str] = []
    titles = [f"{what} for {name}" for what, _ in BESIDE]

    def run(title: str, chosen: Sequence[str]) -> None:
        failures.extend(run_pytest([*command, *chosen], title, environment, Console(live=False), show=False))

    console.begin(f"{' and '.join(what for what, _ in BESIDE)} for {name}", streamed=True)
    threads = [threading.Thread(target=run, args=(title, chosen))
               for title, (_, chosen) in zip(titles, BESIDE, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for title in titles:
        console.say(log_of(title).read_text(errors="replace"))
    console.end("FAILED" if failures else "")
    return failures


def run_pytest(
    command: Sequence[str], title: str, environment: Mapping[str, str], console: Console, show: bool = True
) -> list[str]:
    """Run pytest; nothing, or that it failed and where its output is."""
    log = new_log(title)
    try:
        console.run(command, log, environment, show=show)
    except CommandError as error:
        # What failed has been shown as it ran, so its last lines are not shown again.
        return [f"pytest ended with status {error.status}\nfull log: {log}"]
    return []


def read_summary(summary: Path, outcome: Outcome) -> None:
    """Add up the JSON lines that a test session has written; none at all counts as a failure."""
    if not summary.exists():
        outcome.failed += 1
        complain(BootstrapError(f"the tests wrote no summary to {summary}"))
        return
    for line in summary.read_text().splitlines():
        outcome.add(json.loads(line))


def described(outcome: Outcome) -> str:
    """An engine's line in the closing table, and below it on what its tests ran."""
    lines = [f"{outcome.name:<{WIDTH - 24}}{outcome.passed:>10}{outcome.failed:>10}"]
    for key, label in (("pes", "PEs"), ("guests", "guests"), ("left_out", "left out")):
        text = ", ".join(outcome.seen[key]) or "none"
        lines += textwrap.wrap(text, WIDTH, initial_indent=f"  {label:<10}", subsequent_indent=" " * 12)
    return "\n".join(lines) + "\n"


# --- Command line ------------------------------------------------------------------------------

COMMANDS = {"demo": demo, "test": test}


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Read the command line; what is not ours is for pytest."""
    parser = argparse.ArgumentParser(
        prog="bootstrap.py",
        usage="python3 bootstrap.py [-h] [--no-apt] [-v] {demo,test} [--leave-out NAME] [pytest arguments]",
        description=(__doc__ or "").split("\n\n")[0],
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("command", choices=COMMANDS, help="run the stencil on 4 PEs, or all tests on every engine")
    parser.add_argument("--no-apt", action="store_true", help="install no Debian packages: all is there already")
    parser.add_argument("-v", "--verbose", action="store_true", help="show commands and their output")
    parser.add_argument("--leave-out", action="append", default=[], metavar="NAME",
                        help="tests not to run, such as those in a guest; named in the summary")
    options, rest = parser.parse_known_args(arguments)
    options.pytest = rest
    if options.command == "demo" and (options.pytest or options.leave_out):
        parser.error(f"demo takes no more arguments: {' '.join(rest or options.leave_out)}")
    return options


def complain(error: BaseException) -> None:
    """Say on standard error what went wrong."""
    sys.stdout.flush()
    print(f"\nbootstrap: {error}\n", file=sys.stderr, flush=True)


def main() -> int:
    """Run one of the two commands; the exit status."""
    options = parse(sys.argv[1:])
    try:
        return COMMANDS[options.command](options, Console(options.verbose))
    except BrokenPipeError:
        # Whoever read our output has gone; Python would complain once more when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (BootstrapError, OSError) as error:
        complain(error)
    except KeyboardInterrupt:
        complain(KeyboardInterrupt("interrupted"))
        return 130
    return 1


if __name__ == "__main__":
    if sys.version_info < (3, 10):  # noqa: UP036 (it is what an older Python must get to see)
        sys.exit("bootstrap: pyshmem needs Python 3.10 or newer; this is " + sys.version.split()[0])
    sys.exit(main())
