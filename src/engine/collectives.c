/*
 * Collectives on teams: the engine's own where it has one for the case, else the one we supply; and before both the
 * one for a few bytes in memory that all members share.
 */
#define _GNU_SOURCE
#include "../state.h"
#include "collectives.h"
#include "near.h"

/* What the engine did, or else the supplied form. */
#define NATIVE_OR(native, supplied)                                                                                    \
    switch (native) {                                                                                                  \
    case NATIVE_DONE:                                                                                                  \
        return 0;                                                                                                      \
    case NATIVE_FAILED:                                                                                                \
        return -1;                                                                                                     \
    default:                                                                                                           \
        supplied;                                                                                                      \
        return 0;                                                                                                      \
    }

int engine_broadcast(struct team *team, void *target, const void *source, size_t bytes, int root)
{
    if (bytes == 0)
        return 0;
    NATIVE_OR(native_broadcast(team, target, source, bytes, root),
              supplied_broadcast(team, target, source, bytes, root))
}

uint64_t engine_collected_count(struct team *team, size_t count)
{
    /* Two words in turn: when a member comes for the next time, all have read the one before. */
    uint64_t *word = &team_area(team)->words[COLLECT_WORD + team->collects++ % 2], theirs, sum = 0;
    *word = count;
    engine_team_sync(team);
    for (int pe = 0; pe < team->size; pe++) {
        shmem_getmem(&theirs, word, sizeof theirs, team->members[pe]);
        sum += theirs;
    }
    return sum;
}

/* Members may bring different amounts, and none at all. */
int engine_collect(struct team *team, void *target, const void *source, size_t count, size_t element_bytes)
{
    NATIVE_OR(native_collect(team, target, source, count, element_bytes),
              supplied_collect(team, target, source, count * element_bytes))
}

int engine_fcollect(struct team *team, void *target, const void *source, size_t bytes)
{
    if (bytes == 0)
        return 0;
    NATIVE_OR(native_fcollect(team, target, source, bytes), supplied_fcollect(team, target, source, bytes))
}

int engine_alltoall(struct team *team, void *target, const void *source, size_t bytes)
{
    if (bytes == 0)
        return 0;
    NATIVE_OR(native_alltoall(team, target, source, bytes), supplied_alltoall(team, target, source, bytes))
}

int engine_alltoalls(struct team *team, void *target, const void *source, ptrdiff_t target_stride,
                     ptrdiff_t source_stride, size_t count, size_t element_bytes)
{
    if (count == 0)
        return 0;
    NATIVE_OR(native_alltoalls(team, target, source, target_stride, source_stride, count, element_bytes),
              supplied_alltoalls(team, target, source, target_stride, source_stride, count, element_bytes))
}

bool engine_can_reduce(enum reduction reduction, enum element element)
{
    return supplied_combination(reduction, element) != NULL;
}

int engine_reduce(struct team *team, enum reduction reduction, enum element element, void *target, const void *source,
                  size_t count)
{
    size_t bytes = count * engine_element_bytes(element);
    if (count == 0)
        return 0;
    if (near_can_reduce(team, bytes)) {
        near_reduce(team, supplied_combination(reduction, element), target, source, count, bytes);
        return 0;
    }
    NATIVE_OR(native_reduce(team, reduction, element, target, source, count),
              return supplied_reduce(team, reduction, element, target, source, count))
}

int engine_scan(struct team *team, enum element element, void *target, const void *source, size_t count, bool inclusive)
{
    return count == 0 ? 0 : supplied_scan(team, element, target, source, count, inclusive);
}
