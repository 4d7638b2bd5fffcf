"""The fast core: Cython over OpenSHMEM and the C library of partitions.

``binding`` is one extension module, written in chapters (``runtime.pxi``, ``memory.pxi``, ``rma.pxi`` and so
on, after those of the OpenSHMEM specification).  Everything here is checked but plain; the friendly face is the
package around it.
"""

import os

# A library below Sandia OpenSHMEM (PSM, by way of libfabric) takes SIGINT and the fault signals for itself when it is
# loaded, to write backtraces into the working directory; Python's Ctrl-C would never arrive.
os.environ.setdefault("IPATH_NO_BACKTRACE", "1")
