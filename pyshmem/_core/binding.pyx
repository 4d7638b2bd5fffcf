# cython: language_level=3, binding=False, embedsignature=True, embedsignature.format=clinic
# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""OpenSHMEM's operations, checked and dispatched by dtype number.

One module in chapters: each ``.pxi`` is a chapter of the OpenSHMEM specification, or a thing that all of them
need (``arrays.pxi`` understands arrays, ``scalars.pxi`` values; nothing else does).
"""

cimport cython
cimport numpy as cnp
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int64_t, uint64_t, uintptr_t
from libc.string cimport memmove, memset

import operator
import os
import sys

import numpy as np

from pyshmem._core.engine cimport *
from pyshmem.errors import FreedError, NoPartitionError, NotInitializedError, PartitionError, SymmetryError

cnp.import_array()

include "runtime.pxi"
include "arrays.pxi"
include "scalars.pxi"
include "lifetime.pxi"
include "memory.pxi"
include "creation.pxi"
include "partition.pxi"
include "topology.pxi"
include "plan.pxi"
include "team.pxi"
include "context.pxi"
include "rma.pxi"
include "atomic.pxi"
include "signal.pxi"
include "collective.pxi"
include "ordering.pxi"
include "synchronization.pxi"
include "lock.pxi"
include "interface.pxi"
