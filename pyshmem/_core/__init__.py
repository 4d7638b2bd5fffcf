"""The fast core: Cython over OpenSHMEM and the C library of partitions.

``binding`` is one extension module, written in chapters (``runtime.pxi``, ``memory.pxi``, ``rma.pxi`` and so
on, after those of the OpenSHMEM specification).  Everything here is checked but plain; the friendly face is the
package around it.
"""

import os
from importlib.machinery import PathFinder

if PathFinder.find_spec("pyshmem._core.binding", __path__) is None:
    raise ImportError(f"{os.path.dirname(__path__[0])} is pyshmem's source and not built, and found before what "
                      "is installed: have your script in another directory")

# A library below Sandia OpenSHMEM (PSM, by way of libfabric) takes SIGINT and the fault signals for itself when it is
# loaded, to write backtraces into the working directory; Python's Ctrl-C would never arrive.
os.environ.setdefault("IPATH_NO_BACKTRACE", "1")
