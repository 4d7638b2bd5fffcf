# Chapter "Remote Memory Access Routines".

cdef inline Py_ssize_t check_put(cnp.ndarray into, cnp.ndarray out_of, object size) except -1:
    """All that can be wrong with the arrays of a put; the number of elements to move."""
    cdef Py_ssize_t count = check_pair(into, out_of, size)
    check_symmetric(into, "target")
    return count


cdef inline Py_ssize_t check_get(cnp.ndarray into, cnp.ndarray out_of, object size) except -1:
    """All that can be wrong with the arrays of a get; the number of elements to move."""
    cdef Py_ssize_t count = check_pair(into, out_of, size)
    check_symmetric(out_of, "source")
    return count


def put(target, source, Py_ssize_t pe, size=None, ctx=None):
    """Copy ``source`` to ``target`` on another PE (specification: ``shmem_put``).

    Returns when ``source`` may be changed again; the data is at the target after a ``quiet`` or a barrier.

    Parameters
    ----------
    target : numpy.ndarray
        Symmetric array, contiguous and writeable.
    source : numpy.ndarray or buffer
        Any contiguous array of the same dtype.
    pe : int
        The PE whose copy of ``target`` is written, by its number in the context's team.
    size : int, optional
        Number of elements; the default is as many as both arrays hold.
    ctx : Ctx, optional
        The context to use; the default is the default context.

    Raises
    ------
    TypeError, ValueError, FreedError, NotInitializedError
        Before anything is written.
    """
    cdef shmem_ctx_t context
    cdef cnp.ndarray into, out_of
    cdef Py_ssize_t bytes
    cdef int world_pe
    check_running()
    into, out_of = as_array(target, "target"), as_array(source, "source")
    bytes = check_put(into, out_of, size) * cnp.PyArray_ITEMSIZE(into)
    world_pe = route(ctx, pe, &context)
    if bytes == 0:
        return                      # engines look at the addresses even so, and an empty array has none
    if bytes < RELEASE_BYTES:
        shmem_ctx_putmem(context, cnp.PyArray_DATA(into), cnp.PyArray_DATA(out_of), bytes, world_pe)
    else:
        with nogil:
            shmem_ctx_putmem(context, cnp.PyArray_DATA(into), cnp.PyArray_DATA(out_of), bytes, world_pe)


def get(target, source, Py_ssize_t pe, size=None, ctx=None):
    """Copy ``source`` on another PE to ``target`` here (specification: ``shmem_get``).

    Parameters
    ----------
    target : numpy.ndarray or buffer
        Any array, contiguous and writeable.
    source : numpy.ndarray
        Symmetric array, contiguous, of the same dtype.
    pe : int
        The PE whose copy of ``source`` is read, by its number in the context's team.
    size : int, optional
        Number of elements; the default is as many as both arrays hold.
    ctx : Ctx, optional
        The context to use; the default is the default context.

    Raises
    ------
    TypeError, ValueError, FreedError, NotInitializedError
        Before anything is written.
    """
    cdef shmem_ctx_t context
    cdef cnp.ndarray into, out_of
    cdef Py_ssize_t bytes
    cdef int world_pe
    check_running()
    into, out_of = as_array(target, "target"), as_array(source, "source")
    bytes = check_get(into, out_of, size) * cnp.PyArray_ITEMSIZE(into)
    world_pe = route(ctx, pe, &context)
    if bytes == 0:
        return                      # engines look at the addresses even so, and an empty array has none
    if bytes < RELEASE_BYTES:
        shmem_ctx_getmem(context, cnp.PyArray_DATA(into), cnp.PyArray_DATA(out_of), bytes, world_pe)
    else:
        with nogil:
            shmem_ctx_getmem(context, cnp.PyArray_DATA(into), cnp.PyArray_DATA(out_of), bytes, world_pe)


def put_nbi(target, source, Py_ssize_t pe, size=None, ctx=None):
    """``put()`` that returns at once; ``source`` must not be changed before a ``quiet`` (``shmem_put_nbi``).

    Parameters
    ----------
    target, source, pe, size, ctx
        As for ``put``; ``source`` is kept alive until the ``quiet``, or a barrier.
    """
    cdef shmem_ctx_t context
    cdef cnp.ndarray into, out_of
    cdef Py_ssize_t bytes
    cdef int world_pe
    check_running()
    into, out_of = as_array(target, "target"), as_array(source, "source")
    bytes = check_put(into, out_of, size) * cnp.PyArray_ITEMSIZE(into)
    world_pe = route(ctx, pe, &context)
    if bytes == 0:
        return
    if bytes < RELEASE_BYTES:
        shmem_ctx_putmem_nbi(context, cnp.PyArray_DATA(into), cnp.PyArray_DATA(out_of), bytes, world_pe)
    else:
        with nogil:
            shmem_ctx_putmem_nbi(context, cnp.PyArray_DATA(into), cnp.PyArray_DATA(out_of), bytes, world_pe)
    keep(ctx, out_of)


def get_nbi(target, source, Py_ssize_t pe, size=None, ctx=None):
    """``get()`` that returns at once; ``target`` has the data after a ``quiet`` (``shmem_get_nbi``).

    Parameters
    ----------
    target, source, pe, size, ctx
        As for ``get``; ``target`` is kept alive until the ``quiet``, or a barrier.
    """
    cdef shmem_ctx_t context
    cdef cnp.ndarray into, out_of
    cdef Py_ssize_t bytes
    cdef int world_pe
    check_running()
    into, out_of = as_array(target, "target"), as_array(source, "source")
    bytes = check_get(into, out_of, size) * cnp.PyArray_ITEMSIZE(into)
    world_pe = route(ctx, pe, &context)
    if bytes == 0:
        return
    if bytes < RELEASE_BYTES:
        shmem_ctx_getmem_nbi(context, cnp.PyArray_DATA(into), cnp.PyArray_DATA(out_of), bytes, world_pe)
    else:
        with nogil:
            shmem_ctx_getmem_nbi(context, cnp.PyArray_DATA(into), cnp.PyArray_DATA(out_of), bytes, world_pe)
    keep(ctx, into)


# ---- single elements -------------------------------------------------------------------------------------------------

cdef int raise_not_one_element(cnp.ndarray array, str role) except -1:
    raise ValueError(f"{role} must have one element, not shape {(<object>array).shape}")


def p(target, value, Py_ssize_t pe, ctx=None):
    """Write one value to ``target`` on another PE (specification: ``shmem_p``).

    Parameters
    ----------
    target : numpy.ndarray
        Symmetric array of one element.
    value : number
        Must fit the dtype.
    pe, ctx
        As for ``put``.
    """
    cdef shmem_ctx_t context
    cdef cnp.ndarray into, converted
    cdef scalar operand
    cdef int world_pe, element
    check_running()
    into = as_array(target, "target")
    if length_of(into) != 1:
        raise_not_one_element(into, "target")
    check_writeable(into, "target")
    check_symmetric(into, "target")
    world_pe = route(ctx, pe, &context)
    element = element_of(into)
    if element >= 0:
        scalar_from(into, element, value, &operand)
        shmem_ctx_putmem(context, cnp.PyArray_DATA(into), &operand, cnp.PyArray_ITEMSIZE(into), world_pe)
    else:
        converted = np.array(value, plain_dtype(into.dtype), ndmin=1)
        if length_of(converted) != 1:
            raise_not_one_element(converted, "value")
        shmem_ctx_putmem(context, cnp.PyArray_DATA(into), cnp.PyArray_DATA(converted), cnp.PyArray_ITEMSIZE(into),
                         world_pe)


def g(source, Py_ssize_t pe, ctx=None):
    """Read the one element of ``source`` on another PE (specification: ``shmem_g``).

    Parameters
    ----------
    source : numpy.ndarray
        Symmetric array of one element.
    pe, ctx
        As for ``get``.

    Returns
    -------
    number
        A Python number; a NumPy scalar where there is none for the dtype.
    """
    cdef shmem_ctx_t context
    cdef cnp.ndarray out_of, result
    cdef scalar value
    cdef int world_pe, element
    check_running()
    out_of = as_array(source, "source")
    if length_of(out_of) != 1:
        raise_not_one_element(out_of, "source")
    check_symmetric(out_of, "source")
    world_pe = route(ctx, pe, &context)
    element = element_of(out_of)
    if element >= 0:
        shmem_ctx_getmem(context, &value, cnp.PyArray_DATA(out_of), cnp.PyArray_ITEMSIZE(out_of), world_pe)
        return scalar_to(out_of, element, &value)
    result = np.empty(1, plain_dtype(out_of.dtype))
    shmem_ctx_getmem(context, cnp.PyArray_DATA(result), cnp.PyArray_DATA(out_of), cnp.PyArray_ITEMSIZE(out_of),
                     world_pe)
    return (<object>result)[0]


# ---- strided ---------------------------------------------------------------------------------------------------------

cdef Py_ssize_t check_strided(cnp.ndarray into, cnp.ndarray out_of, Py_ssize_t tst, Py_ssize_t sst, Py_ssize_t block,
                              object size, bint putting) except -1:
    """All that can be wrong with the arrays of a strided transfer; the number of blocks to move."""
    if block < 1:
        raise ValueError(f"bsize must be 1 or more, got {block}")
    if tst < block or sst < block:
        raise ValueError(
            f"strides are counted in elements and must be {block} or more, got tst={tst} and sst={sst}"
        )
    check_put(into, out_of, None) if putting else check_get(into, out_of, None)
    return element_count(size, strided_blocks(into, tst, block), strided_blocks(out_of, sst, block))


cdef inline Py_ssize_t strided_blocks(cnp.ndarray array, Py_ssize_t stride, Py_ssize_t block):
    # Not (size + stride - block) // stride, which a huge stride overflows.
    cdef Py_ssize_t size = cnp.PyArray_SIZE(array)
    return 1 + (size - block) // stride if size >= block else 0


def iput(target, source, Py_ssize_t pe, Py_ssize_t tst=1, Py_ssize_t sst=1, size=None, ctx=None):
    """Copy elements ``sst`` apart in ``source`` to elements ``tst`` apart in ``target`` on another PE.

    Parameters
    ----------
    tst, sst : int
        Strides in elements, 1 or more.
    target, source, pe, size, ctx
        As for ``put``; ``size`` counts the elements that are moved.
    """
    cdef shmem_ctx_t context
    cdef cnp.ndarray into, out_of
    cdef Py_ssize_t count
    cdef int world_pe
    check_running()
    into, out_of = as_array(target, "target"), as_array(source, "source")
    count = check_strided(into, out_of, tst, sst, 1, size, True)
    world_pe = route(ctx, pe, &context)
    if count == 0:
        return
    with nogil:
        engine_iput(context, cnp.PyArray_DATA(into), cnp.PyArray_DATA(out_of), tst, sst, count,
                    cnp.PyArray_ITEMSIZE(into), world_pe)


def iget(target, source, Py_ssize_t pe, Py_ssize_t tst=1, Py_ssize_t sst=1, size=None, ctx=None):
    """Copy elements ``sst`` apart in ``source`` on another PE to elements ``tst`` apart in ``target`` here.

    Parameters
    ----------
    tst, sst : int
        Strides in elements, 1 or more.
    target, source, pe, size, ctx
        As for ``get``; ``size`` counts the elements that are moved.
    """
    cdef shmem_ctx_t context
    cdef cnp.ndarray into, out_of
    cdef Py_ssize_t count
    cdef int world_pe
    check_running()
    into, out_of = as_array(target, "target"), as_array(source, "source")
    count = check_strided(into, out_of, tst, sst, 1, size, False)
    world_pe = route(ctx, pe, &context)
    if count == 0:
        return
    with nogil:
        engine_iget(context, cnp.PyArray_DATA(into), cnp.PyArray_DATA(out_of), tst, sst, count,
                    cnp.PyArray_ITEMSIZE(into), world_pe)


def ibput(target, source, Py_ssize_t pe, Py_ssize_t bsize, tst=None, sst=None, size=None, ctx=None):
    """``iput()`` of blocks of ``bsize`` elements (specification: ``shmem_ibput``).

    Parameters
    ----------
    bsize : int
        Elements of a block, 1 or more.
    tst, sst : int, optional
        Elements from the start of a block to that of the next, at least ``bsize``, which is the default.
    target, source, pe, size, ctx
        As for ``put``; ``size`` counts the blocks that are moved.
    """
    cdef shmem_ctx_t context
    cdef cnp.ndarray into, out_of
    cdef Py_ssize_t count, target_stride, source_stride
    cdef int world_pe
    check_running()
    target_stride, source_stride = bsize if tst is None else tst, bsize if sst is None else sst
    into, out_of = as_array(target, "target"), as_array(source, "source")
    count = check_strided(into, out_of, target_stride, source_stride, bsize, size, True)
    world_pe = route(ctx, pe, &context)
    if count == 0:
        return
    with nogil:
        engine_ibput(context, cnp.PyArray_DATA(into), cnp.PyArray_DATA(out_of), target_stride, source_stride, bsize,
                     count, cnp.PyArray_ITEMSIZE(into), world_pe)


def ibget(target, source, Py_ssize_t pe, Py_ssize_t bsize, tst=None, sst=None, size=None, ctx=None):
    """``iget()`` of blocks of ``bsize`` elements (specification: ``shmem_ibget``).

    Parameters
    ----------
    bsize : int
        Elements of a block, 1 or more.
    tst, sst : int, optional
        Elements from the start of a block to that of the next, at least ``bsize``, which is the default.
    target, source, pe, size, ctx
        As for ``get``; ``size`` counts the blocks that are moved.
    """
    cdef shmem_ctx_t context
    cdef cnp.ndarray into, out_of
    cdef Py_ssize_t count, target_stride, source_stride
    cdef int world_pe
    check_running()
    target_stride, source_stride = bsize if tst is None else tst, bsize if sst is None else sst
    into, out_of = as_array(target, "target"), as_array(source, "source")
    count = check_strided(into, out_of, target_stride, source_stride, bsize, size, False)
    world_pe = route(ctx, pe, &context)
    if count == 0:
        return
    with nogil:
        engine_ibget(context, cnp.PyArray_DATA(into), cnp.PyArray_DATA(out_of), target_stride, source_stride, bsize,
                     count, cnp.PyArray_ITEMSIZE(into), world_pe)
