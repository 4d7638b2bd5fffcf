# Chapter "Collective Routines".

def barrier_all():
    """Wait for all PEs, and complete all that was put before (specification: ``shmem_barrier_all``). Collective."""
    check_running()
    with nogil:
        shmem_barrier_all()


def sync_all():
    """Wait for all PEs; nothing is completed but local stores (specification: ``shmem_sync_all``). Collective."""
    check_running()
    with nogil:
        shmem_sync_all()


cdef int check_team(object team) except -1:
    if team is not None:
        raise TypeError(f"team must be None (all PEs), not {type(team).__name__}")
    return 0


cdef int check_collective(object target, object source, object team) except -1:
    """What can be wrong with the two arrays of a collective, but for their sizes."""
    cdef cnp.ndarray into, out_of
    check_running()
    into = as_array(target, "target")
    out_of = as_array(source, "source")
    check_layout(into, "target")
    check_layout(out_of, "source")
    check_writeable(into, "target")
    check_dtypes(into, out_of)
    check_symmetric(into, "target")
    check_symmetric(out_of, "source")
    return check_team(team)


cdef int check_status(int status) except -1:
    if status != 0:
        raise MemoryError("no ordinary memory for a collective that the engine lacks and pyshmem supplies")
    return 0


def broadcast(target, source, Py_ssize_t root, size=None, team=None):
    """Copy ``source`` of one PE to ``target`` of all PEs, the root's included. Collective.

    Parameters
    ----------
    target, source : numpy.ndarray
        Symmetric arrays, contiguous, of the same dtype; ``target`` may be written on entry.
    root : int
        The PE whose ``source`` is copied.
    size : int, optional
        Number of elements; the default is as many as both arrays hold.
    team : None
        All PEs.

    Raises
    ------
    TypeError, ValueError, FreedError, NotInitializedError
        Before anything is written.
    """
    cdef Py_ssize_t count
    cdef int status
    cdef size_t bytes
    cdef void *into
    cdef void *out_of
    check_collective(target, source, team)
    check_pe(root)
    count = element_count(size, cnp.PyArray_SIZE(target), cnp.PyArray_SIZE(source))
    into, out_of = cnp.PyArray_DATA(target), cnp.PyArray_DATA(source)
    bytes = count * cnp.PyArray_ITEMSIZE(target)
    with nogil:
        status = engine_broadcast(into, out_of, bytes, root)
    check_status(status)


def fcollect(target, source, size=None, team=None):
    """Concatenate ``source`` of all PEs, in their order, in ``target`` of all PEs. Collective.

    Parameters
    ----------
    target, source : numpy.ndarray
        Symmetric arrays, contiguous, of the same dtype; ``target`` may be written on entry.
    size : int, optional
        Number of elements from each PE, the same on all; the default is as many as fit.
    team : None
        All PEs.
    """
    cdef Py_ssize_t count
    cdef int status
    cdef size_t bytes
    cdef void *into
    cdef void *out_of
    check_collective(target, source, team)
    count = element_count(size, cnp.PyArray_SIZE(target) // pe_count, cnp.PyArray_SIZE(source))
    into, out_of = cnp.PyArray_DATA(target), cnp.PyArray_DATA(source)
    bytes = count * cnp.PyArray_ITEMSIZE(target)
    with nogil:
        status = engine_fcollect(into, out_of, bytes)
    check_status(status)


def alltoall(target, source, size=None, team=None):
    """Send block ``j`` of ``source`` to PE ``j``, where it becomes block ``i`` of ``target`` (from PE ``i``). Collective.

    Parameters
    ----------
    target, source : numpy.ndarray
        Symmetric arrays, contiguous, of the same dtype; ``target`` may be written on entry.
    size : int, optional
        Number of elements of a block, the same on all PEs; the default is as many as fit ``n_pes()`` times.
    team : None
        All PEs.
    """
    cdef Py_ssize_t count
    cdef int status
    cdef size_t bytes
    cdef void *into
    cdef void *out_of
    check_collective(target, source, team)
    count = element_count(size, cnp.PyArray_SIZE(target) // pe_count, cnp.PyArray_SIZE(source) // pe_count)
    into, out_of = cnp.PyArray_DATA(target), cnp.PyArray_DATA(source)
    bytes = count * cnp.PyArray_ITEMSIZE(target)
    with nogil:
        status = engine_alltoall(into, out_of, bytes)
    check_status(status)


cdef dict reductions = {
    "and": REDUCTION_AND, "or": REDUCTION_OR, "xor": REDUCTION_XOR, "max": REDUCTION_MAX, "min": REDUCTION_MIN,
    "sum": REDUCTION_SUM, "prod": REDUCTION_PROD,
}


def reduce(target, source, op="sum", size=None, team=None):
    """Combine ``source`` of all PEs, element by element, in ``target`` of all PEs. Collective.

    Parameters
    ----------
    target, source : numpy.ndarray
        Symmetric arrays, contiguous, of the same dtype; they may be the same array.
    op : {'sum', 'prod', 'min', 'max', 'and', 'or', 'xor'}
        The operation; ``OP`` has the names.
    size : int, optional
        Number of elements; the default is as many as both arrays hold.
    team : None
        All PEs.

    Raises
    ------
    TypeError
        The operation does not exist for the dtype.
    """
    cdef Py_ssize_t count
    cdef int status, element, operation
    cdef void *into
    cdef void *out_of
    check_collective(target, source, team)
    operation = reductions.get(str(op).lower(), -1) if isinstance(op, str) else -1
    if operation < 0:
        raise ValueError(f"op must be one of {', '.join(sorted(reductions))}, not {op!r}")
    element = element_of(target)
    if element < 0 or not engine_can_reduce(<reduction>operation, <enum_element>element):
        raise TypeError(f"there is no {op} reduction for dtype {target.dtype}")
    count = element_count(size, cnp.PyArray_SIZE(target), cnp.PyArray_SIZE(source))
    into, out_of = cnp.PyArray_DATA(target), cnp.PyArray_DATA(source)
    with nogil:
        status = engine_reduce(<reduction>operation, <enum_element>element, into, out_of, count)
    check_status(status)


ctypedef element enum_element      # a name that no variable hides


def and_reduce(target, source, size=None, team=None):
    """Bitwise AND over all PEs. Collective; see ``reduce``."""
    reduce(target, source, "and", size, team)


def or_reduce(target, source, size=None, team=None):
    """Bitwise OR over all PEs. Collective; see ``reduce``."""
    reduce(target, source, "or", size, team)


def xor_reduce(target, source, size=None, team=None):
    """Bitwise exclusive OR over all PEs. Collective; see ``reduce``."""
    reduce(target, source, "xor", size, team)


def max_reduce(target, source, size=None, team=None):
    """Greatest value over all PEs. Collective; see ``reduce``."""
    reduce(target, source, "max", size, team)


def min_reduce(target, source, size=None, team=None):
    """Least value over all PEs. Collective; see ``reduce``."""
    reduce(target, source, "min", size, team)


def sum_reduce(target, source, size=None, team=None):
    """Sum over all PEs. Collective; see ``reduce``."""
    reduce(target, source, "sum", size, team)


def prod_reduce(target, source, size=None, team=None):
    """Product over all PEs. Collective; see ``reduce``."""
    reduce(target, source, "prod", size, team)
