# C declarations: the engine as engine/engine.h shows it, and the public header of partitions.

from libc.stddef cimport ptrdiff_t
from libc.stdint cimport uint64_t

cdef extern from "engine/engine.h" nogil:
    ctypedef struct shmem_ctx_t:
        pass

    shmem_ctx_t SHMEM_CTX_DEFAULT
    int SHMEM_CMP_EQ, SHMEM_CMP_NE, SHMEM_CMP_GT, SHMEM_CMP_LE, SHMEM_CMP_LT, SHMEM_CMP_GE
    int SHMEM_THREAD_SINGLE, SHMEM_THREAD_FUNNELED, SHMEM_THREAD_SERIALIZED, SHMEM_THREAD_MULTIPLE
    int SHMEM_MAX_NAME_LEN

    int shmem_my_pe()
    int shmem_n_pes()
    void shmem_info_get_version(int *major, int *minor)
    void shmem_info_get_name(char *name)
    void shmem_query_thread(int *provided)
    void shmem_global_exit(int status)
    void *shmem_ptr(const void *target, int pe)

    void *shmem_malloc(size_t size)
    void *shmem_align(size_t alignment, size_t size)
    void shmem_free(void *pointer)

    void shmem_ctx_putmem(shmem_ctx_t context, void *target, const void *source, size_t bytes, int pe)
    void shmem_ctx_getmem(shmem_ctx_t context, void *target, const void *source, size_t bytes, int pe)

    void shmem_ctx_putmem_nbi(shmem_ctx_t context, void *target, const void *source, size_t bytes, int pe)
    void shmem_ctx_getmem_nbi(shmem_ctx_t context, void *target, const void *source, size_t bytes, int pe)
    long SHMEM_CTX_PRIVATE, SHMEM_CTX_SERIALIZED, SHMEM_CTX_NOSTORE

    int shmem_pe_accessible(int pe)
    int shmem_addr_accessible(const void *address, int pe)
    int shmem_test_lock(long *lock)
    void shmem_clear_lock(long *lock)
    void *shmem_realloc(void *pointer, size_t size)

    void shmem_barrier_all()
    void shmem_sync_all()
    void shmem_ctx_fence(shmem_ctx_t context)
    void shmem_ctx_quiet(shmem_ctx_t context)

    enum element:
        ELEMENT_SCHAR, ELEMENT_UCHAR, ELEMENT_SHORT, ELEMENT_USHORT, ELEMENT_INT, ELEMENT_UINT
        ELEMENT_LONG, ELEMENT_ULONG, ELEMENT_LONGLONG, ELEMENT_ULONGLONG
        ELEMENT_FLOAT, ELEMENT_DOUBLE, ELEMENT_LONGDOUBLE
        ELEMENT_COMPLEXF, ELEMENT_COMPLEXD, ELEMENT_COMPLEXL
        ELEMENT_COUNT

    union scalar:
        int as_int
        unsigned int as_uint
        long as_long
        unsigned long as_ulong
        long long as_longlong
        unsigned long long as_ulonglong
        float as_float
        double as_double

    struct operands:
        scalar value
        scalar condition

    enum atomic:
        ATOMIC_SET, ATOMIC_INC, ATOMIC_ADD, ATOMIC_AND, ATOMIC_OR, ATOMIC_XOR
        ATOMIC_FETCH, ATOMIC_SWAP, ATOMIC_COMPARE_SWAP
        ATOMIC_FETCH_INC, ATOMIC_FETCH_ADD, ATOMIC_FETCH_AND, ATOMIC_FETCH_OR, ATOMIC_FETCH_XOR
        ATOMIC_COUNT

    ctypedef void atomic_function(shmem_ctx_t context, void *target, const operands *operands, scalar *result, int pe)
    atomic_function *engine_atomics[ATOMIC_COUNT][ELEMENT_COUNT]
    void engine_atomic_nbi(atomic atomic, element element, shmem_ctx_t context, void *fetch, void *target,
                           const operands *operands, int pe)

    ctypedef int test_function(void *variable, int comparison, const scalar *value)
    test_function *engine_tests[ELEMENT_COUNT]

    enum reduction:
        REDUCTION_AND, REDUCTION_OR, REDUCTION_XOR, REDUCTION_MAX, REDUCTION_MIN, REDUCTION_SUM, REDUCTION_PROD

    struct message:
        char text[1024]

    struct team:
        pass

    team *engine_team_world()
    team *engine_team_shared()
    int engine_team_size(const team *team)
    int engine_team_me(const team *team)
    int engine_team_contexts(const team *team)
    int engine_team_world_pe(const team *team, int pe)
    int engine_team_number_of(const team *team, int world_pe)
    int engine_team_split_strided(team *parent, int start, int stride, int size, int contexts, team **result,
                                  message *message)
    int engine_team_split_2d(team *parent, int range, int x_contexts, int y_contexts, team **x, team **y,
                             message *message)
    void engine_team_destroy(team *team)
    void engine_team_forget(team *team)
    void engine_team_sync(team *team)

    enum call_kind:
        CALL_ALLOCATE, CALL_RESIZE, CALL_FREE, CALL_FREE_ALL, CALL_BARRIER, CALL_SYNC, CALL_BROADCAST, CALL_COLLECT, CALL_FCOLLECT
        CALL_ALLTOALL, CALL_ALLTOALLS, CALL_REDUCE, CALL_SCAN, CALL_SPLIT

    void engine_announce(team *team, call_kind kind, const uint64_t *arguments)
    void engine_expect(team *team)
    int engine_verify(team *team, message *message)
    bint engine_may_speak()

    int engine_context_create(long options, shmem_ctx_t *context)
    void engine_session_start(shmem_ctx_t context, long options, size_t operations)
    void engine_session_stop(shmem_ctx_t context)
    void engine_pe_quiet(shmem_ctx_t context, const int *pes, size_t count)

    int engine_broadcast(team *team, void *target, const void *source, size_t bytes, int root)
    uint64_t engine_collected_count(team *team, size_t count)
    int engine_collect(team *team, void *target, const void *source, size_t count, size_t element_bytes)
    int engine_fcollect(team *team, void *target, const void *source, size_t bytes)
    int engine_alltoall(team *team, void *target, const void *source, size_t bytes)
    int engine_alltoalls(team *team, void *target, const void *source, ptrdiff_t target_stride,
                         ptrdiff_t source_stride, size_t count, size_t element_bytes)
    int engine_reduce(team *team, reduction reduction, element element, void *target, const void *source, size_t count)
    int engine_scan(team *team, element element, void *target, const void *source, size_t count, bint inclusive)
    bint engine_can_reduce(reduction reduction, element element)

    void engine_iput(shmem_ctx_t context, void *target, const void *source, ptrdiff_t target_stride,
                     ptrdiff_t source_stride, size_t count, size_t element_bytes, int pe)
    void engine_iget(shmem_ctx_t context, void *target, const void *source, ptrdiff_t target_stride,
                     ptrdiff_t source_stride, size_t count, size_t element_bytes, int pe)
    void engine_ibput(shmem_ctx_t context, void *target, const void *source, ptrdiff_t target_stride,
                      ptrdiff_t source_stride, size_t block, size_t count, size_t element_bytes, int pe)
    void engine_ibget(shmem_ctx_t context, void *target, const void *source, ptrdiff_t target_stride,
                      ptrdiff_t source_stride, size_t block, size_t count, size_t element_bytes, int pe)

    int ENGINE_SIGNAL_SET, ENGINE_SIGNAL_ADD
    void engine_signal(shmem_ctx_t context, uint64_t *signal, uint64_t value, int operation, int pe)
    void engine_put_signal(shmem_ctx_t context, void *target, const void *source, size_t bytes, uint64_t *signal,
                           uint64_t value, int operation, int pe)
    void engine_put_signal_nbi(shmem_ctx_t context, void *target, const void *source, size_t bytes, uint64_t *signal,
                               uint64_t value, int operation, int pe)

    void engine_pcontrol(int level)
    const char *const *engine_corrected()
    const char *engine_vendor()
    size_t engine_default_heap()
    int engine_my_pe()
    void *engine_malloc(size_t size)
    void engine_free(void *pointer)

cdef extern from "interruption.h" nogil:
    int engine_watch_interrupts()
    void engine_interrupt_noted()
    int *engine_waiting_calls()

cdef extern from "topology.h" nogil:
    enum memory:
        pass
    enum evidence:
        pass
    struct cpuset:
        unsigned long word[128]
    struct memory_node:
        int number
        memory memory
        evidence evidence
        bint fast, capacity, allowed, has_cpus, memory_cache
        uint64_t size, bandwidth, latency
        cpuset cpus
    struct memory_table:
        int count
        char summary[128]
        memory_node node[1]

    memory_table *topology_recognise(const char *xml, message *message)
    const char *memory_name(memory memory)
    const char *evidence_name(evidence evidence)

    enum place:
        PLACE_MACHINE, PLACE_SOCKET, PLACE_CORE

cdef extern from "bitset.h" nogil:
    struct nodeset:
        pass
    bint nodeset_has(const nodeset *set, int node)

cdef extern from "spec.h" nogil:
    enum policy:
        POLICY_NONE
    enum reach:
        pass
    enum origin:
        pass
    struct definition:
        int id
        char name[64]
        size_t size
        unsigned kinds
        policy policy
        reach reach
        size_t page_size
        bint transparent_huge
        origin origin
    struct definitions:
        int count
        definition entry[127]
    struct program_definition:
        int id
        const char *name
        const char *text
    const char *kinds_text(unsigned kinds, char *text, size_t size)
    const char *policy_name(policy policy)
    const char *reach_name(reach reach)
    const char *origin_name(origin origin)

cdef extern from "plan.h" nogil:
    struct choice:
        nodeset nodes
        bint fell_back
        message why
    struct supply:
        uint64_t node[1024]
    struct plan:
        definitions definitions
        size_t block_bytes[127]
        memory_table *table
        supply supply
        int places
        cpuset *place
        choice *choice
        bint fails
        int failed_pe
        message message

    plan *plan_make(const char *xml, const program_definition *program, int program_count, int pes, place place,
                    message *message)
    void plan_destroy(plan *plan)

cdef extern from "placement.h" nogil:
    uint64_t placement_free_bytes(int node)

cdef extern from "partition.h" nogil:
    void partitions_refuse(const char *reason)
    const memory_table *partitions_table()
    int partitions_node_leader()

cdef extern from "shmem_partition.h" nogil:
    ctypedef struct shmem_partition_info_t:
        int id
        char name[64]
        char kind[64]
        char policy[16]
        char origin[40]
        char nodes[256]
        int fell_back
        size_t page_size, size, used, peak, largest_free, live
        char fallback[64]
        size_t diverted, huge_bytes
        int transparent
        void *base
        char moved_to[64]
        int weighted, placed_early

    ctypedef struct shmem_partition_migration_t:
        uint64_t moved, there, absent, shared, full, pinned
        char nodes[256]

    int shmem_partition_define(int id, const char *name, const char *definition)
    int shmem_partition_init_thread(int requested, int *provided)
    const char *shmem_partition_error()
    int shmem_partition_failed_pe()
    void shmem_partition_finalize_at_exit()
    void shmem_finalize()

    void *shmem_malloc_with_hints(size_t size, long hints)
    void *shmem_partition_reserve(size_t alignment, size_t size, int partition_id)
    int shmem_partition_release(void *pointer)
    int shmem_partition_discard(void *pointer)
    void *shmem_partition_realloc(void *pointer, size_t size)

    int shmem_partition_id(const char *name)
    int shmem_partition_of(const void *pointer)
    int shmem_partition_count()
    int shmem_partition_id_at(int index)
    int shmem_partition_query(int partition_id, shmem_partition_info_t *info)
    int shmem_partition_placement(const void *address, size_t size, uint64_t *bytes, int nodes, uint64_t *absent)
    int shmem_partition_migrate(int partition_id, const char *kind, shmem_partition_migration_t *result)
    int shmem_partition_migrate_range(void *address, size_t size, const char *kind,
                                      shmem_partition_migration_t *result)
    void shmem_partition_outlive(void *address, size_t size)
    const char *shmem_partition_platform()
    const char *shmem_partition_memory(int node)

# Names that no argument hides.
ctypedef team pe_set
ctypedef element enum_element
