# Partitions as the C library tells of them, in plain Python values; pyshmem/memory.py gives them a face.

from cpython.bytes cimport PyBytes_FromStringAndSize


def partition_records():
    """One dictionary per partition, in the order of IDs: what ``shmem_partition_query`` says."""
    cdef shmem_partition_info_t info
    cdef int i
    records = []
    for i in range(shmem_partition_count()):
        if shmem_partition_query(shmem_partition_id_at(i), &info) != 0:
            continue
        records.append({
            "id": info.id, "name": info.name.decode(), "kind": info.kind.decode(), "policy": info.policy.decode(),
            "origin": info.origin.decode(), "nodes": info.nodes.decode(), "fell_back": bool(info.fell_back),
            "page_size": info.page_size, "size": info.size, "used": info.used, "peak": info.peak,
            "largest_free": info.largest_free, "live": info.live,
            "fallback": info.fallback.decode(), "diverted": info.diverted, "huge_bytes": info.huge_bytes,
            "transparent": bool(info.transparent), "base": <uintptr_t>info.base,
            "moved_to": info.moved_to.decode(), "weighted": bool(info.weighted),
            "placed": ("early" if info.placed_early else "late") if info.nodes[0] else "",
        })
    return records


cdef enum:
    NODE_LIMIT = 1024


def placement_of(uintptr_t address, Py_ssize_t bytes):
    """``{node: bytes}`` of a range as the kernel reports it; what is not present yet stands under None."""
    cdef uint64_t count[NODE_LIMIT]
    cdef uint64_t absent = 0
    cdef int status, node
    with nogil:
        status = shmem_partition_placement(<void *>address, bytes, count, NODE_LIMIT, &absent)
    if status != 0:
        raise OSError(words_of(shmem_partition_error()))
    found = {node: count[node] for node in range(NODE_LIMIT) if count[node]}
    if absent:
        found[None] = absent
    return found


cdef object byte_bounds(array):
    """The first address of an array and the one behind its last; of symmetric memory only while it is live."""
    cdef cnp.ndarray checked = as_array(array, "array")
    cdef SymmetricMemory memory = owner_of(checked)
    if memory is not None and not memory.live and memory.bytes > 0:
        raise_freed("array")
    return np.lib.array_utils.byte_bounds(checked) if hasattr(np.lib, "array_utils") else np.byte_bounds(checked)


cdef int check_own(uintptr_t low) except -1:
    for address, size in peer_views.items():
        if address <= low < address + size:
            raise ValueError("array is in memory that ptr() gave, of another PE; that PE can move it")
    return 0


def placement_of_array(array):
    """``placement_of`` for the memory that an array covers."""
    low, high = byte_bounds(array)
    return placement_of(low, high - low)


cdef dict migration_record(int status, const shmem_partition_migration_t *result):
    if status != 0:
        raise PartitionError(words_of(shmem_partition_error()))
    return {"moved": result.moved, "there": result.there, "absent": result.absent, "shared": result.shared,
            "full": result.full, "pinned": result.pinned, "nodes": result.nodes.decode()}


def migrate_partition(int partition_id, str kind):
    """Move this PE's pages of a partition; the figures of ``shmem_partition_migrate``."""
    cdef shmem_partition_migration_t result
    cdef bytes wanted = kind.encode()
    cdef const char *text = wanted
    cdef int status
    with nogil:
        status = shmem_partition_migrate(partition_id, text, &result)
    return migration_record(status, &result)


def migrate_array(array, str kind):
    """``migrate_partition`` for all pages that an array touches."""
    cdef shmem_partition_migration_t result
    cdef bytes wanted = kind.encode()
    cdef const char *text = wanted
    cdef uintptr_t low, high
    cdef int status
    low, high = byte_bounds(array)
    check_own(low)
    with nogil:
        status = shmem_partition_migrate_range(<void *>low, high - low, text, &result)
    return migration_record(status, &result)


def platform():
    """One line on what was recognised of this node."""
    return shmem_partition_platform().decode()


def memory_of_node(int node):
    """The kind of memory of a NUMA node."""
    return shmem_partition_memory(node).decode()


def refuse(reason):
    """Let the start to come fail on all PEs alike, because of this one; ``reason`` is bytes."""
    partitions_refuse(<const char *>reason)


def node_of_job():
    """The PE that leads the node of this one, and what was recognised there: a line, and a record of each NUMA node."""
    cdef const memory_table *table = partitions_table()
    if table is NULL:
        return partitions_node_leader(), "", []
    return (partitions_node_leader(), table.summary.decode(),
            [node_record(&table.node[i], True) for i in range(table.count)])


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
        status = engine_reduce(engine_team_world(), REDUCTION_MAX, ELEMENT_LONG, work + bytes, work, bytes // 8)
    memcpy(cnp.PyArray_DATA(result), work + bytes, bytes)
    engine_free(work)
    check_status(status)
    return result


def gather(mine):
    """On PE 0 the bytes of every PE, elsewhere an empty list. Collective."""
    cdef size_t length = len(mine), most = greatest_of_all([length])[0]
    cdef uint64_t there
    cdef bytes one = mine
    cdef char *work = <char *>engine_malloc(8 + most)
    if work is NULL:
        raise_heap_full(8 + most)
    (<uint64_t *>work)[0] = length
    memcpy(work + 8, <const char *>one, length)
    meet_all()
    found = []
    for pe in range(pe_count if this_pe == 0 else 0):
        shmem_ctx_getmem(SHMEM_CTX_DEFAULT, &there, work, 8, pe)
        one = PyBytes_FromStringAndSize(NULL, there)
        shmem_ctx_getmem(SHMEM_CTX_DEFAULT, <char *>one, work + 8, there, pe)
        found.append(one)
    meet_all()
    engine_free(work)
    return found


cdef enum:
    PIECE = 1 << 14


def tell_all(text):
    """The bytes that PE 0 has, on all PEs. Collective."""
    cdef size_t length = greatest_of_all([len(text) if this_pe == 0 else 0])[0], done = 0, now
    cdef bytes told = text if this_pe == 0 else PyBytes_FromStringAndSize(NULL, length)
    cdef char *work = <char *>engine_malloc(2 * PIECE)
    cdef int status = 0
    if work is NULL:
        raise_heap_full(2 * PIECE)
    while done < length:
        now = min(<size_t>PIECE, length - done)
        if this_pe == 0:
            memcpy(work, <const char *>told + done, now)
        meet_all()
        status |= engine_broadcast(engine_team_world(), work + PIECE, work, now, 0)
        if this_pe != 0:
            memcpy(<char *>told + done, work + PIECE, now)
        done += now
    meet_all()
    engine_free(work)
    check_status(status)
    return told
