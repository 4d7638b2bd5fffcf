# Chapter "Memory Management Routines", continued: arrays on symmetric memory, and views of other PEs' copies.

cdef enum:
    MOST_DIMENSIONS = 64
    ADDRESS_BITS = 47

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


cdef extern from "Python.h":
    Py_ssize_t PyNumber_AsSsize_t(object number, void *overflow) except? -1


cdef int add_length(layout *shape, object length) except -1:
    cdef Py_ssize_t number = PyNumber_AsSsize_t(length, NULL)      # beyond its range: the greatest there is
    if shape.dimensions == MOST_DIMENSIONS:
        raise ValueError(f"an array has at most {MOST_DIMENSIONS} dimensions")
    if number < 0:
        raise ValueError(f"the lengths of a shape must not be negative, got {length}")
    if number >> ADDRESS_BITS or pyshmem_multiply(shape.bytes, number, &shape.bytes) or shape.bytes >> ADDRESS_BITS:
        raise MemoryError("an array of this shape is more than an address space holds")
    shape.lengths[shape.dimensions] = number
    shape.dimensions += 1
    return 0


cdef int read_shape(object shape, cnp.dtype dtype, layout *result) except -1:
    """A ``shape=`` argument, and the bytes of an array of that shape."""
    result.dimensions = 0
    result.bytes = dtype.itemsize
    if PyLong_CheckExact(shape) or isinstance(shape, (int, np.integer)):
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
    result = dtype if isinstance(dtype, cnp.dtype) else np.dtype(dtype)
    if result.hasobject:
        raise TypeError(f"dtype {result} holds Python objects, which mean nothing on another PE")
    if result.itemsize == 0:
        raise ValueError(f"elements of dtype {result!r} have no size; say how long they are, as in 'S8'")
    return result


cdef bint is_fortran(object order) except -1:
    if order == "C" or order == "c":
        return False
    if order == "F" or order == "f":
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


@cython.binding(True)              # a signature with a type in it can be asked for only of these
def new_array(shape, dtype=float, order="C", *, align=None, hints=None, clear=True, partition=None):
    """A new array in symmetric memory. Collective; see ``zeros``."""
    cdef cnp.ndarray array = reserve_array(shape, plain_dtype(dtype), order, align, hints, partition)
    if clear:
        clear_memory(<SymmetricMemory><object>PyArray_BASE(array))
    complete_array(array, clear)
    return array


@cython.binding(True)              # a signature with a type in it can be asked for only of these
def empty(shape, dtype=float, order="C", *, align=None, hints=None, partition=None):
    """A new array in symmetric memory, its contents undefined. Collective; see ``zeros``."""
    cdef cnp.ndarray array = reserve_array(shape, plain_dtype(dtype), order, align, hints, partition)
    complete_array(array, False)
    return array


@cython.binding(True)              # a signature with a type in it can be asked for only of these
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


@cython.binding(True)              # a signature with a type in it can be asked for only of these
def ones(shape, dtype=float, order="C", *, align=None, hints=None, partition=None):
    """A new array of ones in symmetric memory. Collective; see ``zeros``."""
    return full(shape, 1, dtype, order, align=align, hints=hints, partition=partition)


def full(shape, fill_value, dtype=None, order="C", *, align=None, hints=None, partition=None):
    """A new array in symmetric memory filled with ``fill_value`` (broadcast to ``shape``). Collective; see ``zeros``."""
    cdef cnp.ndarray array
    cdef cnp.dtype kind
    value = np.asarray(fill_value)
    kind = plain_dtype(value.dtype if dtype is None else dtype)
    # What cannot be converted or broadcast must raise before anything is allocated.
    value = np.broadcast_to(value.astype(kind), shape)
    array = reserve_array(shape, kind, order, align, hints, partition)
    np.copyto(array, value)
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
    if memory.bytes and PyMemoryView_GET_BUFFER(mem).len != memory.bytes:
        raise ValueError("fromalloc() takes the whole of what alloc() returned; slice the array instead")
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
    cdef SymmetricMemory memory
    cdef void *address
    check_running()
    mine = as_array(target, "target")
    check_symmetric(mine, "target")
    check_pe(pe)
    if cnp.PyArray_SIZE(mine) == 0:
        return mine
    if pe == this_pe:
        return (<object>mine).view()
    address = shmem_ptr(cnp.PyArray_DATA(mine), <int>pe)
    if address is NULL:
        return None
    Py_INCREF(mine.dtype)
    theirs = PyArray_NewFromDescr(
        <PyTypeObject *>cnp.ndarray, mine.dtype, cnp.PyArray_NDIM(mine), cnp.PyArray_DIMS(mine),
        cnp.PyArray_STRIDES(mine), address, cnp.PyArray_FLAGS(mine) & cnp.NPY_ARRAY_WRITEABLE, NULL
    )
    holder = PeerMemory()
    memory = owner_of(mine)
    (<PeerMemory>holder).mine = memory
    cnp.set_array_base(theirs, holder)
    start = <uintptr_t>shmem_ptr(memory.address, <int>pe)
    peer_views[start] = max(peer_views.get(start, 0), memory.bytes)
    return theirs
