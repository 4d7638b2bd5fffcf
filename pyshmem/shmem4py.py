"""Run a program that was written for shmem4py, unchanged: ``import shmem4py`` finds pyshmem there.

::

    oshrun -n 4 python -m pyshmem.shmem4py (script.py | -m module | -c code) [arguments]
    pyshmem run --shmem4py -n 4 script.py [arguments]

A program that may be changed needs none of this: ``from pyshmem import shmem`` has the same names.
"""

from __future__ import annotations

import builtins
import importlib
import io
import os
import runpy
import sys
import zipfile
from collections.abc import Callable, Sequence
from importlib.abc import InspectLoader, MetaPathFinder
from importlib.machinery import BuiltinImporter, ModuleSpec, SourceFileLoader
from types import CodeType, ModuleType, TracebackType

from pyshmem import rc

VERSION = "1.0.0"  # of shmem4py, all of which is here
USAGE = "usage: python -m pyshmem.shmem4py (script.py | -m module | -c code) [arguments]"

# What stands for the modules of shmem4py besides the package itself.
STAND_INS = {"shmem4py.shmem": "pyshmem.shmem", "shmem4py.rc": "pyshmem.rc"}
MAIN = "import shmem4py\nprint('shmem4py', shmem4py.__version__)\n"


class Finder(MetaPathFinder, InspectLoader):
    """Finds pyshmem where a program looks for shmem4py, before any other that may be installed."""

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """Tell Python that the modules of shmem4py are to be had here."""
        if fullname in ("shmem4py", "shmem4py.__main__", *STAND_INS):
            return ModuleSpec(fullname, self, is_package=fullname == "shmem4py")
        return None

    def exec_module(self, module: ModuleType) -> None:
        """Fill the package, or put what stands for one of its modules in the place of that."""
        if module.__name__ in STAND_INS:
            __import__(STAND_INS[module.__name__])
            sys.modules[module.__name__] = sys.modules[STAND_INS[module.__name__]]
        else:
            vars(module).update(__doc__="shmem4py, as pyshmem does it.", __version__=VERSION, rc=rc, Rc=type(rc))

    def get_source(self, fullname: str) -> str | None:
        """The text of ``python -m shmem4py``; the other modules have none."""
        return MAIN if fullname == "shmem4py.__main__" else None


def install() -> None:
    """From now on ``import shmem4py`` finds pyshmem."""
    if not any(isinstance(finder, Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, Finder())


# ---- what Python does with its command line --------------------------------------------------------------------------

def main(arguments: Sequence[str]) -> int:
    """Run the program that the arguments name; the exit status."""
    install()
    if not arguments or arguments[0] in ("-h", "--help"):
        print(USAGE)
        return 0 if arguments else 2
    first, *rest = arguments
    if first in ("-m", "-c") and not rest:
        print(f"{USAGE}\n{first} takes a {'module' if first == '-m' else 'program text'}", file=sys.stderr)
        return 2
    if first == "-m":
        return guarded(run_module, rest)
    if first == "-c":
        return guarded(run_text, rest)
    if not os.path.exists(first):
        print(f"pyshmem: there is no program {first}", file=sys.stderr)
        return 2
    return guarded(run_script, [first, *rest])


def fresh_main(**names: object) -> ModuleType:
    """A ``__main__`` as Python makes it for a program, in place of ours."""
    made = ModuleType("__main__")
    vars(made).update(__builtins__=builtins, **names)
    sys.modules["__main__"] = made
    return made


def first_on_path(directory: str, always: bool = False) -> None:
    """Make modules be looked for in a directory first, in place of ours, unless Python was told to leave it out."""
    if not getattr(sys.flags, "safe_path", False):
        sys.path[0] = directory
    elif always:
        sys.path.insert(0, directory)


def run_script(arguments: Sequence[str]) -> None:
    """``python script.py arguments``; the script may be a directory or an archive with a ``__main__.py``."""
    script = arguments[0]
    sys.argv[:] = arguments
    if os.path.isdir(script) or zipfile.is_zipfile(script):
        fresh_main()
        first_on_path(os.path.abspath(script), always=True)
        _run_module_as_main("__main__", False)
        return
    path = os.path.abspath(script)
    with io.open_code(path) as file:
        code = compile(file.read(), path, "exec", dont_inherit=True)
    first_on_path(os.path.dirname(os.path.realpath(script)))
    execute(code, fresh_main(__file__=path, __cached__=None, __loader__=SourceFileLoader("__main__", path)))


def run_module(arguments: Sequence[str]) -> None:
    """``python -m module arguments``."""
    sys.argv[:] = ["-m", *arguments[1:]]
    first_on_path(os.getcwd())
    fresh_main()
    _run_module_as_main(arguments[0])


def run_text(arguments: Sequence[str]) -> None:
    """``python -c text arguments``."""
    sys.argv[:] = ["-c", *arguments[1:]]
    first_on_path("")
    code = compile(arguments[0], "<string>", "exec", dont_inherit=True)
    execute(code, fresh_main(__loader__=BuiltinImporter))


def execute(code: CodeType, module: ModuleType) -> None:
    """Run a program's code in its ``__main__``."""
    exec(code, vars(module))


# What the interpreter itself calls, by this name, for -m.
_run_module_as_main: Callable[..., object] = vars(runpy)["_run_module_as_main"]


# ---- how programs end ------------------------------------------------------------------------------------------------

def guarded(run: Callable[[Sequence[str]], None], arguments: Sequence[str]) -> int:
    """Run a program; an exception that it does not catch goes to the hook, which ends the job, without our frames."""
    try:
        run(arguments)
    except SystemExit:
        raise
    except BaseException as error:
        error.__traceback__ = without_our_frames(error.__traceback__)
        sys.excepthook(type(error), error, error.__traceback__)
        return 130 if isinstance(error, KeyboardInterrupt) else 1
    return 0


# Files whose frames say nothing of a program: this one, and those of Python's that are between it and the program.
OURS = (__file__, _run_module_as_main.__code__.co_filename, "<frozen importlib._bootstrap>",
        "<frozen importlib._bootstrap_external>")


def without_our_frames(trace: TracebackType | None) -> TracebackType | None:
    """A traceback with the frames of the program, and of what it calls, only."""
    kept: list[TracebackType] = []
    while trace is not None:
        if trace.tb_frame.f_code.co_filename not in OURS:
            kept.append(trace)
        trace = trace.tb_next
    for entry, following in zip(kept, [*kept[1:], None], strict=False):
        entry.tb_next = following
    return kept[0] if kept else None


if __name__ == "__main__":
    # Under the module's own name, since the program gets the name __main__.
    sys.exit(importlib.import_module("pyshmem.shmem4py").main(sys.argv[1:]))
