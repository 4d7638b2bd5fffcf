# Partitions as the C library tells of them, in plain Python values; pyshmem/memory.py gives them a face.

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
        raise OSError(shmem_partition_error().decode())
    found = {node: count[node] for node in range(NODE_LIMIT) if count[node]}
    if absent:
        found[None] = absent
    return found


cdef object byte_bounds(array):
    as_array(array, "array")
    return np.lib.array_utils.byte_bounds(array) if hasattr(np.lib, "array_utils") else np.byte_bounds(array)


def placement_of_array(array):
    """``placement_of`` for the memory that an array covers."""
    low, high = byte_bounds(array)
    return placement_of(low, high - low)


cdef dict migration_record(int status, const shmem_partition_migration_t *result):
    if status != 0:
        raise PartitionError(shmem_partition_error().decode(errors="replace"))
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
    with nogil:
        status = shmem_partition_migrate_range(<void *>low, high - low, text, &result)
    return migration_record(status, &result)


def platform():
    """One line on what was recognised of this node."""
    return shmem_partition_platform().decode()


def memory_of_node(int node):
    """The kind of memory of a NUMA node."""
    return shmem_partition_memory(node).decode()


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
