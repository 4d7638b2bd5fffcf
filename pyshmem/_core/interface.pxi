# For extension modules of others: see binding.pxd.

cdef extern from *:
    """
    #include <string.h>
    _Static_assert(sizeof(shmem_ctx_t) == sizeof(void *), "a context is a pointer in the engines known so far");
    static inline void *pyshmem_context_pointer(shmem_ctx_t context)
    {
        void *pointer;
        memcpy(&pointer, &context, sizeof pointer);
        return pointer;
    }
    """
    void *pyshmem_context_pointer(shmem_ctx_t context)


cdef void *symmetric_address(object array) except NULL:
    """The address of a contiguous symmetric array here, which is the one to give to ``shmem.h`` for other PEs."""
    cdef cnp.ndarray checked
    check_running()
    checked = as_array(array, "array")
    check_layout(checked, "array")
    check_symmetric(checked, "array")
    if cnp.PyArray_SIZE(checked) == 0:
        raise ValueError("an empty array has no symmetric address")
    return cnp.PyArray_DATA(checked)


cdef Py_ssize_t symmetric_bytes(object array) except -1:
    """How many bytes it has from there."""
    cdef cnp.ndarray checked = as_array(array, "array")
    return cnp.PyArray_SIZE(checked) * cnp.PyArray_ITEMSIZE(checked)


cdef int world_pe_of(object ctx, Py_ssize_t pe) except -1:
    """The number among all PEs of a PE of a context."""
    cdef shmem_ctx_t context
    check_running()
    return route(ctx, pe, &context)


cdef void *context_handle(object ctx) except? NULL:
    """The ``shmem_ctx_t`` of a context; PEs have their numbers among all PEs on it."""
    return pyshmem_context_pointer(channel_of(ctx).handle)
