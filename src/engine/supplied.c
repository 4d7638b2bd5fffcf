/*
 * What an engine lacks: collectives on any team, of any number of bytes and any
 * type, made from puts, gets and the meetings of teams.c.
 *
 * As in the specification, the caller has seen to it that targets may be
 * written on entry.  Members turn to the others from the next one on, so that
 * not all of them write to the same one at the same time.
 */
#define _GNU_SOURCE
#include "../state.h"
#include "collectives.h"

#include <stdlib.h>

static int next_member(const struct team *team, int step) { return (team->me + step) % team->size; }

void supplied_broadcast(struct team *team, void *target, const void *source, size_t bytes, int root)
{
    if (team->me == root)
        for (int step = 1; step <= team->size; step++)
            shmem_putmem(target, source, bytes, team->members[next_member(team, step)]);
    team_barrier(team);
}

void supplied_fcollect(struct team *team, void *target, const void *source, size_t bytes)
{
    char *mine = (char *)target + (size_t)team->me * bytes;
    for (int step = 1; step <= team->size; step++)
        shmem_putmem(mine, source, bytes, team->members[next_member(team, step)]);
    team_barrier(team);
}

/* Each tells how much it brings; the sum of those before it is where its part begins. */
void supplied_collect(struct team *team, void *target, const void *source, size_t bytes)
{
    struct team_area *area = team_area(team);
    uint64_t before = 0, theirs;
    area->words[0] = bytes;
    engine_team_sync(team);
    for (int pe = 0; pe < team->me; pe++) {
        shmem_getmem(&theirs, area->words, sizeof theirs, team->members[pe]);
        before += theirs;
    }
    if (bytes > 0)
        for (int step = 1; step <= team->size; step++)
            shmem_putmem((char *)target + before, source, bytes, team->members[next_member(team, step)]);
    team_barrier(team);
}

void supplied_alltoall(struct team *team, void *target, const void *source, size_t bytes)
{
    char *mine = (char *)target + (size_t)team->me * bytes;
    for (int step = 1; step <= team->size; step++) {
        int pe = next_member(team, step);
        shmem_putmem(mine, (const char *)source + (size_t)pe * bytes, bytes, team->members[pe]);
    }
    team_barrier(team);
}

void supplied_alltoalls(struct team *team, void *target, const void *source, ptrdiff_t target_stride,
                        ptrdiff_t source_stride, size_t count, size_t element_bytes)
{
    ptrdiff_t block = (ptrdiff_t)(count * element_bytes);
    for (int step = 1; step <= team->size; step++) {
        int pe = next_member(team, step);
        engine_iput(SHMEM_CTX_DEFAULT, (char *)target + team->me * block * target_stride,
                    (const char *)source + pe * block * source_stride, target_stride, source_stride, count,
                    element_bytes, team->members[pe]);
    }
    team_barrier(team);
}

#define DEFINE(operation, name, type, expression)                                                                      \
    static void operation##_##name(void *into, const void *from, size_t count)                                         \
    {                                                                                                                  \
        type *a = into;                                                                                                \
        const type *b = from;                                                                                          \
        for (size_t i = 0; i < count; i++)                                                                             \
            a[i] = (type)(expression);                                                                                 \
    }

#define DEFINE_BITWISE(NAME, name, type, bits)                                                                         \
    DEFINE(and, name, type, a[i] & b[i]) DEFINE(or, name, type, a[i] | b[i]) DEFINE(xor, name, type, a[i] ^ b[i])
#define DEFINE_ORDERED(NAME, name, type, bits)                                                                         \
    DEFINE(max, name, type, a[i] > b[i] ? a[i] : b[i]) DEFINE(min, name, type, a[i] < b[i] ? a[i] : b[i])
#define DEFINE_ARITHMETIC(NAME, name, type, bits)                                                                      \
    DEFINE(sum, name, type, a[i] + b[i]) DEFINE(prod, name, type, a[i] *b[i])
/* Integers wrap, which in C only unsigned arithmetic may do; narrow ones must not be promoted to a signed int. */
#define DEFINE_WRAPPING(NAME, name, type, bits)                                                                        \
    DEFINE(sum, name, type, (unsigned long long)a[i] + (unsigned long long)b[i])                                       \
    DEFINE(prod, name, type, (unsigned long long)a[i] * (unsigned long long)b[i])

INTEGERS(DEFINE_BITWISE)
ORDERED(DEFINE_ORDERED)
INTEGERS(DEFINE_WRAPPING)
REALS(DEFINE_ARITHMETIC)
ALL_COMPLEXES(DEFINE_ARITHMETIC)

#define ENTRY_BYTES(NAME, name, type, bits) [ELEMENT_##NAME] = sizeof(type),

static combine_function *const combinations[REDUCTION_COUNT][ELEMENT_COUNT] = {
    [REDUCTION_AND] = {INTEGERS(ENTRY_AND)},
    [REDUCTION_OR] = {INTEGERS(ENTRY_OR)},
    [REDUCTION_XOR] = {INTEGERS(ENTRY_XOR)},
    [REDUCTION_MAX] = {ORDERED(ENTRY_MAX)},
    [REDUCTION_MIN] = {ORDERED(ENTRY_MIN)},
    [REDUCTION_SUM] = {ELEMENTS(ENTRY_SUM)},
    [REDUCTION_PROD] = {ELEMENTS(ENTRY_PROD)},
};

size_t engine_element_bytes(enum element element)
{
    static const size_t bytes[ELEMENT_COUNT] = {ELEMENTS(ENTRY_BYTES)};
    return bytes[element];
}

combine_function *supplied_combination(enum reduction reduction, enum element element)
{
    return combinations[reduction][element];
}

/* A piece of all sources, combined in the order of the members' numbers, so that all get the same bits. */
static void combine_piece(const struct team *team, combine_function *combine, char *result, char *other,
                          const char *source, size_t bytes, size_t count, int from, int to)
{
    for (int pe = from; pe < to; pe++) {
        shmem_getmem(pe == from ? result : other, source, bytes, team->members[pe]);
        if (pe > from)
            combine(result, other, count);
    }
}

/*
 * Each member combines one piece and gives it to all, so that none moves more
 * than twice the array.  The target may be the source, which is why nobody
 * writes before all have read.
 */
int supplied_reduce(struct team *team, enum reduction reduction, enum element element, void *target,
                    const void *source, size_t count)
{
    size_t bytes = engine_element_bytes(element), piece = (count + (size_t)team->size - 1) / (size_t)team->size;
    size_t first = piece * (size_t)team->me, mine = first >= count ? 0 : count - first < piece ? count - first : piece;
    char *result = malloc(2 * mine * bytes + 1);
    engine_team_sync(team);
    if (result)
        combine_piece(team, combinations[reduction][element], result, result + mine * bytes,
                      (const char *)source + first * bytes, mine * bytes, mine, 0, team->size);
    engine_team_sync(team);
    if (result && mine > 0)
        for (int step = 1; step <= team->size; step++)
            shmem_putmem((char *)target + first * bytes, result, mine * bytes,
                         team->members[next_member(team, step)]);
    team_barrier(team);
    free(result);
    return result ? 0 : -1;
}

/* Sums over the members before this one, and of this one itself if inclusive. */
int supplied_scan(struct team *team, enum element element, void *target, const void *source, size_t count,
                  bool inclusive)
{
    size_t bytes = count * engine_element_bytes(element);
    char *result = calloc(2, bytes);
    engine_team_sync(team);
    if (result)
        combine_piece(team, combinations[REDUCTION_SUM][element], result, result + bytes, source, bytes, count, 0,
                      team->me + inclusive);
    engine_team_sync(team);
    if (result)
        memcpy(target, result, bytes);
    free(result);
    return result ? 0 : -1;
}
