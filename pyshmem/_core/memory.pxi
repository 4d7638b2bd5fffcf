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
        found = -1 if b"\0" in name else shmem_partition_id(name)
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
        if partition_id:
            memory.partition = shmem_partition_of(address)      # a full one's fallback is another
        record_allocation(memory)
    return memory


cdef void *take(Py_ssize_t bytes, size_t alignment, long hints, int partition_id) except? NULL:
    """From a partition or the engine's heap, after telling the others what is wanted and what was dropped; or NULL."""
    cdef void *address
    announce(engine_team_world(), CALL_ALLOCATE, bytes, alignment, hints, partition_id)
    tell_dropped()
    if partition_id:
        return shmem_partition_reserve(alignment if alignment else 16, bytes, partition_id)
    waiting = begin_waiting()
    address = take_from_engine(bytes, alignment, hints)
    engine_expect(engine_team_world())
    end_waiting(waiting)
    return address


cdef int raise_full(Py_ssize_t bytes, int partition_id) except -1:
    if partition_id:
        raise MemoryError(words_of(shmem_partition_error()))
    return raise_heap_full(bytes)


cdef SymmetricMemory reserve(Py_ssize_t bytes, object align, object hints, object partition):
    """Allocate without the closing barrier where that is possible; the caller fills, then meets the others."""
    cdef int partition_id
    cdef size_t alignment = 0
    cdef long hint_bits = 0
    cdef Py_ssize_t wanted
    cdef void *address
    check_running()
    partition_id = resolve_partition(partition)
    if align is not None:
        wanted = align
        if wanted < 0 or wanted & (wanted - 1):
            raise ValueError(f"align must be a power of two, got {align}")
        alignment = wanted
    if hints is not None:
        hint_bits = hints
    if bytes == 0:
        return new_memory(NULL, 0, partition_id)
    address = take(bytes, alignment, hint_bits, partition_id)
    if address is NULL:
        address = take_once_more(bytes, alignment, hint_bits, partition_id)
    return new_memory(address, bytes, partition_id)


cdef void *take_once_more(Py_ssize_t bytes, size_t alignment, long hints, int partition_id) except NULL:
    """There was no room, on all PEs alike: there may be when what was dropped is freed."""
    cdef void *address
    meet_after_allocation()
    while drops_were_freed:
        address = take(bytes, alignment, hints, partition_id)
        if address is not NULL:
            return address
        meet_after_allocation()
    raise_full(bytes, partition_id)


cdef bint drops_were_freed = False


cdef int meet_after_allocation() except -1:
    meet_all()
    return settle()


cdef int settle() except -1:
    """After the barrier of an allocation: did all ask for the same, and is anything free by now?"""
    global drops_were_freed
    verify_symmetry(engine_team_world())
    drops_were_freed = anything_dropped()
    if drops_were_freed:
        free_dropped()
    return 0


cdef int complete(SymmetricMemory memory, bint filled) except -1:
    """All PEs have the memory, and what they filled it with, from here on.

    The engine's own allocation has met the other PEs already, so that only what was filled since needs a barrier.
    """
    if memory.bytes == 0:
        return 0
    return meet_after_allocation() if filled or memory.partition else settle()


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
        if memory.bytes and <char *>PyMemoryView_GET_BUFFER(mem).buf != memory.address:
            raise ValueError("this memoryview is a part of an allocation; free the whole that it came from")
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
    cdef allocation *one
    check_running()
    memory = memory_to_free(mem)
    if not memory.live:
        raise_freed("the memory to free")
    memory.live = False
    one = find_allocation(memory.number)
    if one is NULL:
        return
    give_back_locks(memory.address, memory.bytes)
    announce(engine_team_world(), CALL_FREE, memory.number, memory.bytes, memory.partition, 0)
    if memory.partition:
        meet_all()
        verify_symmetry(engine_team_world())
        release_after_barrier(find_allocation(memory.number))    # other threads may have allocated meanwhile
    else:
        release_after_barrier(one)               # the engine's own free() meets the others first
        verify_symmetry(engine_team_world())


def realloc(mem, shape, *, dtype=None):
    """Resize symmetric memory, in its partition; its contents are kept, as far as they fit. Collective.

    Parameters
    ----------
    mem : numpy.ndarray or memoryview
        What ``zeros()``, ``alloc()`` and the like returned; not to be used afterwards.
    shape : int or sequence of int
        The new shape, or the number of bytes for a ``memoryview``.
    dtype : data-type, optional
        Of the new array; the default is the old one's.

    Returns
    -------
    numpy.ndarray or memoryview
        As ``mem`` was, in C order; elements beyond the old size are undefined.

    Raises
    ------
    MemoryError
        The partition is full, on all PEs alike; ``mem`` is as it was.
    """
    cdef SymmetricMemory memory, moved
    cdef layout wanted
    cdef cnp.dtype kind
    cdef allocation *one
    cdef void *address
    check_running()
    memory = memory_to_free(mem)
    if not memory.live:
        raise_freed("the memory to resize")
    kind = plain_dtype(dtype if dtype is not None else (<object>mem).dtype if cnp.PyArray_Check(mem) else "B")
    read_shape(shape, kind, &wanted)
    if memory.bytes == 0 or wanted.bytes == 0:
        moved = reserve(wanted.bytes, None, None, memory.partition if memory.partition else None)
        complete(moved, False)
        free(mem)
    else:
        give_back_locks(memory.address, memory.bytes)
        announce(engine_team_world(), CALL_RESIZE, memory.number, wanted.bytes, memory.partition, 0)
        waiting = begin_waiting()
        address = shmem_realloc(memory.address, wanted.bytes)
        shmem_barrier_all()
        end_waiting(waiting)
        verify_symmetry(engine_team_world())
        if address is NULL:
            raise_full(wanted.bytes, memory.partition)
        one = find_allocation(memory.number)
        if one is not NULL:
            forget_allocation(one)
        memory.live = False
        moved = new_memory(address, wanted.bytes, memory.partition)
        succeed_in_heap_blocks(memory.number, moved.number)
    return array_on(moved, kind, &wanted, False) if cnp.PyArray_Check(mem) else memoryview(moved)
