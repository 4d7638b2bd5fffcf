# The lifetime of symmetric memory. Freeing is collective, garbage collection is not: an array that is dropped is only
# noted, and what all PEs have dropped is freed together at the next collective allocation.
#
# How PEs find out: whoever has dropped something since last time writes the number of the allocation's round to all
# PEs before the barrier that ends it. After that barrier all know alike whether anybody has; if so, PE 0 reads what
# each has dropped, counts, and tells all what has been dropped by all. Where nothing was dropped this costs a look at
# one word, and it never costs more than what was dropped, however many arrays are alive.

from libc.stdlib cimport realloc as c_realloc

cdef enum:
    DROP_BATCH = 256

cdef struct drop_area:              # symmetric
    uint64_t flagged[2]             # by any PE: the round in which it had dropped something
    uint64_t count
    uint64_t more                   # dropped, and not in this batch
    uint64_t numbers[DROP_BATCH]
    uint64_t agreed_count           # written by PE 0
    uint64_t again
    uint64_t agreed[DROP_BATCH]

cdef struct allocation:
    uint64_t number
    char *address                   # NULL: freed
    Py_ssize_t bytes
    int partition
    void *holder                    # the SymmetricMemory; NULL once it was dropped

cdef drop_area *drops = NULL
cdef uint64_t drop_round = 0

# All that is allocated, in the order of numbers.
cdef allocation *allocations = NULL
cdef Py_ssize_t allocation_count = 0
cdef Py_ssize_t allocation_room = 0
cdef Py_ssize_t allocations_freed = 0
cdef uint64_t last_number = 0

# Dropped here, and not told yet.
cdef uint64_t *dropped = NULL
cdef Py_ssize_t dropped_count = 0
cdef Py_ssize_t dropped_room = 0

cdef dict drop_counts = {}          # on PE 0: number -> by how many PEs it was dropped
cdef list agreed = []               # on PE 0: dropped by all, and not told yet
cdef list heaps = []                # of the heap() blocks that are open: the numbers of what they allocated
cdef dict allocation_sites = {}     # number -> "file:line", with PYSHMEM_DEBUG=leaks
cdef bint trace_sites = False
cdef bint check_collectives = False


def set_debugging(bint leaks, bint collectives):
    """What ``PYSHMEM_DEBUG`` asks for."""
    global trace_sites, check_collectives
    trace_sites = leaks
    check_collectives = collectives


# ---- what is allocated -----------------------------------------------------------------------------------------------

cdef allocation *find_allocation(uint64_t number) noexcept:
    """By number, in logarithmic time; NULL if it was freed."""
    cdef Py_ssize_t low = 0, high = allocation_count, middle
    if high and allocations[high - 1].number <= number:
        low = high - 1              # most are freed soon
    while low < high:
        middle = (low + high) // 2
        if allocations[middle].number < number:
            low = middle + 1
        else:
            high = middle
    if low < allocation_count and allocations[low].number == number and allocations[low].address is not NULL:
        return &allocations[low]
    return NULL


cdef int record_allocation(SymmetricMemory memory) except -1:
    global allocations, allocation_count, allocation_room, last_number
    cdef void *grown
    if allocation_count == allocation_room:
        grown = c_realloc(allocations, (2 * allocation_room + 64) * sizeof(allocation))
        if grown is NULL:
            raise MemoryError("no ordinary memory for the list of symmetric arrays")
        allocations = <allocation *>grown
        allocation_room = 2 * allocation_room + 64
    last_number += 1
    memory.number = last_number
    allocations[allocation_count] = allocation(last_number, memory.address, memory.bytes, memory.partition,
                                               <void *>memory)
    allocation_count += 1
    if heaps:
        (<list>heaps[len(heaps) - 1]).append(last_number)
    if trace_sites:
        allocation_sites[last_number] = calling_line()
    return 0


cdef int forget_allocation(allocation *one) noexcept:
    """It is freed: mark what Python still holds of it, and close the gaps in the list now and then."""
    global allocations_freed, allocation_count
    cdef Py_ssize_t kept = 0, i
    if one.holder is not NULL:
        (<SymmetricMemory>one.holder).live = False
    one.address = NULL
    one.holder = NULL
    if one == &allocations[allocation_count - 1]:
        allocation_count -= 1
        return 0
    allocations_freed += 1
    if allocations_freed > 64 and 2 * allocations_freed > allocation_count:
        for i in range(allocation_count):
            if allocations[i].address is not NULL:
                allocations[kept] = allocations[i]
                kept += 1
        allocation_count = kept
        allocations_freed = 0
    return 0


cdef SymmetricMemory memory_containing(char *address):
    """For arrays that came by a way that hides their base; the common ways never get here."""
    cdef Py_ssize_t i
    for i in range(allocation_count):
        if allocations[i].holder is not NULL and (
                allocations[i].address <= address < allocations[i].address + allocations[i].bytes):
            return <SymmetricMemory>allocations[i].holder
    return None


def live_arrays():
    """What is allocated and held here: ``(number, bytes, partition, where it was allocated)`` of each."""
    return [
        (allocations[i].number, allocations[i].bytes, allocations[i].partition,
         allocation_sites.get(allocations[i].number))
        for i in range(allocation_count) if allocations[i].address is not NULL and allocations[i].holder is not NULL
    ]


cdef object calling_line():
    frame = sys._getframe()
    while frame is not None and frame.f_globals.get("__name__", "").startswith("pyshmem."):
        frame = frame.f_back
    return None if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"


# ---- what was dropped ------------------------------------------------------------------------------------------------

cdef void note_dropped(uint64_t number) noexcept:
    """From a finaliser: nothing here may call Python, communicate or fail."""
    global dropped, dropped_count, dropped_room
    cdef allocation *one = find_allocation(number)
    cdef void *grown
    if one is NULL or not running:
        return
    one.holder = NULL
    if dropped_count == dropped_room:
        grown = c_realloc(dropped, (2 * dropped_room + 64) * sizeof(uint64_t))
        if grown is NULL:
            return                  # then it stays allocated
        dropped = <uint64_t *>grown
        dropped_room = 2 * dropped_room + 64
    dropped[dropped_count] = number
    dropped_count += 1


cdef int open_drop_area() except -1:
    """Collective, when the library has started."""
    global drops
    drops = <drop_area *>engine_malloc(sizeof(drop_area))
    if drops is NULL:
        raise_heap_full(sizeof(drop_area))
    memset(drops, 0, sizeof(drop_area))
    shmem_barrier_all()
    return 0


cdef void next_batch() noexcept:
    """The oldest of what was dropped, to be read by PE 0."""
    global dropped_count
    cdef Py_ssize_t taken = 0, told = 0
    cdef allocation *one
    while taken < dropped_count and told < DROP_BATCH:
        one = find_allocation(dropped[taken])
        if one is not NULL:
            give_back_locks(one.address, one.bytes)
            drops.numbers[told] = dropped[taken]
            told += 1
        taken += 1
    dropped_count -= taken
    memmove(dropped, dropped + taken, dropped_count * sizeof(uint64_t))
    drops.count = told
    drops.more = dropped_count


cdef void tell_dropped() noexcept:
    """Before the barrier of a collective allocation."""
    global drop_round
    cdef uint64_t round
    cdef int pe
    drop_round += 1
    if dropped_count == 0:
        drops.count = 0
        drops.more = 0
        return
    round = drop_round
    next_batch()
    for pe in range(pe_count):
        shmem_ctx_putmem(SHMEM_CTX_DEFAULT, &drops.flagged[round % 2], &round, sizeof(round), pe)


cdef inline bint anything_dropped() noexcept:
    """After that barrier: alike on all PEs."""
    return pyshmem_load(&drops.flagged[drop_round % 2]) == drop_round


cdef int count_dropped() except -1:
    """On PE 0: read what each PE has dropped, and tell all what was dropped by all."""
    cdef drop_area theirs
    cdef int pe
    cdef uint64_t i
    theirs.again = 0
    for pe in range(pe_count):
        shmem_ctx_getmem(SHMEM_CTX_DEFAULT, &theirs.count, &drops.count, 2 * sizeof(uint64_t), pe)
        if theirs.more:
            theirs.again = 1
        if theirs.count:
            shmem_ctx_getmem(SHMEM_CTX_DEFAULT, theirs.numbers, drops.numbers, theirs.count * sizeof(uint64_t), pe)
        for i in range(theirs.count):
            number = theirs.numbers[i]
            drop_counts[number] = drop_counts.get(number, 0) + 1
            if drop_counts[number] == pe_count:
                agreed.append(number)
                del drop_counts[number]
    theirs.agreed_count = min(len(agreed), DROP_BATCH)
    for i in range(theirs.agreed_count):
        theirs.agreed[i] = agreed[i]
    del agreed[:theirs.agreed_count]
    if agreed:
        theirs.again = 1
    for pe in range(pe_count):
        shmem_ctx_putmem(SHMEM_CTX_DEFAULT, &drops.agreed_count, &theirs.agreed_count,
                         (2 + theirs.agreed_count) * sizeof(uint64_t), pe)
    return 0


cdef int free_dropped() except -1:
    """Free what all PEs have dropped. Collective, after a barrier that followed ``tell_dropped``."""
    cdef uint64_t i, again = 1
    while again:
        if this_pe == 0:
            count_dropped()
        meet_all()
        again = drops.again
        for i in range(drops.agreed_count):
            release_after_barrier(find_allocation(drops.agreed[i]))
        if again:
            next_batch()
            meet_all()
    return 0


cdef int release_after_barrier(allocation *one) except -1:
    """Free an allocation that all PEs have agreed on (NULL: it was freed before). Collective."""
    cdef char *address
    cdef int partition
    cdef uint64_t number
    if one is NULL:
        return 0
    address, partition, number = one.address, one.partition, one.number
    forget_allocation(one)
    if drop_counts:
        drop_counts.pop(number, None)
    if allocation_sites:
        allocation_sites.pop(number, None)
    if partition:
        shmem_partition_discard(address)
    else:
        waiting = begin_waiting()
        shmem_free(address)
        end_waiting(waiting)
    return 0


cdef class HeapBlock:
    """What ``heap()`` returns."""

    def __enter__(self):
        heaps.append([])
        return self

    def __exit__(self, kind, error, trace):
        cdef allocation *one
        cdef list numbers = heaps.pop()
        # A PE that left by an exception may be the only one; what it allocated is freed when all have dropped it.
        if kind is not None or not running:
            return
        for number in numbers:
            one = find_allocation(number)
            if one is not NULL:
                give_back_locks(one.address, one.bytes)
        announce(engine_team_world(), CALL_FREE_ALL, len(numbers), 0, 0, 0)
        meet_all()
        verify_symmetry(engine_team_world())
        for number in numbers:
            release_after_barrier(find_allocation(number))


cdef int succeed_in_heap_blocks(uint64_t before, uint64_t after) except -1:
    """What was resized belongs to the block that it was made in, or to none."""
    cdef list numbers
    if heaps:
        (<list>heaps[len(heaps) - 1]).pop()
        for block in heaps:
            numbers = <list>block
            if before in numbers:
                numbers[numbers.index(before)] = after
    return 0


def heap():
    """A block at whose end everything that was allocated inside is freed, in order. Collective at its end.

    ::

        with shmem.heap():
            work = shmem.zeros(1000)
            ...

    Arrays that leave the block are freed as well: using them afterwards raises ``FreedError``.  If the block ends
    with an exception nothing is freed there, since other PEs may be elsewhere.
    """
    check_running()
    return HeapBlock()


# ---- are collective calls the same on all PEs? -----------------------------------------------------------------------

cdef inline void announce(pe_set *members, call_kind kind, uint64_t a, uint64_t b, uint64_t c,
                          uint64_t d) noexcept nogil:
    """Before a barrier: say what this PE is about to do; the arguments are those of ``call_kind`` in engine.h."""
    cdef uint64_t[4] arguments
    arguments[0], arguments[1], arguments[2], arguments[3] = a, b, c, d
    engine_announce(members, kind, arguments)


cdef int verify_symmetry(pe_set *members) except -1:
    """After a barrier that followed ``engine_announce``: raise if the PE before this one did something else."""
    cdef message difference
    if engine_verify(members, &difference) != 0:
        raise SymmetryError(words_of(difference.text))
    return 0


cdef int check_symmetry(pe_set *members, call_kind kind, uint64_t a, uint64_t b, uint64_t c, uint64_t d) except -1:
    """With ``PYSHMEM_DEBUG=collectives``, before a collective operation. Collective."""
    waiting = begin_waiting()
    announce(members, kind, a, b, c, d)
    if members == engine_team_world():
        shmem_barrier_all()         # meets a PE that allocates, or that has come to its end
    else:
        shmem_ctx_quiet(SHMEM_CTX_DEFAULT)
        engine_team_sync(members)
    end_waiting(waiting)
    return verify_symmetry(members)
