"""The command line: ``pyshmem run``, ``topology``, ``plan``, ``info`` and ``config``."""

from __future__ import annotations

import argparse
import os
import socket
import sys
from collections.abc import Sequence
from pathlib import Path

import pyshmem
from pyshmem import build, colour, files, launch, plan, topology

RUN_DESCRIPTION = """\
Start a program on several PEs with the launcher of the OpenSHMEM library that pyshmem was built with, and give the
launcher what this machine needs: permission for root, more PEs than cores, a host name.  SHMEM_*, SMA_*, PYSHMEM_* and
SHMEM4PY_* variables reach every host.
"""

RUN_EXAMPLES = """\
examples:
  pyshmem run -n 4 examples/hello.py
  pyshmem run -n 4 --bind-to core -- examples/stencil.py 10 1000 --partition fast
  SHMEM_SYMMETRIC_PARTITION2=size=1G:kind=FASTMEM:name=fast pyshmem run -n 2 script.py
  pyshmem run --shmem4py -n 4 script.py     (which says "from shmem4py import shmem")
  SHMEM_SYMMETRIC_PARTITION1=size=4G:kind=FASTMEM pyshmem run --preload -n 4 ./app     (in C, and not rebuilt)
"""


PLAN_DESCRIPTION = """\
Say what the partitions of the environment (SHMEM_SYMMETRIC_PARTITION<ID>) and of --partition would do for the PEs of
one node, without starting any.  The status is 1 if the job would fail.
"""

PLAN_EXAMPLES = """\
examples:
  pyshmem plan -n 64 --partition size=200M:kind=FASTMEM:name=fast
  SHMEM_SYMMETRIC_PARTITION2=size=1G:kind=FASTMEM pyshmem plan -n 8 --bind socket --xml node.xml --svg node.svg
"""

MOST_ON_A_NODE = 65536  # more than any has cores
FLAGS = ("-v", "--verbose", "--shmem4py", "--preload", "-h", "--help")  # our own options of run, besides -n


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point of the ``pyshmem`` command; the exit status."""
    parser = _parser()
    given = list(sys.argv[1:] if arguments is None else arguments)
    own, rest = _split(given) if given[:1] == ["run"] else (given, [])
    options = parser.parse_args(own)
    if options.command is None:
        parser.print_help()
        return 2
    try:
        status = int(options.action(options, rest))
        sys.stdout.flush()
        return status
    except launch.LaunchError as error:
        print(f"pyshmem: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # who reads has enough; nothing may be written at exit either
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        print(f"pyshmem: what was asked for cannot be written: {error.strerror}", file=sys.stderr)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="pyshmem", description="OpenSHMEM for Python, with symmetric partitions.")
    parser.add_argument("--version", action="version", version=f"pyshmem {pyshmem.__version__}")
    commands = parser.add_subparsers(dest="command", metavar="command")
    run = commands.add_parser(
        "run",
        help="start a program on several PEs",
        description=RUN_DESCRIPTION,
        epilog=RUN_EXAMPLES,
        usage="pyshmem run [-h] [-n PES] [-v] [--shmem4py] [--preload] [launcher options --] "
        "(script.py | -m module | -c code | program) [args]",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    run.add_argument("-n", type=_positive, default=launch.usable_cores(), metavar="PES",
                     help="number of PEs (default: the cores here)")
    run.add_argument("-v", "--verbose", action="store_true", help="say the full command first")
    run.add_argument("--shmem4py", action="store_true",
                     help="run a Python program that was written for shmem4py, unchanged")
    run.add_argument("--preload", action="store_true",
                     help="give partitions to a program in C, C++ or Fortran that was built without them")
    run.set_defaults(action=_run)
    memory = commands.add_parser("topology", help="show this machine's memory as recognised, with the evidence")
    memory.add_argument("--xml", metavar="FILE", help="of a machine that hwloc has saved: lstopo --of xml FILE")
    memory.add_argument("--json", action="store_true", help="for programs: sizes in bytes, MB/s, ns")
    memory.add_argument("--svg", metavar="PICTURE", type=_picture, help="draw it into this file")
    memory.set_defaults(action=_topology)
    planned = commands.add_parser(
        "plan", help="say what partitions would do on this machine or a saved one, PE by PE and node by node",
        description=PLAN_DESCRIPTION, epilog=PLAN_EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    planned.add_argument("-n", "--pes", type=_on_a_node, required=True, metavar="N", help="number of PEs on the node")
    planned.add_argument("--xml", metavar="FILE", help="on a machine that hwloc has saved: lstopo --of xml FILE")
    planned.add_argument("--bind", choices=plan.BINDINGS, default="none",
                         help="what the launcher binds PEs to, one after the other (default: nothing)")
    planned.add_argument("--partition", action="append", default=[], metavar="DEFINITION",
                         help="a definition such as the program's own, size=1G:kind=FASTMEM:name=fast; may be repeated")
    planned.add_argument("--json", action="store_true", help="for programs: sizes in bytes")
    planned.add_argument("--svg", metavar="PICTURE", type=_picture, help="draw it into this file")
    planned.set_defaults(action=_plan)
    info = commands.add_parser("info", help="say what pyshmem was built with")
    info.set_defaults(action=_info)
    config = commands.add_parser("config", help="print where the C library is, for building C programs with it")
    which = config.add_mutually_exclusive_group(required=True)
    which.add_argument("--pkg-config-path", action="store_true", help="directory for PKG_CONFIG_PATH")
    which.add_argument("--include", action="store_true", help="directory of shmem_partition.h")
    which.add_argument("--lib", action="store_true", help="directory of libshmem_partition")
    which.add_argument("--preload", action="store_true", help="the library for LD_PRELOAD")
    which.add_argument("--oshcc", action="store_true", help="the compiler wrapper of the OpenSHMEM library")
    config.set_defaults(action=_config)
    return parser


def _picture(text: str) -> Path:
    path = Path(text)
    if path.suffix.lower() != ".svg":
        raise argparse.ArgumentTypeError(f"pictures are SVG files: {path.with_suffix('.svg')}, not {text}")
    return path


def _positive(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) < 1 << 31:
        raise argparse.ArgumentTypeError(f"a job has at least 1 PE, and at most 2147483647, not {text:.40}")
    return int(text)


def _on_a_node(text: str) -> int:
    if _positive(text) > MOST_ON_A_NODE:
        raise argparse.ArgumentTypeError(f"a node has at most {MOST_ON_A_NODE} PEs in a plan, not {text:.40}")
    return int(text)


def _split(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Our own options of ``run``, and all that follows them: launcher options and the program."""
    position = 1
    while position < len(arguments):
        word = arguments[position]
        if word in ("-n", "--n"):
            position += 2
        elif word in FLAGS or (word.startswith("-n") and word[2:].isdigit()):
            position += 1
        else:
            break
    return list(arguments[:position]), list(arguments[position:])


def _run(options: argparse.Namespace, rest: list[str]) -> int:
    launcher_options: list[str] = []
    # Only what starts with a dash can be an option; a later "--" belongs to the program.
    if rest and rest[0].startswith("-") and rest[0] not in launch.PYTHON_OPTIONS:
        if "--" not in rest:
            raise launch.LaunchError(f"{rest[0]} is no option of pyshmem run; end launcher options with --")
        end = rest.index("--")
        launcher_options, rest = rest[:end], rest[end + 1 :]
    if not rest:
        raise launch.LaunchError("no program to run; see pyshmem run --help")
    made = launch.job(options.n, launcher_options, rest, options.shmem4py, options.preload)
    if options.verbose:
        print(made, file=sys.stderr)
    launch.run(made)
    return 0


def _topology(options: argparse.Namespace, rest: list[str]) -> int:
    try:
        found = topology.recognise(options.xml)
    except OSError as error:
        raise launch.LaunchError(str(error)) from None
    if options.svg:
        _write(options.svg, topology.as_picture(found, f"Memory of {_machine(options)}"))
    print(topology.as_json(found) if options.json else topology.as_text(found, colour.painter(sys.stdout)))
    return 0


def _plan(options: argparse.Namespace, rest: list[str]) -> int:
    try:
        made = plan.make(options.pes, options.xml, options.bind, options.partition)
    except (OSError, ValueError) as error:
        raise launch.LaunchError(str(error)) from None
    if options.svg:
        _write(options.svg, plan.as_picture(made, f"Partitions on {_machine(options)}"))
    print(plan.as_json(made) if options.json else plan.as_text(made, colour.painter(sys.stdout)))
    return 0 if made["fits"] else 1


def _machine(options: argparse.Namespace) -> str:
    return Path(options.xml).name if options.xml else socket.gethostname()


def _write(path: Path, text: str) -> None:
    try:
        files.write(path, text)
    except OSError as error:
        raise launch.LaunchError(f"{path} cannot be written: {error.strerror or error}") from None


def _info(options: argparse.Namespace, rest: list[str]) -> int:
    from tabulate import tabulate

    print(tabulate(build.rows(), tablefmt="plain", disable_numparse=True))
    return 0


def _config(options: argparse.Namespace, rest: list[str]) -> int:
    if options.include:
        print(build.include_directory())
    elif options.preload:
        print(build.preload_library())
    elif options.oshcc:
        print(build.build_info()["oshcc"] or "cc")
    else:
        print(build.library_directory() / ("pkgconfig" if options.pkg_config_path else ""))
    return 0


if __name__ == "__main__":
    sys.exit(main())
