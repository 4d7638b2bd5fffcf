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

    enum atomic:
        ATOMIC_SET, ATOMIC_INC, ATOMIC_ADD, ATOMIC_FETCH, ATOMIC_FETCH_ADD
        ATOMIC_COUNT

    ctypedef void atomic_function(shmem_ctx_t context, void *target, const scalar *value, scalar *result, int pe)
    atomic_function *engine_atomics[ATOMIC_COUNT][ELEMENT_COUNT]

    ctypedef int test_function(void *variable, int comparison, const scalar *value)
    test_function *engine_tests[ELEMENT_COUNT]

    enum reduction:
        REDUCTION_AND, REDUCTION_OR, REDUCTION_XOR, REDUCTION_MAX, REDUCTION_MIN, REDUCTION_SUM, REDUCTION_PROD

    int engine_broadcast(void *target, const void *source, size_t bytes, int root)
    int engine_fcollect(void *target, const void *source, size_t bytes)
    int engine_alltoall(void *target, const void *source, size_t bytes)
    int engine_reduce(reduction reduction, element element, void *target, const void *source, size_t count)
    bint engine_can_reduce(reduction reduction, element element)

    void engine_iput(shmem_ctx_t context, void *target, const void *source, ptrdiff_t target_stride,
                     ptrdiff_t source_stride, size_t count, size_t element_bytes, int pe)
    void engine_iget(shmem_ctx_t context, void *target, const void *source, ptrdiff_t target_stride,
                     ptrdiff_t source_stride, size_t count, size_t element_bytes, int pe)

    const char *engine_vendor()
    size_t engine_default_heap()
    int engine_my_pe()
    void *engine_malloc(size_t size)
    void engine_free(void *pointer)

cdef extern from "shmem_partition.h" nogil:
    ctypedef struct shmem_partition_info_t:
        int id
        char name[64]
        char kind[16]
        char policy[16]
        char origin[40]
        char nodes[256]
        int fell_back
        size_t page_size, size, used, peak, largest_free, live
        void *base

    int shmem_partition_define(int id, const char *name, const char *definition)
    int shmem_partition_init_thread(int requested, int *provided)
    const char *shmem_partition_error()
    int shmem_partition_failed_pe()
    void shmem_partition_finalize_at_exit()
    void shmem_finalize()

    void *shmem_malloc_with_hints(size_t size, long hints)
    void *shmem_partition_reserve(size_t alignment, size_t size, int partition_id)
    int shmem_partition_release(void *pointer)

    int shmem_partition_id(const char *name)
    int shmem_partition_of(const void *pointer)
    int shmem_partition_count()
    int shmem_partition_id_at(int index)
    int shmem_partition_query(int partition_id, shmem_partition_info_t *info)
    int shmem_partition_placement(const void *address, size_t size, uint64_t *bytes, int nodes, uint64_t *absent)
    void shmem_partition_outlive(void *address, size_t size)
    const char *shmem_partition_platform()
    const char *shmem_partition_memory(int node)
