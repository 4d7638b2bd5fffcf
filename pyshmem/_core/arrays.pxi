# The one place that understands arrays: what may be a target or a source, and which symmetric memory it is in.

cdef enum:
    RELEASE_BYTES = 32768       # a transfer of this size takes longer than giving up the GIL

cdef inline cnp.ndarray as_array(object candidate, str role):
    """An argument as an array: NumPy's own, or one over a buffer (a ``memoryview``, ``bytes``, an ``array.array``)."""
    return <cnp.ndarray>candidate if cnp.PyArray_Check(candidate) else array_over(candidate, role)


cdef cnp.ndarray array_over(object candidate, str role):
    if not PyObject_CheckBuffer(candidate):
        raise TypeError(f"{role} must be a NumPy array or a buffer, not {type(candidate).__name__}")
    return np.asarray(memoryview(candidate))


cdef int raise_layout(cnp.ndarray array, str role) except -1:
    raise ValueError(
        f"{role} is not contiguous (shape {(<object>array).shape}, strides {(<object>array).strides}); "
        "use a contiguous array, or iput/iget with strides"
    )


cdef int raise_read_only(str role) except -1:
    raise ValueError(f"{role} is read-only")


cdef inline Py_ssize_t length_of(cnp.ndarray array):
    """PyArray_SIZE, which is a call, without one for what most arrays are."""
    return cnp.PyArray_DIMS(array)[0] if cnp.PyArray_NDIM(array) == 1 else cnp.PyArray_SIZE(array)


cdef inline int check_layout(cnp.ndarray array, str role) except -1:
    if not cnp.PyArray_FLAGS(array) & (cnp.NPY_ARRAY_C_CONTIGUOUS | cnp.NPY_ARRAY_F_CONTIGUOUS):
        raise_layout(array, role)
    return 0


cdef inline int check_writeable(cnp.ndarray array, str role) except -1:
    if not cnp.PyArray_FLAGS(array) & cnp.NPY_ARRAY_WRITEABLE:
        raise_read_only(role)
    return 0


cdef int check_dtypes_slowly(cnp.ndarray target, cnp.ndarray source) except -1:
    if (<object>target).dtype != (<object>source).dtype:
        raise TypeError(f"target and source differ in dtype: {target.dtype} and {source.dtype}")
    if target.dtype.hasobject:
        raise TypeError(f"arrays of dtype {target.dtype} hold Python objects, which mean nothing on another PE")
    return 0


cdef inline int check_dtypes(cnp.ndarray target, cnp.ndarray source) except -1:
    # The dtypes of numbers in native order are single objects, so this settles nearly all calls.
    if cnp.PyArray_DESCR(target) == cnp.PyArray_DESCR(source) and cnp.PyArray_TYPE(target) <= cnp.NPY_CLONGDOUBLE:
        return 0
    return check_dtypes_slowly(target, source)


cdef Py_ssize_t element_count(object size, Py_ssize_t target_length, Py_ssize_t source_length) except -1:
    """How many elements to move: ``size``, or as many as both arrays hold."""
    cdef Py_ssize_t count
    if size is None:
        return target_length if target_length < source_length else source_length
    count = size
    if count < 0:
        raise ValueError(f"size must not be negative, got {count}")
    if count > target_length:
        raise ValueError(f"target is too small: {count} elements wanted, it holds {target_length}")
    if count > source_length:
        raise ValueError(f"source is too small: {count} elements wanted, it holds {source_length}")
    return count


cdef inline Py_ssize_t check_pair(cnp.ndarray into, cnp.ndarray out_of, object size) except -1:
    """Two arrays of which one is copied to the other; the number of elements to move."""
    check_layout(into, "target")
    check_layout(out_of, "source")
    check_writeable(into, "target")
    check_dtypes(into, out_of)
    cdef Py_ssize_t into_length = length_of(into), out_of_length = length_of(out_of)
    if size is None and into_length == out_of_length:
        return into_length
    return element_count(size, into_length, out_of_length)


# ---- symmetric memory ------------------------------------------------------------------------------------------------

@cython.freelist(16)
cdef class SymmetricMemory:
    """One allocation in symmetric memory: what a symmetric array stands on.

    Dropping it frees nothing, since freeing is collective and garbage collection is not: see lifetime.pxi.
    """

    cdef char *address
    cdef Py_ssize_t bytes
    cdef readonly int partition         # 0: the engine's own heap
    cdef readonly bint live
    cdef readonly unsigned long long number     # of the allocation, the same on all PEs; 0: it owns nothing

    def __dealloc__(self):
        if self.live and self.number:
            note_dropped(self.number)

    def __getbuffer__(self, Py_buffer *buffer, int flags):
        cdef int status
        if not self.live and self.bytes > 0:
            raise BufferError("this symmetric memory was freed")
        # PyBuffer_FillInfo rejects NULL, which is what an empty allocation has.
        status = PyBuffer_FillInfo(buffer, self, self.address if self.address else pyshmem_nothing, self.bytes, 0,
                                   flags)

    @property
    def nbytes(self):
        """Size in bytes."""
        return self.bytes

    @property
    def pointer(self):
        """Address on this PE."""
        return <uintptr_t>self.address

    def __repr__(self):
        state = "" if self.live else ", freed"
        return f"<SymmetricMemory of {self.bytes} bytes in partition {self.partition}{state}>"


cdef extern from "Python.h":
    int PyBuffer_FillInfo(Py_buffer *view, object exporter, void *address, Py_ssize_t length, int readonly,
                          int flags) except -1
    int PyMemoryView_Check(object candidate)
    int PyObject_CheckBuffer(object candidate)
    Py_buffer *PyMemoryView_GET_BUFFER(object view)
    ctypedef struct PyObject

cdef extern from "numpy/arrayobject.h":
    PyObject *PyArray_BASE(cnp.ndarray array)

cdef extern from *:
    """
    /* What an empty allocation points to: NULL is no buffer, and it is aligned like any other. */
    static char pyshmem_nothing[1] __attribute__((aligned(4096)));
    """
    char pyshmem_nothing[1]

cdef dict peer_views = {}        # address -> bytes, of what ptr() gave


cdef SymmetricMemory owner_of(cnp.ndarray array):
    """The symmetric memory that an array is a view of, live or freed; None if there is none."""
    cdef PyObject *base
    cdef object owner = array
    cdef int step
    for step in range(8):
        if cnp.PyArray_Check(owner):
            base = PyArray_BASE(<cnp.ndarray>owner)
            if base is NULL:
                return None
            owner = <object>base
        elif PyMemoryView_Check(owner):
            base = <PyObject *>PyMemoryView_GET_BUFFER(owner).obj
            if base is NULL:
                return None
            owner = <object>base
        elif type(owner) is SymmetricMemory:
            return <SymmetricMemory>owner
        else:
            break
    return memory_containing(<char *>cnp.PyArray_DATA(array))


cdef int raise_not_symmetric(str role) except -1:
    raise ValueError(
        f"{role} is not in symmetric memory of this PE; allocate it with pyshmem.zeros(), empty(), array() and the "
        "like (memory that ptr() gave belongs to another PE)"
    )


cdef int raise_freed(str role) except -1:
    raise FreedError(f"{role} is in symmetric memory that was freed")


cdef inline int check_symmetric(cnp.ndarray array, str role) except -1:
    cdef SymmetricMemory memory
    cdef PyObject *base = PyArray_BASE(array)
    # Straight from an allocation; views and the rest take the longer way.
    if base is not NULL and type(<object>base) is SymmetricMemory:
        memory = <SymmetricMemory>base
    else:
        memory = owner_of(array)
        if memory is None:
            raise_not_symmetric(role)
    if not memory.live and memory.bytes > 0:
        raise_freed(role)
    return 0
