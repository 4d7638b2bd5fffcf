"""``python -m pyshmem``: the same as the ``pyshmem`` command."""

import sys

from pyshmem.command import main

if __name__ == "__main__":
    sys.exit(main())
