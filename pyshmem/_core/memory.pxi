# Chapter "Memory Management Routines": symmetric memory and the arrays on it.

cdef int default_partition = -1      # -1: not looked up yet; 0: the engine's own heap


cdef inline int default_partition_id():
    global default_partition
    if default_partition < 0:
        default_partition = 1 if shmem_partition_id_exists(1) else 0
    return default_partition


cdef bint shmem_partition_id_exists(int partition_id):
    cdef int i
    for i in range(shmem_partition_count()):
        if shmem_partition_id_at(i) == partition_id:
            return True
    return False


def partition_id_of(partition):
    """The ID behind a ``partition=`` argument: None, a name, an ID, or a ``Partition``."""
    return resolve_partition(partition)


cdef int resolve_partition(object partition) except -1:
    cdef int found
    if partition is None:
        return default_partition_id()
    if isinstance(partition, str):
        name = partition.encode()
        found = shmem_partition_id(name)
        if found < 0:
            raise_no_partition(partition)
        return found
    partition = getattr(partition, "id", partition)
    if isinstance(partition, bool) or not isinstance(partition, (int, np.integer)):
        raise TypeError(f"partition must be a name, an ID or a Partition, not {type(partition).__name__}")
    if not shmem_partition_id_exists(partition):
        raise_no_partition(partition)
    return partition


cdef int raise_no_partition(object partition) except -1:
    names = [f"{info['id']} \"{info['name']}\"" for info in partition_records()]
    there = "the partitions are " + ", ".join(names) if names else "none is defined"
    raise NoPartitionError(f"there is no partition {partition!r}: {there}")


cdef int raise_heap_full(size_t bytes) except -1:
    raise MemoryError(
        f"the default symmetric heap of {engine_vendor().decode()} has no room for {bytes} bytes; its size is set by "
        f"SHMEM_SYMMETRIC_SIZE before the job starts (default {engine_default_heap() >> 20}M)"
    )


cdef void *take_from_engine(size_t bytes, size_t alignment, long hints) noexcept nogil:
    """From the engine's own heap; ends with a barrier."""
    if alignment:
        return shmem_align(alignment, bytes)
    if hints:
        return shmem_malloc_with_hints(bytes, hints)
    return shmem_malloc(bytes)


cdef SymmetricMemory new_memory(void *address, Py_ssize_t bytes, int partition_id):
    cdef SymmetricMemory memory = SymmetricMemory.__new__(SymmetricMemory)
    memory.address = <char *>address
    memory.bytes = bytes
    memory.partition = partition_id
    memory.live = True
    if address is not NULL:
        live_memory[<uintptr_t>address] = memory
    return memory


cdef SymmetricMemory reserve(Py_ssize_t bytes, object align, object hints, object partition):
    """Allocate without the closing barrier where that is possible; the caller fills, then meets the others."""
    cdef int partition_id
    cdef size_t alignment = 0
    cdef long hint_bits = 0
    cdef void *address
    check_running()
    partition_id = resolve_partition(partition)
    if align is not None:
        if align < 0 or align & (align - 1):
            raise ValueError(f"align must be a power of two, got {align}")
        alignment = align
    if hints is not None:
        hint_bits = hints
    if bytes == 0:
        return new_memory(NULL, 0, partition_id)
    if partition_id:
        address = shmem_partition_reserve(alignment if alignment else 16, bytes, partition_id)
        if address is NULL:
            raise MemoryError(shmem_partition_error().decode())
    else:
        with nogil:
            address = take_from_engine(bytes, alignment, hint_bits)
        if address is NULL:
            raise_heap_full(bytes)
    return new_memory(address, bytes, partition_id)


cdef int complete(SymmetricMemory memory, bint filled) except -1:
    """All PEs have the memory, and what they filled it with, from here on.

    The engine's own allocation has met the other PEs already, so that only what was filled since needs a barrier.
    """
    if memory.bytes > 0 and (filled or memory.partition):
        with nogil:
            shmem_barrier_all()
    return 0


cdef int clear_memory(SymmetricMemory memory) except -1:
    if memory.bytes > 0:
        with nogil:
            memset(memory.address, 0, memory.bytes)
    return 0


def alloc(count, size=1, align=None, hints=None, clear=True, *, partition=None):
    """Symmetric memory for ``count`` elements of ``size`` bytes, as a ``memoryview``. Collective.

    Parameters
    ----------
    count, size : int
        Number of elements and bytes of each.
    align : int, optional
        Alignment in bytes, a power of two.
    hints : int, optional
        Hints of the ``MALLOC`` enumeration.
    clear : bool
        Whether the memory is set to zero, on all PEs, before any of them returns.
    partition : str, int or Partition, optional
        Where to allocate: by default partition 1, or the engine's own heap where that is not defined.

    Raises
    ------
    MemoryError
        The partition is full, on all PEs alike; nothing is lost and it stays usable.
    """
    cdef SymmetricMemory memory
    if count < 0 or size < 0:
        raise ValueError(f"count and size must not be negative, got {count} and {size}")
    memory = reserve(checked_bytes(count * size), align, hints, partition)
    if clear:
        clear_memory(memory)
    complete(memory, clear)
    return memoryview(memory)


cdef Py_ssize_t checked_bytes(object bytes) except -1:
    if bytes > 2**47:
        raise MemoryError(f"{bytes} bytes are more than an address space holds")
    return bytes


cdef SymmetricMemory memory_to_free(object mem):
    cdef SymmetricMemory memory = None
    if cnp.PyArray_Check(mem):
        memory = owner_of(<cnp.ndarray>mem)
        if memory is not None and memory.bytes and <char *>cnp.PyArray_DATA(<cnp.ndarray>mem) != memory.address:
            raise ValueError("this array is a view inside an allocation, not its start; free the array it came from")
    elif PyMemoryView_Check(mem) and isinstance(mem.obj, SymmetricMemory):
        memory = <SymmetricMemory>mem.obj
    elif type(mem) is SymmetricMemory:
        memory = <SymmetricMemory>mem
    else:
        raise TypeError(f"free() takes a symmetric array or memoryview, not {type(mem).__name__}")
    if memory is None:
        raise_not_symmetric("the array to free")
    return memory


def free(mem):
    """Give symmetric memory back. Collective, with a barrier before anything is freed.

    Parameters
    ----------
    mem : numpy.ndarray or memoryview
        What ``zeros()``, ``alloc()`` and the like returned.

    Raises
    ------
    FreedError
        It was freed before (a ``KeyError`` and a ``ValueError``).
    ValueError
        It is a view inside an allocation, or not symmetric.
    """
    cdef SymmetricMemory memory
    cdef int status = 0
    check_running()
    memory = memory_to_free(mem)
    if not memory.live:
        raise_freed("the memory to free")
    memory.live = False
    if memory.address is NULL:
        return
    del live_memory[<uintptr_t>memory.address]
    with nogil:
        if memory.partition:
            status = shmem_partition_release(memory.address)
        else:
            shmem_free(memory.address)
    if status != 0:
        raise PartitionError(shmem_partition_error().decode())


# ---- arrays ----------------------------------------------------------------------------------------------------------

cdef enum:
    MOST_DIMENSIONS = 64

cdef struct layout:
    int dimensions
    cnp.npy_intp lengths[MOST_DIMENSIONS]
    Py_ssize_t bytes

cdef extern from *:
    """
    static inline int pyshmem_multiply(Py_ssize_t a, Py_ssize_t b, Py_ssize_t *product)
    {
        return __builtin_mul_overflow(a, b, product);
    }
    """
    bint pyshmem_multiply(Py_ssize_t a, Py_ssize_t b, Py_ssize_t *product)


cdef int add_length(layout *shape, object length) except -1:
    if shape.dimensions == MOST_DIMENSIONS:
        raise ValueError(f"an array has at most {MOST_DIMENSIONS} dimensions")
    number = index(length)
    if number < 0:
        raise ValueError(f"the lengths of a shape must not be negative, got {length}")
    if number >= 1 << 47 or pyshmem_multiply(shape.bytes, number, &shape.bytes) or shape.bytes >= 1 << 47:
        raise MemoryError("an array of this shape is more than an address space holds")
    shape.lengths[shape.dimensions] = number
    shape.dimensions += 1
    return 0


cdef int read_shape(object shape, cnp.dtype dtype, layout *result) except -1:
    """A ``shape=`` argument, and the bytes of an array of that shape."""
    result.dimensions = 0
    result.bytes = dtype.itemsize
    if isinstance(shape, (int, np.integer)):
        return add_length(result, shape)
    for length in shape:
        add_length(result, length)
    return 0


cdef cnp.ndarray array_on(SymmetricMemory memory, cnp.dtype dtype, layout *shape, bint fortran):
    """A NumPy array over symmetric memory, which its base keeps known."""
    Py_INCREF(dtype)     # PyArray_NewFromDescr takes one
    array = PyArray_NewFromDescr(
        <PyTypeObject *>cnp.ndarray, dtype, shape.dimensions, shape.lengths, NULL, memory.address,
        cnp.NPY_ARRAY_F_CONTIGUOUS | cnp.NPY_ARRAY_WRITEABLE if fortran else cnp.NPY_ARRAY_WRITEABLE, NULL
    )
    cnp.set_array_base(array, memory)
    return array


cdef extern from "numpy/arrayobject.h":
    ctypedef struct PyTypeObject
    cnp.ndarray PyArray_NewFromDescr(PyTypeObject *type, cnp.dtype dtype, int dimensions, cnp.npy_intp *lengths,
                                     cnp.npy_intp *strides, void *data, int flags, void *like)

from cpython.ref cimport Py_INCREF


cdef cnp.dtype float64 = np.dtype(float)


cdef cnp.dtype plain_dtype(object dtype):
    cdef cnp.dtype result
    if dtype is float:
        return float64
    result = dtype if type(dtype) is cnp.dtype else np.dtype(dtype)
    if result.hasobject:
        raise TypeError(f"dtype {result} holds Python objects, which mean nothing on another PE")
    if result.itemsize == 0:
        raise ValueError(f"elements of dtype {result!r} have no size; say how long they are, as in 'S8'")
    return result


cdef bint is_fortran(object order) except -1:
    if order == "C":
        return False
    if order == "F":
        return True
    raise ValueError(f"order must be 'C' or 'F', not {order!r}")


cdef cnp.ndarray reserve_array(object shape, cnp.dtype dtype, object order, object align, object hints,
                               object partition):
    cdef layout wanted
    cdef bint fortran = is_fortran(order)
    read_shape(shape, dtype, &wanted)
    return array_on(reserve(wanted.bytes, align, hints, partition), dtype, &wanted, fortran)


cdef inline int complete_array(cnp.ndarray array, bint filled) except -1:
    return complete(<SymmetricMemory><object>PyArray_BASE(array), filled)


def new_array(shape, dtype=float, order="C", *, align=None, hints=None, clear=True, partition=None):
    """A new array in symmetric memory. Collective; see ``zeros``."""
    cdef cnp.ndarray array = reserve_array(shape, plain_dtype(dtype), order, align, hints, partition)
    if clear:
        clear_memory(<SymmetricMemory><object>PyArray_BASE(array))
    complete_array(array, clear)
    return array


def empty(shape, dtype=float, order="C", *, align=None, hints=None, partition=None):
    """A new array in symmetric memory, its contents undefined. Collective; see ``zeros``."""
    cdef cnp.ndarray array = reserve_array(shape, plain_dtype(dtype), order, align, hints, partition)
    complete_array(array, False)
    return array


def zeros(shape, dtype=float, order="C", *, align=None, hints=None, partition=None):
    """A new array of zeros in symmetric memory. Collective: the same call, in the same order, on all PEs.

    Parameters
    ----------
    shape : int or sequence of int
        Shape of the array, on every PE.
    dtype : data-type, optional
        Type of the elements; the default is ``float``.
    order : {'C', 'F'}
        Memory layout.
    align : int, optional
        Alignment in bytes, a power of two.
    hints : int, optional
        Hints of the ``MALLOC`` enumeration.
    partition : str, int or Partition, optional
        Where to allocate: by default partition 1, or the engine's own heap where that is not defined.

    Returns
    -------
    numpy.ndarray
        Complete on all PEs when any of them returns.  An array of size 0 owns nothing, and costs no barrier.

    Raises
    ------
    MemoryError
        The partition is full, on all PEs alike; nothing is lost and it stays usable.
    NoPartitionError
        There is no such partition (a ``KeyError``).
    """
    cdef cnp.ndarray array = reserve_array(shape, plain_dtype(dtype), order, align, hints, partition)
    clear_memory(<SymmetricMemory><object>PyArray_BASE(array))
    complete_array(array, True)
    return array


def ones(shape, dtype=float, order="C", *, align=None, hints=None, partition=None):
    """A new array of ones in symmetric memory. Collective; see ``zeros``."""
    return full(shape, 1, dtype, order, align=align, hints=hints, partition=partition)


def full(shape, fill_value, dtype=None, order="C", *, align=None, hints=None, partition=None):
    """A new array in symmetric memory filled with ``fill_value`` (broadcast to ``shape``). Collective; see ``zeros``."""
    cdef cnp.ndarray array
    value = np.asarray(fill_value)
    array = reserve_array(shape, plain_dtype(value.dtype if dtype is None else dtype), order, align, hints, partition)
    np.copyto(array, value, casting="unsafe")
    complete_array(array, True)
    return array


def array(obj, dtype=None, *, order="K", align=None, hints=None, partition=None):
    """A new array in symmetric memory with the contents of ``obj``. Collective; see ``zeros``.

    Parameters
    ----------
    obj : array_like
        As for ``numpy.array``; its shape and dtype must be the same on all PEs, its values need not.
    order : {'K', 'A', 'C', 'F'}
        Memory layout, as for ``numpy.array``.
    """
    cdef cnp.ndarray source = np.asarray(obj, dtype, order=order)
    cdef cnp.ndarray result
    cdef cnp.dtype kind = plain_dtype(source.dtype)
    cdef SymmetricMemory memory = reserve(checked_bytes(source.size * kind.itemsize), align, hints, partition)
    # As numpy.array lays out a copy of it: for 'K' the order of the axes is kept, the gaps are not.
    result = np.ndarray((<object>source).shape, kind, memory, strides=np.empty_like(source, order=order).strides)
    np.copyto(result, source, casting="no")
    complete(memory, True)
    return result


def fromalloc(mem, shape=None, dtype=None, order="C"):
    """An array over memory from ``alloc()``. Local.

    Parameters
    ----------
    mem : memoryview
        What ``alloc()`` returned.
    shape : int or sequence of int, optional
        The default is one dimension of as many elements as fit.
    dtype : data-type, optional
        Type of the elements; the default is ``float``.
    """
    cdef SymmetricMemory memory
    cdef layout wanted
    cdef cnp.dtype kind = plain_dtype(dtype)
    if not (PyMemoryView_Check(mem) and isinstance(mem.obj, SymmetricMemory)):
        raise TypeError(f"fromalloc() takes what alloc() returned, not {type(mem).__name__}")
    memory = <SymmetricMemory>mem.obj
    if not memory.live:
        raise_freed("the memory")
    read_shape(memory.bytes // kind.itemsize if shape is None else shape, kind, &wanted)
    if wanted.bytes > memory.bytes:
        raise ValueError(
            f"an array of shape {shape} and dtype {kind} needs {wanted.bytes} bytes, the memory has {memory.bytes}"
        )
    return array_on(memory, kind, &wanted, is_fortran(order))


def del_array(a):
    """Free an array; shmem4py's other name of ``free``. Collective."""
    if not cnp.PyArray_Check(a):
        raise TypeError(f"del_array() takes an array, not {type(a).__name__}")
    free(a)


def greatest_of_all(local):
    """The greatest of each number (int64) over all PEs, in memory that is no partition's. Collective."""
    cdef cnp.ndarray result = np.array(local, dtype="i8", order="C")
    cdef size_t bytes = cnp.PyArray_SIZE(result) * 8
    cdef char *work
    cdef int status
    check_running()
    work = <char *>engine_malloc(2 * bytes + 1)
    if work is NULL:
        raise_heap_full(2 * bytes + 1)
    memcpy(work, cnp.PyArray_DATA(result), bytes)
    with nogil:
        shmem_barrier_all()
        status = engine_reduce(REDUCTION_MAX, ELEMENT_LONG, work + bytes, work, bytes // 8)
    memcpy(cnp.PyArray_DATA(result), work + bytes, bytes)
    engine_free(work)
    check_status(status)
    return result


cdef class PeerMemory:
    """Memory of another PE, seen through ``ptr()``: valid until ``finalize``, and not symmetric here."""

    cdef SymmetricMemory mine     # keeps the allocation known


def ptr(target, Py_ssize_t pe):
    """A view of another PE's copy of a symmetric array, for plain loads and stores. Local.

    Parameters
    ----------
    target : numpy.ndarray
        Symmetric array, or a view of one.
    pe : int
        The PE whose copy is wanted.

    Returns
    -------
    numpy.ndarray or None
        None where the engine cannot map that PE's memory.
    """
    cdef cnp.ndarray mine, theirs
    cdef void *address
    check_running()
    mine = as_array(target, "target")
    check_symmetric(mine, "target")
    check_pe(pe)
    if cnp.PyArray_SIZE(mine) == 0:
        return mine
    if pe == this_pe:
        return (<object>mine).view()
    address = shmem_ptr(cnp.PyArray_DATA(mine), pe)
    if address is NULL:
        return None
    Py_INCREF(mine.dtype)
    theirs = PyArray_NewFromDescr(
        <PyTypeObject *>cnp.ndarray, mine.dtype, cnp.PyArray_NDIM(mine), cnp.PyArray_DIMS(mine),
        cnp.PyArray_STRIDES(mine), address, cnp.PyArray_FLAGS(mine) & cnp.NPY_ARRAY_WRITEABLE, NULL
    )
    holder = PeerMemory()
    (<PeerMemory>holder).mine = owner_of(mine)
    cnp.set_array_base(theirs, holder)
    return theirs
