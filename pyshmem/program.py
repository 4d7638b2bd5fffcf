"""Run a script as one PE of a job: ``python program.py script.py args``.

As ``python script.py args``, but a ``SystemExit`` with a status, however it is raised, ends the whole job.
``pyshmem run`` starts this file by its path, not as a module: ``-m`` would look for pyshmem in the working
directory first, and find a source tree there that was never built.
"""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.pop(0)  # this package's directory

from pyshmem import failure


def main() -> None:
    """Run the script or module that the command line names."""
    arguments = sys.argv[1:]
    if not arguments or arguments == ["-m"]:
        sys.exit("usage: python program.py (script.py | -m module) [args]")
    try:
        if arguments[0] == "-m":
            sys.argv = arguments[1:]
            sys.path.insert(0, "")
            runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
        else:
            sys.argv = arguments
            sys.path.insert(0, str(Path(arguments[0]).resolve().parent))
            runpy.run_path(arguments[0], run_name="__main__")
    except SystemExit as end:
        failure.note_exit(end.code)
        raise


if __name__ == "__main__":
    main()
