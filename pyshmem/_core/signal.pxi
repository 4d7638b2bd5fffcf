# Chapter "Signaling Operations".

def new_signal():
    """A signal, at 0: a symmetric array of one ``uint64``. Collective."""
    return zeros(1, np.dtype("u8"), hints=2)


def del_signal(signal):
    """Free a signal. Collective."""
    signal_word(signal)
    free(signal)


cdef uint64_t *signal_word(object signal) except NULL:
    cdef cnp.ndarray array
    check_running()
    array = as_array(signal, "signal")
    if cnp.PyArray_SIZE(array) != 1 or cnp.PyArray_ITEMSIZE(array) != 8 or (<object>array).dtype.kind != "u":
        raise TypeError(f"signal must be a symmetric array of one uint64, as new_signal() makes it, not {signal!r}")
    check_symmetric(array, "signal")
    return <uint64_t *>cnp.PyArray_DATA(array)


cdef int signal_operation(object sigop) except -1:
    if sigop == ENGINE_SIGNAL_SET or sigop == ENGINE_SIGNAL_ADD:
        return sigop
    raise ValueError(f"sigop must be SIGNAL_SET or SIGNAL_ADD, not {sigop!r}")


cdef uint64_t signal_value(object value) except? 0:
    number = operator.index(value)
    if number < 0 or number >= 1 << 64:
        raise OverflowError(f"a signal is an unsigned number of 64 bits, {value} is not")
    return number


ctypedef void put_signal_function(shmem_ctx_t context, void *target, const void *source, size_t bytes,
                                  uint64_t *signal, uint64_t value, int operation, int pe) noexcept nogil


cdef cnp.ndarray put_with_signal(object target, object source, Py_ssize_t pe, object signal, object value, object sigop,
                                 object size, object ctx, put_signal_function *function):
    """A put with a signal, blocking or not; the array that is read."""
    cdef shmem_ctx_t context
    cdef uint64_t *word = signal_word(signal)
    cdef int operation = signal_operation(sigop), world_pe
    cdef uint64_t operand = signal_value(value)
    cdef cnp.ndarray into = as_array(target, "target"), out_of = as_array(source, "source")
    cdef Py_ssize_t bytes = check_pair(into, out_of, size) * cnp.PyArray_ITEMSIZE(into)
    check_symmetric(into, "target")
    world_pe = route(ctx, pe, &context)
    with nogil:
        function(context, cnp.PyArray_DATA(into), cnp.PyArray_DATA(out_of), bytes, word, operand, operation, world_pe)
    return out_of


def put_signal(target, source, Py_ssize_t pe, signal, value, sigop, size=None, ctx=None):
    """``put()``, and after the data is there, change a signal on the same PE (specification: ``shmem_put_signal``).

    Parameters
    ----------
    target, source, pe, size, ctx
        As for ``put``.
    signal : numpy.ndarray
        What ``new_signal()`` made.
    value : int
        The operand, 0 to 2**64 - 1.
    sigop : SIGNAL
        ``SIGNAL.SET`` or ``SIGNAL.ADD``.
    """
    put_with_signal(target, source, pe, signal, value, sigop, size, ctx, engine_put_signal)


def put_signal_nbi(target, source, Py_ssize_t pe, signal, value, sigop, size=None, ctx=None):
    """``put_signal()`` that returns at once; ``source`` must not be changed before a ``quiet``.

    Parameters
    ----------
    target, source, pe, signal, value, sigop, size, ctx
        As for ``put_signal``.
    """
    keep(ctx, put_with_signal(target, source, pe, signal, value, sigop, size, ctx, engine_put_signal_nbi))


cdef int change_signal(object signal, object value, int operation, Py_ssize_t pe, object ctx) except -1:
    cdef shmem_ctx_t context
    cdef uint64_t *word = signal_word(signal)
    cdef uint64_t operand = signal_value(value)
    cdef int world_pe = route(ctx, pe, &context)
    engine_signal(context, word, operand, operation, world_pe)
    return 0


def signal_set(signal, value, Py_ssize_t pe, ctx=None):
    """Set a signal on a PE (specification: ``shmem_signal_set``)."""
    change_signal(signal, value, ENGINE_SIGNAL_SET, pe, ctx)


def signal_add(signal, value, Py_ssize_t pe, ctx=None):
    """Add to a signal on a PE (specification: ``shmem_signal_add``)."""
    change_signal(signal, value, ENGINE_SIGNAL_ADD, pe, ctx)


def signal_fetch(signal):
    """The value of a signal on this PE (specification: ``shmem_signal_fetch``)."""
    cdef uint64_t *word = signal_word(signal)
    cdef scalar zero
    zero.as_ulong = 0
    engine_tests[<int>ELEMENT_ULONG](word, SHMEM_CMP_LT, &zero)      # never true: drives progress
    return pyshmem_load(word)


cdef extern from *:
    """
    static inline uint64_t pyshmem_load(const volatile uint64_t *word)
    {
        return *word;
    }
    """
    uint64_t pyshmem_load(const uint64_t *word)


def signal_wait_until(signal, cmp, value):
    """Wait until the signal on this PE satisfies a comparison (specification: ``shmem_signal_wait_until``).

    Returns
    -------
    int
        The value that satisfied it.
    """
    cdef uint64_t *word = signal_word(signal)
    cdef int comparison = comparison_from(cmp)
    cdef uint64_t seen
    cdef scalar operand
    operand.as_ulong = signal_value(value)
    while True:
        wait_until(signal, cmp, value)
        seen = pyshmem_load(word)
        if engine_tests[<int>ELEMENT_ULONG](&seen, comparison, &operand):    # it may have changed again
            return seen
