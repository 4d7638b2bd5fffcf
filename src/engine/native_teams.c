/*
 * The engine's own collectives where it has OpenSHMEM 1.5, on the teams that it
 * has made.  The same functions stand in native_active_set.c for 1.4.
 */
#include "has.h"
#if ENGINE_HAS_TEAMS

#include "collectives.h"

static bool is_native(const struct team *team) { return team->native != SHMEM_TEAM_INVALID; }

static enum native outcome(int status) { return status == 0 ? NATIVE_DONE : NATIVE_FAILED; }

typedef int reduce_function(shmem_team_t team, void *target, const void *source, size_t count);

#define DEFINE(operation, name, function)                                                                              \
    static int operation##_##name(shmem_team_t team, void *target, const void *source, size_t count)                   \
    {                                                                                                                  \
        return function(team, target, source, count);                                                                  \
    }

/* Bitwise reductions are named by width and take signed integers under those names only. */
#define DEFINE_BITWISE(NAME, name, type, bits)                                                                         \
    DEFINE(and, name, shmem_##bits##_and_reduce)                                                                       \
    DEFINE(or, name, shmem_##bits##_or_reduce)                                                                         \
    DEFINE(xor, name, shmem_##bits##_xor_reduce)
#define DEFINE_ORDERED(NAME, name, type, bits)                                                                         \
    DEFINE(max, name, shmem_##name##_max_reduce)                                                                       \
    DEFINE(min, name, shmem_##name##_min_reduce)
#define DEFINE_ARITHMETIC(NAME, name, type, bits)                                                                      \
    DEFINE(sum, name, shmem_##name##_sum_reduce)                                                                       \
    DEFINE(prod, name, shmem_##name##_prod_reduce)

INTEGERS(DEFINE_BITWISE)
ORDERED(DEFINE_ORDERED)
ORDERED(DEFINE_ARITHMETIC)
COMPLEXES(DEFINE_ARITHMETIC)

static reduce_function *const reductions[REDUCTION_COUNT][ELEMENT_COUNT] = {
    [REDUCTION_AND] = {INTEGERS(ENTRY_AND)},
    [REDUCTION_OR] = {INTEGERS(ENTRY_OR)},
    [REDUCTION_XOR] = {INTEGERS(ENTRY_XOR)},
    [REDUCTION_MAX] = {ORDERED(ENTRY_MAX)},
    [REDUCTION_MIN] = {ORDERED(ENTRY_MIN)},
    [REDUCTION_SUM] = {ORDERED(ENTRY_SUM) COMPLEXES(ENTRY_SUM)},
    [REDUCTION_PROD] = {ORDERED(ENTRY_PROD) COMPLEXES(ENTRY_PROD)},
};

enum native native_reduce(struct team *team, enum reduction reduction, enum element element, void *target,
                          const void *source, size_t count)
{
    reduce_function *function = reductions[reduction][element];
    return function && is_native(team) ? outcome(function(team->native, target, source, count)) : NATIVE_NONE;
}

enum native native_broadcast(struct team *team, void *target, const void *source, size_t bytes, int root)
{
    return is_native(team) ? outcome(shmem_broadcastmem(team->native, target, source, bytes, root)) : NATIVE_NONE;
}

enum native native_collect(struct team *team, void *target, const void *source, size_t count, size_t element_bytes)
{
    return is_native(team) ? outcome(shmem_collectmem(team->native, target, source, count * element_bytes))
                           : NATIVE_NONE;
}

enum native native_fcollect(struct team *team, void *target, const void *source, size_t bytes)
{
    return is_native(team) ? outcome(shmem_fcollectmem(team->native, target, source, bytes)) : NATIVE_NONE;
}

enum native native_alltoall(struct team *team, void *target, const void *source, size_t bytes)
{
    return is_native(team) ? outcome(shmem_alltoallmem(team->native, target, source, bytes)) : NATIVE_NONE;
}

enum native native_alltoalls(struct team *team, void *target, const void *source, ptrdiff_t target_stride,
                             ptrdiff_t source_stride, size_t count, size_t element_bytes)
{
    if (!is_native(team))
        return NATIVE_NONE;
    switch (element_bytes) { /* typed only: no form has an element size of its own */
    case 1:
        return outcome(shmem_uint8_alltoalls(team->native, target, source, target_stride, source_stride, count));
    case 2:
        return outcome(shmem_uint16_alltoalls(team->native, target, source, target_stride, source_stride, count));
    case 4:
        return outcome(shmem_uint32_alltoalls(team->native, target, source, target_stride, source_stride, count));
    case 8:
        return outcome(shmem_uint64_alltoalls(team->native, target, source, target_stride, source_stride, count));
    default:
        return NATIVE_NONE;
    }
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
