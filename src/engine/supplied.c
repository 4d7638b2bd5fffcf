/*
 * What an engine lacks: collectives of any number of bytes and any type, made
 * from puts, gets and barriers.  Stands on OpenSHMEM 1.4's one-sided half.
 *
 * As in the specification, the caller has seen to it that targets may be
 * written on entry.
 */
#include "../state.h"
#include "collectives.h"

#include <stdlib.h>

void supplied_broadcast(void *target, const void *source, size_t bytes, int root)
{
    if (library.engine.my_pe == root)
        for (int pe = 0; pe < library.engine.n_pes; pe++)
            shmem_putmem(target, source, bytes, pe);
    shmem_barrier_all();
}

void supplied_fcollect(void *target, const void *source, size_t bytes)
{
    char *mine = (char *)target + (size_t)library.engine.my_pe * bytes;
    for (int pe = 0; pe < library.engine.n_pes; pe++)
        shmem_putmem(mine, source, bytes, pe);
    shmem_barrier_all();
}

void supplied_alltoall(void *target, const void *source, size_t bytes)
{
    char *mine = (char *)target + (size_t)library.engine.my_pe * bytes;
    for (int pe = 0; pe < library.engine.n_pes; pe++)
        shmem_putmem(mine, (const char *)source + (size_t)pe * bytes, bytes, pe);
    shmem_barrier_all();
}

typedef void combine_function(void *into, const void *from, size_t count);

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

size_t element_bytes(enum element element)
{
    static const size_t bytes[ELEMENT_COUNT] = {ELEMENTS(ENTRY_BYTES)};
    return bytes[element];
}

bool supplied_can_reduce(enum reduction reduction, enum element element)
{
    return combinations[reduction][element] != NULL;
}

/*
 * Every PE reads all sources in the order of their numbers, so that all get the
 * same bits.  The target may be the source, and is written last.
 */
int supplied_reduce(enum reduction reduction, enum element element, void *target, const void *source, size_t count)
{
    combine_function *combine = combinations[reduction][element];
    size_t bytes = count * element_bytes(element);
    char *result = malloc(2 * bytes + 1);
    shmem_barrier_all();
    if (result) {
        char *other = result + bytes;
        shmem_getmem(result, source, bytes, 0);
        for (int pe = 1; pe < library.engine.n_pes; pe++) {
            shmem_getmem(other, source, bytes, pe);
            combine(result, other, count);
        }
    }
    shmem_barrier_all();
    if (!result)
        return -1;
    memcpy(target, result, bytes);
    free(result);
    return 0;
}
