/*
 * The engine's own collectives where it has OpenSHMEM 1.5: on the world team,
 * with no work areas.  The same functions stand in native_active_set.c for 1.4.
 */
#include "has.h"
#if ENGINE_HAS_TEAMS

#include "collectives.h"

#define DEFINE(operation, name, type, function)                                                                        \
    static void operation##_##name(void *target, const void *source, size_t count)                                     \
    {                                                                                                                  \
        function(SHMEM_TEAM_WORLD, target, source, count);                                                             \
    }

/* Bitwise reductions are named by width and take signed integers under those names only. */
#define DEFINE_BITWISE(NAME, name, type, bits)                                                                         \
    DEFINE(and, name, type, shmem_##bits##_and_reduce)                                                                 \
    DEFINE(or, name, type, shmem_##bits##_or_reduce)                                                                   \
    DEFINE(xor, name, type, shmem_##bits##_xor_reduce)
#define DEFINE_ORDERED(NAME, name, type, bits)                                                                         \
    DEFINE(max, name, type, shmem_##name##_max_reduce)                                                                 \
    DEFINE(min, name, type, shmem_##name##_min_reduce)
#define DEFINE_ARITHMETIC(NAME, name, type, bits)                                                                      \
    DEFINE(sum, name, type, shmem_##name##_sum_reduce)                                                                 \
    DEFINE(prod, name, type, shmem_##name##_prod_reduce)

INTEGERS(DEFINE_BITWISE)
ORDERED(DEFINE_ORDERED)
ORDERED(DEFINE_ARITHMETIC)
COMPLEXES(DEFINE_ARITHMETIC)

reduce_function *const native_reductions[REDUCTION_COUNT][ELEMENT_COUNT] = {
    [REDUCTION_AND] = {INTEGERS(ENTRY_AND)},
    [REDUCTION_OR] = {INTEGERS(ENTRY_OR)},
    [REDUCTION_XOR] = {INTEGERS(ENTRY_XOR)},
    [REDUCTION_MAX] = {ORDERED(ENTRY_MAX)},
    [REDUCTION_MIN] = {ORDERED(ENTRY_MIN)},
    [REDUCTION_SUM] = {ORDERED(ENTRY_SUM) COMPLEXES(ENTRY_SUM)},
    [REDUCTION_PROD] = {ORDERED(ENTRY_PROD) COMPLEXES(ENTRY_PROD)},
};

int native_broadcast(void *target, const void *source, size_t bytes, int root)
{
    shmem_broadcastmem(SHMEM_TEAM_WORLD, target, source, bytes, root);
    return 0;
}

int native_fcollect(void *target, const void *source, size_t bytes)
{
    shmem_fcollectmem(SHMEM_TEAM_WORLD, target, source, bytes);
    return 0;
}

int native_alltoall(void *target, const void *source, size_t bytes)
{
    shmem_alltoallmem(SHMEM_TEAM_WORLD, target, source, bytes);
    return 0;
}

int native_attach(struct message *message)
{
    (void)message;
    return 0;
}

void native_detach(void) {}

#else
typedef int nothing_without_teams; /* ISO C wants a declaration in every file */
#endif
