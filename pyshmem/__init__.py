"""OpenSHMEM for Python, with symmetric memory partitions.

Importing starts nothing; ``init()`` does, collectively::

    import pyshmem as shmem

    shmem.init(partitions={"fast": "size=512M:kind=FASTMEM:policy=PREFERRED"})
    a = shmem.zeros(1000, partition="fast")
"""

from inspect import ismodule as _is_module

from pyshmem import rc as rc
from pyshmem._core.binding import (
    alloc,
    alltoall,
    and_reduce,
    array,
    atomic_add,
    atomic_fetch,
    atomic_fetch_add,
    atomic_inc,
    atomic_set,
    barrier_all,
    broadcast,
    del_array,
    empty,
    fcollect,
    fence,
    free,
    fromalloc,
    full,
    get,
    iget,
    info_get_name,
    info_get_version,
    iput,
    max_reduce,
    min_reduce,
    my_pe,
    n_pes,
    new_array,
    ones,
    or_reduce,
    prod_reduce,
    ptr,
    put,
    quiet,
    reduce,
    sum_reduce,
    sync_all,
    wait_until,
    xor_reduce,
    zeros,
)
from pyshmem.build import build_info
from pyshmem.constants import *  # noqa: F403
from pyshmem.constants import CMP, MALLOC, OP, THREAD
from pyshmem.errors import FreedError, NotInitializedError, PartitionError
from pyshmem.memory import Partition, PartitionSpec, partition, partitions, placement
from pyshmem.reports import report
from pyshmem.runtime import finalize, global_exit, init, init_thread, query_thread

__version__ = "0.1.0"

__all__ = sorted(name for name, value in globals().items() if not name.startswith("_") and not _is_module(value))
