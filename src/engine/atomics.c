/*
 * Atomics and tests, one entry per operation and C type, made from the lists of
 * elements.h.  Stands on the engine's typed functions, all of OpenSHMEM 1.4.
 */
#include "engine.h"

#define DEFINE_SET(NAME, name, type, bits)                                                                             \
    static void set_##name(shmem_ctx_t context, void *target, const union scalar *value, union scalar *result, int pe) \
    {                                                                                                                  \
        (void)result;                                                                                                  \
        shmem_ctx_##name##_atomic_set(context, target, value->as_##name, pe);                                          \
    }

#define DEFINE_FETCH(NAME, name, type, bits)                                                                           \
    static void fetch_##name(shmem_ctx_t context, void *target, const union scalar *value, union scalar *result,       \
                             int pe)                                                                                   \
    {                                                                                                                  \
        (void)value;                                                                                                   \
        result->as_##name = shmem_ctx_##name##_atomic_fetch(context, target, pe);                                      \
    }

#define DEFINE_INC(NAME, name, type, bits)                                                                             \
    static void inc_##name(shmem_ctx_t context, void *target, const union scalar *value, union scalar *result, int pe) \
    {                                                                                                                  \
        (void)value, (void)result;                                                                                     \
        shmem_ctx_##name##_atomic_inc(context, target, pe);                                                            \
    }

#define DEFINE_ADD(NAME, name, type, bits)                                                                             \
    static void add_##name(shmem_ctx_t context, void *target, const union scalar *value, union scalar *result, int pe) \
    {                                                                                                                  \
        (void)result;                                                                                                  \
        shmem_ctx_##name##_atomic_add(context, target, value->as_##name, pe);                                          \
    }

#define DEFINE_FETCH_ADD(NAME, name, type, bits)                                                                       \
    static void fetch_add_##name(shmem_ctx_t context, void *target, const union scalar *value, union scalar *result,   \
                                 int pe)                                                                               \
    {                                                                                                                  \
        result->as_##name = shmem_ctx_##name##_atomic_fetch_add(context, target, value->as_##name, pe);                \
    }

ATOMIC_INTEGERS(DEFINE_SET)
ATOMIC_REALS(DEFINE_SET)
ATOMIC_INTEGERS(DEFINE_FETCH)
ATOMIC_REALS(DEFINE_FETCH)
ATOMIC_INTEGERS(DEFINE_INC)
ATOMIC_INTEGERS(DEFINE_ADD)
ATOMIC_INTEGERS(DEFINE_FETCH_ADD)

#define ENTRY_SET(NAME, name, type, bits) [ELEMENT_##NAME] = set_##name,
#define ENTRY_FETCH(NAME, name, type, bits) [ELEMENT_##NAME] = fetch_##name,
#define ENTRY_INC(NAME, name, type, bits) [ELEMENT_##NAME] = inc_##name,
#define ENTRY_ADD(NAME, name, type, bits) [ELEMENT_##NAME] = add_##name,
#define ENTRY_FETCH_ADD(NAME, name, type, bits) [ELEMENT_##NAME] = fetch_add_##name,

atomic_function *const engine_atomics[ATOMIC_COUNT][ELEMENT_COUNT] = {
    [ATOMIC_SET] = {ATOMIC_INTEGERS(ENTRY_SET) ATOMIC_REALS(ENTRY_SET)},
    [ATOMIC_INC] = {ATOMIC_INTEGERS(ENTRY_INC)},
    [ATOMIC_ADD] = {ATOMIC_INTEGERS(ENTRY_ADD)},
    [ATOMIC_FETCH] = {ATOMIC_INTEGERS(ENTRY_FETCH) ATOMIC_REALS(ENTRY_FETCH)},
    [ATOMIC_FETCH_ADD] = {ATOMIC_INTEGERS(ENTRY_FETCH_ADD)},
};

/*
 * The comparison is ours, on a volatile read, so that every type can be waited
 * for; the engine's own test on a variable of its choice only drives progress.
 */
static void drive_progress(void)
{
    int settled = 0;
    (void)shmem_int_test(&settled, SHMEM_CMP_EQ, 1);
}

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
            drive_progress();                                                                                          \
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
