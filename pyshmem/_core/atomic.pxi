# Chapter "Atomic Memory Operations": one path for all of them, dispatched by operation and dtype number.

cdef tuple atomic_names = (
    "set", "inc", "add", "and", "or", "xor", "fetch", "swap", "compare_swap", "fetch_inc", "fetch_add", "fetch_and",
    "fetch_or", "fetch_xor",
)


cdef int raise_no_atomic(int operation, cnp.ndarray array) except -1:
    raise TypeError(
        f"OpenSHMEM has no atomic_{atomic_names[operation]} for dtype {array.dtype}; integers of 4 and 8 bytes have "
        "all atomics, float32 and float64 have set, fetch and swap"
    )


cdef int raise_not_one(cnp.ndarray array) except -1:
    raise ValueError(f"an atomic works on an array of one element, not of shape {(<object>array).shape}")


cdef inline int check_atomic(cnp.ndarray array, int operation, atomic_function **function) except -1:
    """All that can be wrong with the array of an atomic; the element type, and the function in ``function``."""
    cdef int element
    if length_of(array) != 1:
        raise_not_one(array)
    element = element_of(array)
    function[0] = engine_atomics[operation][element] if element >= 0 else NULL
    if function[0] is NULL:
        raise_no_atomic(operation, array)
    if operation != ATOMIC_FETCH:
        check_writeable(array, "target")
    check_symmetric(array, "target")
    return element


cdef inline int change(object target, int operation, object value, Py_ssize_t pe, object ctx) except -1:
    """An atomic that returns nothing."""
    cdef shmem_ctx_t context
    cdef atomic_function *function
    cdef operands given
    cdef cnp.ndarray array
    cdef int element, world_pe
    check_running()
    array = as_array(target, "target")
    element = check_atomic(array, operation, &function)
    if operation != ATOMIC_INC:
        scalar_from(array, element, value, &given.value)
    world_pe = route(ctx, pe, &context)
    function(context, cnp.PyArray_DATA(array), &given, NULL, world_pe)
    return 0


cdef inline object exchange(object target, int operation, object value, object condition, Py_ssize_t pe, object ctx):
    """An atomic that returns the value before it."""
    cdef shmem_ctx_t context
    cdef atomic_function *function
    cdef operands given
    cdef scalar result
    cdef cnp.ndarray array
    cdef int element, world_pe
    check_running()
    array = as_array(target, "target")
    element = check_atomic(array, operation, &function)
    if operation != ATOMIC_FETCH and operation != ATOMIC_FETCH_INC:
        scalar_from(array, element, value, &given.value)
    if operation == ATOMIC_COMPARE_SWAP:
        scalar_from(array, element, condition, &given.condition)
    world_pe = route(ctx, pe, &context)
    function(context, cnp.PyArray_DATA(array), &given, &result, world_pe)
    return scalar_to(array, element, &result)


cdef int exchange_nbi(object fetch, object target, int operation, object value, object condition, Py_ssize_t pe,
                      object ctx) except -1:
    """An atomic that writes the value before it to ``fetch``, by the time of the next quiet."""
    cdef shmem_ctx_t context
    cdef atomic_function *function
    cdef operands given
    cdef cnp.ndarray array, result
    cdef int element, world_pe
    check_running()
    array, result = as_array(target, "target"), as_array(fetch, "fetch")
    element = check_atomic(array, operation, &function)
    if length_of(result) != 1:
        raise_not_one_element(result, "fetch")
    check_writeable(result, "fetch")
    check_dtypes(result, array)
    if operation != ATOMIC_FETCH and operation != ATOMIC_FETCH_INC:
        scalar_from(array, element, value, &given.value)
    if operation == ATOMIC_COMPARE_SWAP:
        scalar_from(array, element, condition, &given.condition)
    world_pe = route(ctx, pe, &context)
    engine_atomic_nbi(<atomic>operation, <enum_element>element, context, cnp.PyArray_DATA(result),
                      cnp.PyArray_DATA(array), &given, world_pe)
    return keep(ctx, result)


def atomic_set(target, value, Py_ssize_t pe, ctx=None):
    """Set the one element of a symmetric array on another PE (specification: ``shmem_atomic_set``).

    Parameters
    ----------
    target : numpy.ndarray
        Symmetric array of one element: int32, int64, uint32, uint64, float32 or float64.
    value : number
        Must fit the dtype.
    pe : int
        The PE whose copy is changed, by its number in the context's team.
    ctx : Ctx, optional
        The context to use; the default is the default context.

    Raises
    ------
    TypeError, ValueError, OverflowError, FreedError, NotInitializedError
        Before anything is written.
    """
    change(target, ATOMIC_SET, value, pe, ctx)


def atomic_inc(target, Py_ssize_t pe, ctx=None):
    """Add one to the element of a symmetric array on another PE (integers only; see ``atomic_set``)."""
    change(target, ATOMIC_INC, None, pe, ctx)


def atomic_add(target, value, Py_ssize_t pe, ctx=None):
    """Add ``value`` to the element of a symmetric array on another PE (integers only; see ``atomic_set``)."""
    change(target, ATOMIC_ADD, value, pe, ctx)


def atomic_and(target, value, Py_ssize_t pe, ctx=None):
    """Bitwise AND of ``value`` into the element of a symmetric array on another PE (integers only; see ``atomic_set``)."""
    change(target, ATOMIC_AND, value, pe, ctx)


def atomic_or(target, value, Py_ssize_t pe, ctx=None):
    """Bitwise OR of ``value`` into the element of a symmetric array on another PE (integers only; see ``atomic_set``)."""
    change(target, ATOMIC_OR, value, pe, ctx)


def atomic_xor(target, value, Py_ssize_t pe, ctx=None):
    """Bitwise exclusive OR of ``value`` into the element of a symmetric array on another PE (integers only; see ``atomic_set``)."""
    change(target, ATOMIC_XOR, value, pe, ctx)


def atomic_fetch(source, Py_ssize_t pe, ctx=None):
    """The value of the element of a symmetric array on another PE (see ``atomic_set``)."""
    return exchange(source, ATOMIC_FETCH, None, None, pe, ctx)


def atomic_swap(target, value, Py_ssize_t pe, ctx=None):
    """Set the element of a symmetric array on another PE; its value before (see ``atomic_set``)."""
    return exchange(target, ATOMIC_SWAP, value, None, pe, ctx)


def atomic_compare_swap(target, cond, value, Py_ssize_t pe, ctx=None):
    """Set the element of a symmetric array on another PE if it equals ``cond``; its value before (integers only)."""
    return exchange(target, ATOMIC_COMPARE_SWAP, value, cond, pe, ctx)


def atomic_fetch_inc(target, Py_ssize_t pe, ctx=None):
    """Add one to the element of a symmetric array on another PE; its value before (integers only)."""
    return exchange(target, ATOMIC_FETCH_INC, None, None, pe, ctx)


def atomic_fetch_add(target, value, Py_ssize_t pe, ctx=None):
    """Add ``value`` to the element of a symmetric array on another PE; its value before (integers only)."""
    return exchange(target, ATOMIC_FETCH_ADD, value, None, pe, ctx)


def atomic_fetch_and(target, value, Py_ssize_t pe, ctx=None):
    """Bitwise AND of ``value`` into the element of a symmetric array on another PE; its value before (integers only)."""
    return exchange(target, ATOMIC_FETCH_AND, value, None, pe, ctx)


def atomic_fetch_or(target, value, Py_ssize_t pe, ctx=None):
    """Bitwise OR of ``value`` into the element of a symmetric array on another PE; its value before (integers only)."""
    return exchange(target, ATOMIC_FETCH_OR, value, None, pe, ctx)


def atomic_fetch_xor(target, value, Py_ssize_t pe, ctx=None):
    """Exclusive OR of ``value`` into the element of a symmetric array on another PE; its value before (integers only)."""
    return exchange(target, ATOMIC_FETCH_XOR, value, None, pe, ctx)


# ---- non-blocking ----------------------------------------------------------------------------------------------------

def atomic_fetch_nbi(fetch, source, Py_ssize_t pe, ctx=None):
    """``atomic_fetch()`` into the one element of ``fetch``, by the time of the next ``quiet``.

    Parameters
    ----------
    fetch : numpy.ndarray
        Any array of one element, of the dtype of ``source``; kept alive until the ``quiet``, or a barrier.
    source, pe, ctx
        As for ``atomic_fetch``.
    """
    exchange_nbi(fetch, source, ATOMIC_FETCH, None, None, pe, ctx)


def atomic_swap_nbi(fetch, target, value, Py_ssize_t pe, ctx=None):
    """``atomic_swap()`` into ``fetch``; see ``atomic_fetch_nbi``."""
    exchange_nbi(fetch, target, ATOMIC_SWAP, value, None, pe, ctx)


def atomic_compare_swap_nbi(fetch, target, cond, value, Py_ssize_t pe, ctx=None):
    """``atomic_compare_swap()`` into ``fetch``; see ``atomic_fetch_nbi``."""
    exchange_nbi(fetch, target, ATOMIC_COMPARE_SWAP, value, cond, pe, ctx)


def atomic_fetch_inc_nbi(fetch, target, Py_ssize_t pe, ctx=None):
    """``atomic_fetch_inc()`` into ``fetch``; see ``atomic_fetch_nbi``."""
    exchange_nbi(fetch, target, ATOMIC_FETCH_INC, None, None, pe, ctx)


def atomic_fetch_add_nbi(fetch, target, value, Py_ssize_t pe, ctx=None):
    """``atomic_fetch_add()`` into ``fetch``; see ``atomic_fetch_nbi``."""
    exchange_nbi(fetch, target, ATOMIC_FETCH_ADD, value, None, pe, ctx)


def atomic_fetch_and_nbi(fetch, target, value, Py_ssize_t pe, ctx=None):
    """``atomic_fetch_and()`` into ``fetch``; see ``atomic_fetch_nbi``."""
    exchange_nbi(fetch, target, ATOMIC_FETCH_AND, value, None, pe, ctx)


def atomic_fetch_or_nbi(fetch, target, value, Py_ssize_t pe, ctx=None):
    """``atomic_fetch_or()`` into ``fetch``; see ``atomic_fetch_nbi``."""
    exchange_nbi(fetch, target, ATOMIC_FETCH_OR, value, None, pe, ctx)


def atomic_fetch_xor_nbi(fetch, target, value, Py_ssize_t pe, ctx=None):
    """``atomic_fetch_xor()`` into ``fetch``; see ``atomic_fetch_nbi``."""
    exchange_nbi(fetch, target, ATOMIC_FETCH_XOR, value, None, pe, ctx)


# ---- the operation as an argument ------------------------------------------------------------------------------------

cdef dict changing = {
    "set": ATOMIC_SET, "inc": ATOMIC_INC, "add": ATOMIC_ADD, "and": ATOMIC_AND, "or": ATOMIC_OR, "xor": ATOMIC_XOR,
}
cdef dict fetching = {
    "set": ATOMIC_SWAP, "inc": ATOMIC_FETCH_INC, "add": ATOMIC_FETCH_ADD, "and": ATOMIC_FETCH_AND,
    "or": ATOMIC_FETCH_OR, "xor": ATOMIC_FETCH_XOR,
}


cdef int operation_in(dict operations, object op) except -1:
    cdef int found = operations.get(op.lower(), -1) if isinstance(op, str) else -1
    if found < 0:
        raise ValueError(f"op must be one of {', '.join(operations)}, not {op!r}")
    return found


def atomic_op(target, value, op, Py_ssize_t pe, ctx=None):
    """The atomic that ``op`` names: ``AMO.SET``, ``INC`` (ignores ``value``), ``ADD``, ``AND``, ``OR`` or ``XOR``."""
    change(target, operation_in(changing, op), value, pe, ctx)


def atomic_fetch_op(target, value, op, Py_ssize_t pe, ctx=None):
    """The fetching atomic that ``op`` names (see ``atomic_op``); the value before."""
    return exchange(target, operation_in(fetching, op), value, None, pe, ctx)


def atomic_fetch_op_nbi(fetch, target, value, op, Py_ssize_t pe, ctx=None):
    """``atomic_fetch_op()`` into ``fetch``; see ``atomic_fetch_nbi``."""
    exchange_nbi(fetch, target, operation_in(fetching, op), value, None, pe, ctx)
