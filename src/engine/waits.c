/*
 * Looking at local variables that other PEs write, and waiting for them.  Stands
 * on the engine for progress only.
 */
#include "waits.h"

#include "corrections.h"

#include <sched.h>

enum {
    LOOKS_ALONE = 1000,     /* at first without the engine, which is slower than PEs that share memory */
    LOOKS_BEFORE_YIELD = 64 /* a PE that shares its core lets the one it waits for run */
};

/* The comparison is ours, on a volatile read, so that every type can be waited for. */
#define DEFINE_TEST(NAME, name, type, bits)                                                                            \
    static int satisfies_##name(void *variable, int comparison, const union scalar *value)                             \
    {                                                                                                                  \
        type now = *(volatile type *)variable, than = value->as_##name;                                                \
        switch (comparison) {                                                                                          \
        case SHMEM_CMP_EQ:                                                                                             \
            return now == than;                                                                                        \
        case SHMEM_CMP_NE:                                                                                             \
            return now != than;                                                                                        \
        case SHMEM_CMP_GT:                                                                                             \
            return now > than;                                                                                         \
        case SHMEM_CMP_LE:                                                                                             \
            return now <= than;                                                                                        \
        case SHMEM_CMP_LT:                                                                                             \
            return now < than;                                                                                         \
        default:                                                                                                       \
            return now >= than;                                                                                        \
        }                                                                                                              \
    }                                                                                                                  \
    static int test_##name(void *variable, int comparison, const union scalar *value)                                  \
    {                                                                                                                  \
        if (!satisfies_##name(variable, comparison, value)) {                                                          \
            engine_drive_progress();                                                                                   \
            if (!satisfies_##name(variable, comparison, value))                                                        \
                return 0;                                                                                              \
        }                                                                                                              \
        /* What was written before the flag must be seen after it. */                                                  \
        __atomic_thread_fence(__ATOMIC_ACQUIRE);                                                                       \
        return 1;                                                                                                      \
    }

ORDERED(DEFINE_TEST)

#define ENTRY_TEST(NAME, name, type, bits) [ELEMENT_##NAME] = test_##name,

test_function *const engine_tests[ELEMENT_COUNT] = {ORDERED(ENTRY_TEST)};

void wait_at_least(uint64_t *word, uint64_t value)
{
    union scalar least = {.as_ulong = value};
    for (int look = 0; look < LOOKS_ALONE; look++)
        if (__atomic_load_n(word, __ATOMIC_ACQUIRE) >= value)
            return;
    for (unsigned look = 1; !test_ulong(word, SHMEM_CMP_GE, &least); look++)
        if (look % LOOKS_BEFORE_YIELD == 0)
            sched_yield();
}
