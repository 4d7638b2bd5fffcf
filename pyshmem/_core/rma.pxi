# Chapter "Remote Memory Access Routines".

cdef inline int check_context(object ctx) except -1:
    if ctx is not None:
        raise TypeError(f"ctx must be None (the default context), not {type(ctx).__name__}")
    return 0


cdef inline Py_ssize_t check_transfer(object target, object source, Py_ssize_t pe, object size, object ctx,
                                      bint putting) except -1:
    """All that can be wrong with a contiguous transfer; the number of elements to move."""
    cdef cnp.ndarray into, out_of
    check_running()
    into = as_array(target, "target")
    out_of = as_array(source, "source")
    check_layout(into, "target")
    check_layout(out_of, "source")
    check_writeable(into, "target")
    check_dtypes(into, out_of)
    if putting:
        check_symmetric(into, "target")
    else:
        check_symmetric(out_of, "source")
    check_pe(pe)
    check_context(ctx)
    if size is None and cnp.PyArray_SIZE(into) == cnp.PyArray_SIZE(out_of):
        return cnp.PyArray_SIZE(into)
    return element_count(size, cnp.PyArray_SIZE(into), cnp.PyArray_SIZE(out_of))


def put(target, source, Py_ssize_t pe, size=None, ctx=None):
    """Copy ``source`` to ``target`` on another PE (specification: ``shmem_put``).

    Returns when ``source`` may be changed again; the data is at the target after a ``quiet`` or a barrier.

    Parameters
    ----------
    target : numpy.ndarray
        Symmetric array, contiguous and writeable.
    source : numpy.ndarray
        Any contiguous array of the same dtype.
    pe : int
        The PE whose copy of ``target`` is written.
    size : int, optional
        Number of elements; the default is as many as both arrays hold.
    ctx : None
        The default context.

    Raises
    ------
    TypeError, ValueError, FreedError, NotInitializedError
        Before anything is written.
    """
    cdef Py_ssize_t count = check_transfer(target, source, pe, size, ctx, True)
    cdef Py_ssize_t bytes = count * cnp.PyArray_ITEMSIZE(<cnp.ndarray>target)
    cdef void *into = cnp.PyArray_DATA(<cnp.ndarray>target)
    cdef void *out_of = cnp.PyArray_DATA(<cnp.ndarray>source)
    if bytes < RELEASE_BYTES:
        shmem_ctx_putmem(SHMEM_CTX_DEFAULT, into, out_of, bytes, <int>pe)
    else:
        with nogil:
            shmem_ctx_putmem(SHMEM_CTX_DEFAULT, into, out_of, bytes, <int>pe)


def get(target, source, Py_ssize_t pe, size=None, ctx=None):
    """Copy ``source`` on another PE to ``target`` here (specification: ``shmem_get``).

    Parameters
    ----------
    target : numpy.ndarray
        Any array, contiguous and writeable.
    source : numpy.ndarray
        Symmetric array, contiguous, of the same dtype.
    pe : int
        The PE whose copy of ``source`` is read.
    size : int, optional
        Number of elements; the default is as many as both arrays hold.
    ctx : None
        The default context.

    Raises
    ------
    TypeError, ValueError, FreedError, NotInitializedError
        Before anything is written.
    """
    cdef Py_ssize_t count = check_transfer(target, source, pe, size, ctx, False)
    cdef Py_ssize_t bytes = count * cnp.PyArray_ITEMSIZE(<cnp.ndarray>target)
    cdef void *into = cnp.PyArray_DATA(<cnp.ndarray>target)
    cdef void *out_of = cnp.PyArray_DATA(<cnp.ndarray>source)
    if bytes < RELEASE_BYTES:
        shmem_ctx_getmem(SHMEM_CTX_DEFAULT, into, out_of, bytes, <int>pe)
    else:
        with nogil:
            shmem_ctx_getmem(SHMEM_CTX_DEFAULT, into, out_of, bytes, <int>pe)


cdef Py_ssize_t check_strided(object target, object source, Py_ssize_t pe, Py_ssize_t tst, Py_ssize_t sst, object size,
                              object ctx, bint putting) except -1:
    """All that can be wrong with a strided transfer; the number of elements to move."""
    if tst < 1 or sst < 1:
        raise ValueError(f"strides are counted in elements and must be 1 or more, got tst={tst} and sst={sst}")
    check_transfer(target, source, pe, None, ctx, putting)
    return element_count(size, strided_length(<cnp.ndarray>target, tst), strided_length(<cnp.ndarray>source, sst))


def iput(target, source, Py_ssize_t pe, Py_ssize_t tst=1, Py_ssize_t sst=1, size=None, ctx=None):
    """Copy elements ``sst`` apart in ``source`` to elements ``tst`` apart in ``target`` on another PE.

    Parameters
    ----------
    tst, sst : int
        Strides in elements, 1 or more.
    target, source, pe, size, ctx
        As for ``put``; ``size`` counts the elements that are moved.
    """
    cdef Py_ssize_t count = check_strided(target, source, pe, tst, sst, size, ctx, True)
    cdef Py_ssize_t bytes = cnp.PyArray_ITEMSIZE(<cnp.ndarray>target)
    cdef void *into = cnp.PyArray_DATA(<cnp.ndarray>target)
    cdef void *out_of = cnp.PyArray_DATA(<cnp.ndarray>source)
    if count * bytes < RELEASE_BYTES:
        engine_iput(SHMEM_CTX_DEFAULT, into, out_of, tst, sst, count, bytes, <int>pe)
    else:
        with nogil:
            engine_iput(SHMEM_CTX_DEFAULT, into, out_of, tst, sst, count, bytes, <int>pe)


def iget(target, source, Py_ssize_t pe, Py_ssize_t tst=1, Py_ssize_t sst=1, size=None, ctx=None):
    """Copy elements ``sst`` apart in ``source`` on another PE to elements ``tst`` apart in ``target`` here.

    Parameters
    ----------
    tst, sst : int
        Strides in elements, 1 or more.
    target, source, pe, size, ctx
        As for ``get``; ``size`` counts the elements that are moved.
    """
    cdef Py_ssize_t count = check_strided(target, source, pe, tst, sst, size, ctx, False)
    cdef Py_ssize_t bytes = cnp.PyArray_ITEMSIZE(<cnp.ndarray>target)
    cdef void *into = cnp.PyArray_DATA(<cnp.ndarray>target)
    cdef void *out_of = cnp.PyArray_DATA(<cnp.ndarray>source)
    if count * bytes < RELEASE_BYTES:
        engine_iget(SHMEM_CTX_DEFAULT, into, out_of, tst, sst, count, bytes, <int>pe)
    else:
        with nogil:
            engine_iget(SHMEM_CTX_DEFAULT, into, out_of, tst, sst, count, bytes, <int>pe)
