# Chapter "Collective Routines".

def barrier_all():
    """Wait for all PEs, and complete all that was put before (specification: ``shmem_barrier_all``). Collective."""
    check_running()
    if check_collectives:
        check_symmetry(engine_team_world(), CALL_BARRIER, 0, 0, 0, 0)
    begun = begun_on(default_channel)
    meet_all()


def barrier(team=None):
    """Wait for all PEs of a team, and complete what this PE put on the default context. Collective over the team.

    Parameters
    ----------
    team : Team, optional
        The default is all PEs.
    """
    cdef pe_set *members = team_of(team)
    if team is None:
        barrier_all()
        return
    if check_collectives:
        check_symmetry(members, CALL_BARRIER, 0, 0, 0, 0)
    begun = begun_on(default_channel)
    waiting = begin_waiting()
    shmem_ctx_quiet(SHMEM_CTX_DEFAULT)
    engine_team_sync(members)
    end_waiting(waiting)


def sync_all():
    """Wait for all PEs; nothing is completed but local stores (specification: ``shmem_sync_all``). Collective."""
    check_running()
    if check_collectives:
        check_symmetry(engine_team_world(), CALL_SYNC, 0, 0, 0, 0)
    waiting = begin_waiting()
    shmem_sync_all()
    end_waiting(waiting)


def sync(team=None):
    """Wait for all PEs of a team; nothing is completed but local stores. Collective over the team.

    Parameters
    ----------
    team : Team, optional
        The default is all PEs.
    """
    cdef pe_set *members = team_of(team)
    if check_collectives:
        check_symmetry(members, CALL_SYNC, 0, 0, 0, 0)
    waiting = begin_waiting()
    engine_team_sync(members)
    end_waiting(waiting)


cdef int check_collective(cnp.ndarray into, cnp.ndarray out_of) except -1:
    """What can be wrong with the two arrays of a collective, but for their sizes."""
    check_layout(into, "target")
    check_layout(out_of, "source")
    check_writeable(into, "target")
    check_dtypes(into, out_of)
    check_symmetric(into, "target")
    check_symmetric(out_of, "source")
    return 0


cdef int check_status(int status) except -1:
    if status != 0:
        raise MemoryError("a collective failed in the engine, or found no ordinary memory to work in")
    return 0


cdef int call_checked(pe_set *members, call_kind kind, uint64_t count, uint64_t bytes, uint64_t c, uint64_t d) except -1:
    return check_symmetry(members, kind, count, bytes, c, d) if check_collectives else 0


def broadcast(target, source, Py_ssize_t root, size=None, team=None):
    """Copy ``source`` of one PE to ``target`` of all PEs, the root's included. Collective over the team.

    Parameters
    ----------
    target, source : numpy.ndarray
        Symmetric arrays, contiguous, of the same dtype; ``target`` may be written on entry.
    root : int
        The PE whose ``source`` is copied, by its number in the team.
    size : int, optional
        Number of elements; the default is as many as both arrays hold.
    team : Team, optional
        The default is all PEs.

    Raises
    ------
    TypeError, ValueError, FreedError, NotInitializedError
        Before anything is written.
    """
    cdef pe_set *members = team_of(team)
    cdef cnp.ndarray into = as_array(target, "target"), out_of = as_array(source, "source")
    cdef Py_ssize_t count
    cdef int status
    check_collective(into, out_of)
    check_team_pe(members, root)
    count = element_count(size, cnp.PyArray_SIZE(into), cnp.PyArray_SIZE(out_of))
    call_checked(members, CALL_BROADCAST, count, cnp.PyArray_ITEMSIZE(into), root, 0)
    waiting = begin_waiting()
    status = engine_broadcast(members, cnp.PyArray_DATA(into), cnp.PyArray_DATA(out_of),
                              count * cnp.PyArray_ITEMSIZE(into), <int>root)
    end_waiting(waiting)
    check_status(status)


def collect(target, source, size=None, team=None):
    """Concatenate ``source`` of all PEs, in their order, in ``target`` of all PEs. Collective over the team.

    Parameters
    ----------
    target, source : numpy.ndarray
        Symmetric arrays, contiguous, of the same dtype; ``target`` must hold what all bring.
    size : int, optional
        Number of elements from this PE, which may differ between PEs; the default is all of ``source``.
    team : Team, optional
        The default is all PEs.

    Raises
    ------
    ValueError
        All together bring more than ``target`` holds.
    """
    cdef pe_set *members = team_of(team)
    cdef cnp.ndarray into = as_array(target, "target"), out_of = as_array(source, "source")
    cdef Py_ssize_t count
    cdef int status
    check_collective(into, out_of)
    count = element_count(cnp.PyArray_SIZE(out_of) if size is None else size, cnp.PyArray_SIZE(into),
                          cnp.PyArray_SIZE(out_of))
    if cnp.PyArray_SIZE(into) == 0:
        return                      # alike on all PEs
    call_checked(members, CALL_COLLECT, cnp.PyArray_ITEMSIZE(into), 0, 0, 0)
    waiting = begin_waiting()
    collected = engine_collected_count(members, count)
    end_waiting(waiting)
    if collected > <uint64_t>cnp.PyArray_SIZE(into):
        raise ValueError(f"the PEs bring {collected} elements together, target has {cnp.PyArray_SIZE(into)}")
    waiting = begin_waiting()
    status = engine_collect(members, cnp.PyArray_DATA(into), cnp.PyArray_DATA(out_of), count,
                            cnp.PyArray_ITEMSIZE(into))
    end_waiting(waiting)
    check_status(status)


def fcollect(target, source, size=None, team=None):
    """``collect()`` of the same number of elements from each PE. Collective over the team.

    Parameters
    ----------
    target, source : numpy.ndarray
        Symmetric arrays, contiguous, of the same dtype; ``target`` may be written on entry.
    size : int, optional
        Number of elements from each PE, the same on all; the default is all of ``source``.
    team : Team, optional
        The default is all PEs.
    """
    cdef pe_set *members = team_of(team)
    cdef cnp.ndarray into = as_array(target, "target"), out_of = as_array(source, "source")
    cdef Py_ssize_t count
    cdef int status
    check_collective(into, out_of)
    count = element_count(cnp.PyArray_SIZE(out_of) if size is None else size,
                          cnp.PyArray_SIZE(into) // engine_team_size(members), cnp.PyArray_SIZE(out_of))
    call_checked(members, CALL_FCOLLECT, count, cnp.PyArray_ITEMSIZE(into), 0, 0)
    waiting = begin_waiting()
    status = engine_fcollect(members, cnp.PyArray_DATA(into), cnp.PyArray_DATA(out_of),
                             count * cnp.PyArray_ITEMSIZE(into))
    end_waiting(waiting)
    check_status(status)


cdef Py_ssize_t block_count(pe_set *members, object size, Py_ssize_t target_length, Py_ssize_t source_length) except -1:
    """Elements of a block that each PE sends to each."""
    cdef int pes = engine_team_size(members)
    cdef Py_ssize_t shorter = min(target_length, source_length)
    if size is None and shorter % pes:
        raise ValueError(f"{shorter} elements cannot be shared out evenly among {pes} PEs; say the size of a block")
    return element_count(size, target_length // pes, source_length // pes)


def alltoall(target, source, size=None, team=None):
    """Send block ``j`` of ``source`` to PE ``j``, where it becomes block ``i`` of ``target`` (from PE ``i``).

    Collective over the team.

    Parameters
    ----------
    target, source : numpy.ndarray
        Symmetric arrays, contiguous, of the same dtype; ``target`` may be written on entry.
    size : int, optional
        Number of elements of a block, the same on all PEs; the default shares out the shorter array.
    team : Team, optional
        The default is all PEs.
    """
    cdef pe_set *members = team_of(team)
    cdef cnp.ndarray into = as_array(target, "target"), out_of = as_array(source, "source")
    cdef Py_ssize_t count
    cdef int status
    check_collective(into, out_of)
    count = block_count(members, size, cnp.PyArray_SIZE(into), cnp.PyArray_SIZE(out_of))
    call_checked(members, CALL_ALLTOALL, count, cnp.PyArray_ITEMSIZE(into), 0, 0)
    waiting = begin_waiting()
    status = engine_alltoall(members, cnp.PyArray_DATA(into), cnp.PyArray_DATA(out_of),
                             count * cnp.PyArray_ITEMSIZE(into))
    end_waiting(waiting)
    check_status(status)


def alltoalls(target, source, Py_ssize_t tst=1, Py_ssize_t sst=1, size=None, team=None):
    """``alltoall()`` of elements ``sst`` apart in ``source`` and ``tst`` apart in ``target``. Collective over the team.

    Parameters
    ----------
    tst, sst : int
        Strides in elements, 1 or more.
    target, source, size, team
        As for ``alltoall``; ``size`` counts the elements that are moved.
    """
    cdef pe_set *members = team_of(team)
    cdef cnp.ndarray into = as_array(target, "target"), out_of = as_array(source, "source")
    cdef Py_ssize_t count
    cdef int status
    check_collective(into, out_of)
    if tst < 1 or sst < 1:
        raise ValueError(f"strides are counted in elements and must be 1 or more, got tst={tst} and sst={sst}")
    count = block_count(members, size, strided_blocks(into, tst, 1), strided_blocks(out_of, sst, 1))
    call_checked(members, CALL_ALLTOALLS, count, cnp.PyArray_ITEMSIZE(into), tst, sst)
    waiting = begin_waiting()
    status = engine_alltoalls(members, cnp.PyArray_DATA(into), cnp.PyArray_DATA(out_of), tst, sst, count,
                              cnp.PyArray_ITEMSIZE(into))
    end_waiting(waiting)
    check_status(status)


# ---- reductions and scans --------------------------------------------------------------------------------------------

cdef dict reductions = {
    "and": REDUCTION_AND, "or": REDUCTION_OR, "xor": REDUCTION_XOR, "max": REDUCTION_MAX, "min": REDUCTION_MIN,
    "sum": REDUCTION_SUM, "prod": REDUCTION_PROD,
}


cdef int raise_no_reduction(object op, cnp.ndarray array) except -1:
    raise TypeError(f"there is no {op} reduction for dtype {array.dtype}")


cdef int combine(object target, object source, int operation, object op, object size, object team) except -1:
    cdef pe_set *members = team_of(team)
    cdef cnp.ndarray into = as_array(target, "target"), out_of = as_array(source, "source")
    cdef Py_ssize_t count
    cdef int status, element
    check_collective(into, out_of)
    element = element_of(into)
    if element < 0 or not engine_can_reduce(<reduction>operation, <enum_element>element):
        raise_no_reduction(op, into)
    count = element_count(size, cnp.PyArray_SIZE(into), cnp.PyArray_SIZE(out_of))
    call_checked(members, CALL_REDUCE, count, element, operation, 0)
    waiting = begin_waiting()
    status = engine_reduce(members, <reduction>operation, <enum_element>element, cnp.PyArray_DATA(into),
                           cnp.PyArray_DATA(out_of), count)
    end_waiting(waiting)
    return check_status(status)


def reduce(target, source, op="sum", size=None, team=None):
    """Combine ``source`` of all PEs, element by element, in ``target`` of all PEs. Collective over the team.

    Parameters
    ----------
    target, source : numpy.ndarray
        Symmetric arrays, contiguous, of the same dtype; they may be the same array.
    op : {'sum', 'prod', 'min', 'max', 'and', 'or', 'xor'}
        The operation; ``OP`` has the names.
    size : int, optional
        Number of elements; the default is as many as both arrays hold.
    team : Team, optional
        The default is all PEs.

    Raises
    ------
    TypeError
        The operation does not exist for the dtype.
    """
    combine(target, source, operation_in(reductions, op), op, size, team)


def and_reduce(target, source, size=None, team=None):
    """Bitwise AND over all PEs of the team. Collective; see ``reduce``."""
    combine(target, source, REDUCTION_AND, "and", size, team)


def or_reduce(target, source, size=None, team=None):
    """Bitwise OR over all PEs of the team. Collective; see ``reduce``."""
    combine(target, source, REDUCTION_OR, "or", size, team)


def xor_reduce(target, source, size=None, team=None):
    """Bitwise exclusive OR over all PEs of the team. Collective; see ``reduce``."""
    combine(target, source, REDUCTION_XOR, "xor", size, team)


def max_reduce(target, source, size=None, team=None):
    """Greatest value over all PEs of the team. Collective; see ``reduce``."""
    combine(target, source, REDUCTION_MAX, "max", size, team)


def min_reduce(target, source, size=None, team=None):
    """Least value over all PEs of the team. Collective; see ``reduce``."""
    combine(target, source, REDUCTION_MIN, "min", size, team)


def sum_reduce(target, source, size=None, team=None):
    """Sum over all PEs of the team. Collective; see ``reduce``."""
    combine(target, source, REDUCTION_SUM, "sum", size, team)


def prod_reduce(target, source, size=None, team=None):
    """Product over all PEs of the team. Collective; see ``reduce``."""
    combine(target, source, REDUCTION_PROD, "prod", size, team)


cdef int scan(object target, object source, object size, object team, bint inclusive) except -1:
    cdef pe_set *members = team_of(team)
    cdef cnp.ndarray into = as_array(target, "target"), out_of = as_array(source, "source")
    cdef Py_ssize_t count
    cdef int status, element
    check_collective(into, out_of)
    element = element_of(into)
    if element < 0:
        raise TypeError(f"there is no sum for dtype {into.dtype}")
    count = element_count(size, cnp.PyArray_SIZE(into), cnp.PyArray_SIZE(out_of))
    call_checked(members, CALL_SCAN, count, element, inclusive, 0)
    waiting = begin_waiting()
    status = engine_scan(members, <enum_element>element, cnp.PyArray_DATA(into), cnp.PyArray_DATA(out_of), count,
                         inclusive)
    end_waiting(waiting)
    return check_status(status)


def sum_inscan(target, source, size=None, team=None):
    """Sums of ``source`` over PEs 0 to this one, element by element (``shmem_sum_inscan``). Collective over the team.

    Parameters
    ----------
    target, source, size, team
        As for ``reduce``.
    """
    scan(target, source, size, team, True)


def sum_exscan(target, source, size=None, team=None):
    """Sums of ``source`` over the PEs before this one; zeros on PE 0 (``shmem_sum_exscan``). Collective over the team.

    Parameters
    ----------
    target, source, size, team
        As for ``reduce``.
    """
    scan(target, source, size, team, False)
