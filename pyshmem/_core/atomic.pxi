# Chapter "Atomic Memory Operations": one path for all of them, dispatched by operation and dtype number.

cdef tuple atomic_names = ("set", "inc", "add", "fetch", "fetch_add")


cdef int raise_no_atomic(int operation, cnp.ndarray array) except -1:
    raise TypeError(
        f"OpenSHMEM has no atomic_{atomic_names[operation]} for dtype {array.dtype}; integers of 4 and 8 bytes have "
        "all atomics, float32 and float64 have set, fetch and swap"
    )


cdef int raise_not_one(cnp.ndarray array) except -1:
    raise ValueError(f"an atomic works on an array of one element, not of shape {(<object>array).shape}")


cdef inline int check_atomic(object target, int operation, Py_ssize_t pe, object ctx, atomic_function **function) except -1:
    """All that can be wrong with an atomic; the element type, and the function in ``function``."""
    cdef cnp.ndarray array
    cdef int element
    check_running()
    array = as_array(target, "target")
    if cnp.PyArray_SIZE(array) != 1:
        raise_not_one(array)
    element = element_of(array)
    function[0] = engine_atomics[operation][element] if element >= 0 else NULL
    if function[0] is NULL:
        raise_no_atomic(operation, array)
    if operation != ATOMIC_FETCH:
        check_writeable(array, "target")
    check_symmetric(array, "target")
    check_pe(pe)
    check_context(ctx)
    return element


def atomic_set(target, value, Py_ssize_t pe, ctx=None):
    """Set the one element of a symmetric array on another PE (specification: ``shmem_atomic_set``).

    Parameters
    ----------
    target : numpy.ndarray
        Symmetric array of one element: int32, int64, uint32, uint64, float32 or float64.
    value : number
        Must fit the dtype.
    pe : int
        The PE whose copy is changed.

    Raises
    ------
    TypeError, ValueError, OverflowError, FreedError, NotInitializedError
        Before anything is written.
    """
    cdef atomic_function *function
    cdef scalar operand
    cdef int element = check_atomic(target, ATOMIC_SET, pe, ctx, &function)
    scalar_from(<cnp.ndarray>target, element, value, &operand)
    function(SHMEM_CTX_DEFAULT, cnp.PyArray_DATA(<cnp.ndarray>target), &operand, NULL, <int>pe)


def atomic_inc(target, Py_ssize_t pe, ctx=None):
    """Add one to the element of a symmetric array on another PE (integers only; see ``atomic_set``)."""
    cdef atomic_function *function
    check_atomic(target, ATOMIC_INC, pe, ctx, &function)
    function(SHMEM_CTX_DEFAULT, cnp.PyArray_DATA(<cnp.ndarray>target), NULL, NULL, <int>pe)


def atomic_add(target, value, Py_ssize_t pe, ctx=None):
    """Add ``value`` to the element of a symmetric array on another PE (integers only; see ``atomic_set``)."""
    cdef atomic_function *function
    cdef scalar operand
    cdef int element = check_atomic(target, ATOMIC_ADD, pe, ctx, &function)
    scalar_from(<cnp.ndarray>target, element, value, &operand)
    function(SHMEM_CTX_DEFAULT, cnp.PyArray_DATA(<cnp.ndarray>target), &operand, NULL, <int>pe)


def atomic_fetch(source, Py_ssize_t pe, ctx=None):
    """The value of the element of a symmetric array on another PE (see ``atomic_set``)."""
    cdef atomic_function *function
    cdef scalar result
    cdef int element = check_atomic(source, ATOMIC_FETCH, pe, ctx, &function)
    function(SHMEM_CTX_DEFAULT, cnp.PyArray_DATA(<cnp.ndarray>source), NULL, &result, <int>pe)
    return scalar_to(element, &result)


def atomic_fetch_add(target, value, Py_ssize_t pe, ctx=None):
    """Add ``value`` to the element of a symmetric array on another PE; its value before (integers only)."""
    cdef atomic_function *function
    cdef scalar operand, result
    cdef int element = check_atomic(target, ATOMIC_FETCH_ADD, pe, ctx, &function)
    scalar_from(<cnp.ndarray>target, element, value, &operand)
    function(SHMEM_CTX_DEFAULT, cnp.PyArray_DATA(<cnp.ndarray>target), &operand, &result, <int>pe)
    return scalar_to(element, &result)
