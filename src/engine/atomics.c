/*
 * Atomics, one entry per operation and C type, made from the lists of
 * elements.h.  Stands on the engine's typed functions of OpenSHMEM 1.4, and on
 * its non-blocking ones where it has 1.5.
 */
#include "has.h"

#include "corrections.h"
#include "engine.h"

#include <string.h>

#define DEFINE(operation, name)                                                                                        \
    static void operation##_##name(shmem_ctx_t context, void *target, const struct operands *operands,                 \
                                   union scalar *result, int pe)

/* ---- blocking ----------------------------------------------------------------------------------------------------- */

/* Bitwise atomics are named by width (1.4), and take signed integers under those names only. */
#define DEFINE_CHANGE(operation, name, spelling)                                                                       \
    DEFINE(operation, name)                                                                                            \
    {                                                                                                                  \
        (void)result;                                                                                                  \
        shmem_ctx_##spelling##_atomic_##operation(context, target, operands->value.as_##name, pe);                     \
    }

#define DEFINE_EXCHANGE(operation, name, spelling)                                                                     \
    DEFINE(operation, name)                                                                                            \
    {                                                                                                                  \
        result->as_##name = shmem_ctx_##spelling##_atomic_##operation(context, target, operands->value.as_##name, pe); \
    }

#define CHANGE_SET(NAME, name, type, bits) DEFINE_CHANGE(set, name, name)
#define CHANGE_ADD(NAME, name, type, bits) DEFINE_CHANGE(add, name, name)
#define CHANGE_AND(NAME, name, type, bits) DEFINE_CHANGE(and, name, bits)
#define CHANGE_OR(NAME, name, type, bits) DEFINE_CHANGE(or, name, bits)
#define CHANGE_XOR(NAME, name, type, bits) DEFINE_CHANGE(xor, name, bits)
#define EXCHANGE_SWAP(NAME, name, type, bits) DEFINE_EXCHANGE(swap, name, name)
#define EXCHANGE_ADD(NAME, name, type, bits) DEFINE_EXCHANGE(fetch_add, name, name)

#define DEFINE_INC(NAME, name, type, bits)                                                                             \
    DEFINE(inc, name)                                                                                                  \
    {                                                                                                                  \
        (void)operands, (void)result;                                                                                  \
        shmem_ctx_##name##_atomic_inc(context, target, pe);                                                            \
    }

#define DEFINE_FETCH(NAME, name, type, bits)                                                                           \
    DEFINE(fetch, name)                                                                                                \
    {                                                                                                                  \
        (void)operands;                                                                                                \
        result->as_##name = shmem_ctx_##name##_atomic_fetch(context, target, pe);                                      \
    }

#define DEFINE_FETCH_INC(NAME, name, type, bits)                                                                       \
    DEFINE(fetch_inc, name)                                                                                            \
    {                                                                                                                  \
        (void)operands;                                                                                                \
        result->as_##name = shmem_ctx_##name##_atomic_fetch_inc(context, target, pe);                                  \
    }

/* An engine that cannot compare 4 bytes compares the 8 in which they lie, until nothing else in them changes. */
static uint32_t compare_swap_half(shmem_ctx_t context, void *target, uint32_t condition, uint32_t value, int pe)
{
    unsigned long *word = (unsigned long *)((uintptr_t)target & ~(uintptr_t)7), seen, before, after;
    size_t place = (uintptr_t)target & 7;
    uint32_t half;
    seen = shmem_ctx_ulong_atomic_fetch(context, word, pe);
    do {
        before = after = seen;
        memcpy(&half, (char *)&before + place, sizeof half);
        if (half != condition)
            return half;
        memcpy((char *)&after + place, &value, sizeof value);
        seen = shmem_ctx_ulong_atomic_compare_swap(context, word, before, after, pe);
    } while (seen != before);
    return condition;
}

#define DEFINE_COMPARE_SWAP(NAME, name, type, bits)                                                                    \
    static type exchange_if_##name(shmem_ctx_t context, void *target, type condition, type value, int pe)              \
    {                                                                                                                  \
        if (sizeof(type) == sizeof(uint32_t) && engine_compares_halves_wrongly())                                      \
            return (type)compare_swap_half(context, target, (uint32_t)condition, (uint32_t)value, pe);                 \
        return shmem_ctx_##name##_atomic_compare_swap(context, target, condition, value, pe);                          \
    }                                                                                                                  \
    DEFINE(compare_swap, name)                                                                                         \
    {                                                                                                                  \
        result->as_##name =                                                                                            \
            exchange_if_##name(context, target, operands->condition.as_##name, operands->value.as_##name, pe);         \
    }

/* What the engine fetches wrongly is made of compare-and-swap. */
#define DEFINE_FETCH_BITWISE(operation, name, type, bits, operator)                                                    \
    DEFINE(operation, name)                                                                                            \
    {                                                                                                                  \
        type value = operands->value.as_##name;                                                                        \
        if (!engine_fetches_bits_wrongly()) {                                                                          \
            result->as_##name = (type)shmem_ctx_##bits##_atomic_##operation(context, target, value, pe);               \
            return;                                                                                                    \
        }                                                                                                              \
        type seen = shmem_ctx_##name##_atomic_fetch(context, target, pe), before;                                      \
        do {                                                                                                           \
            before = seen;                                                                                             \
            seen = exchange_if_##name(context, target, before, (type)(before operator value), pe);                     \
        } while (seen != before);                                                                                      \
        result->as_##name = before;                                                                                    \
    }

#define FETCH_AND(NAME, name, type, bits) DEFINE_FETCH_BITWISE(fetch_and, name, type, bits, &)
#define FETCH_OR(NAME, name, type, bits) DEFINE_FETCH_BITWISE(fetch_or, name, type, bits, |)
#define FETCH_XOR(NAME, name, type, bits) DEFINE_FETCH_BITWISE(fetch_xor, name, type, bits, ^)

ATOMIC_TYPES(CHANGE_SET)
ATOMIC_TYPES(DEFINE_FETCH)
ATOMIC_TYPES(EXCHANGE_SWAP)
ATOMIC_INTEGERS(DEFINE_INC)
ATOMIC_INTEGERS(CHANGE_ADD)
ATOMIC_INTEGERS(CHANGE_AND)
ATOMIC_INTEGERS(CHANGE_OR)
ATOMIC_INTEGERS(CHANGE_XOR)
ATOMIC_INTEGERS(DEFINE_COMPARE_SWAP)
ATOMIC_INTEGERS(DEFINE_FETCH_INC)
ATOMIC_INTEGERS(EXCHANGE_ADD)
ATOMIC_INTEGERS(FETCH_AND)
ATOMIC_INTEGERS(FETCH_OR)
ATOMIC_INTEGERS(FETCH_XOR)

#define ENTRY_SET(NAME, name, type, bits) [ELEMENT_##NAME] = set_##name,
#define ENTRY_INC(NAME, name, type, bits) [ELEMENT_##NAME] = inc_##name,
#define ENTRY_ADD(NAME, name, type, bits) [ELEMENT_##NAME] = add_##name,
#define ENTRY_AND(NAME, name, type, bits) [ELEMENT_##NAME] = and_##name,
#define ENTRY_OR(NAME, name, type, bits) [ELEMENT_##NAME] = or_##name,
#define ENTRY_XOR(NAME, name, type, bits) [ELEMENT_##NAME] = xor_##name,
#define ENTRY_FETCH(NAME, name, type, bits) [ELEMENT_##NAME] = fetch_##name,
#define ENTRY_SWAP(NAME, name, type, bits) [ELEMENT_##NAME] = swap_##name,
#define ENTRY_COMPARE_SWAP(NAME, name, type, bits) [ELEMENT_##NAME] = compare_swap_##name,
#define ENTRY_FETCH_INC(NAME, name, type, bits) [ELEMENT_##NAME] = fetch_inc_##name,
#define ENTRY_FETCH_ADD(NAME, name, type, bits) [ELEMENT_##NAME] = fetch_add_##name,
#define ENTRY_FETCH_AND(NAME, name, type, bits) [ELEMENT_##NAME] = fetch_and_##name,
#define ENTRY_FETCH_OR(NAME, name, type, bits) [ELEMENT_##NAME] = fetch_or_##name,
#define ENTRY_FETCH_XOR(NAME, name, type, bits) [ELEMENT_##NAME] = fetch_xor_##name,

atomic_function *const engine_atomics[ATOMIC_COUNT][ELEMENT_COUNT] = {
    [ATOMIC_SET] = {ATOMIC_TYPES(ENTRY_SET)},
    [ATOMIC_INC] = {ATOMIC_INTEGERS(ENTRY_INC)},
    [ATOMIC_ADD] = {ATOMIC_INTEGERS(ENTRY_ADD)},
    [ATOMIC_AND] = {ATOMIC_INTEGERS(ENTRY_AND)},
    [ATOMIC_OR] = {ATOMIC_INTEGERS(ENTRY_OR)},
    [ATOMIC_XOR] = {ATOMIC_INTEGERS(ENTRY_XOR)},
    [ATOMIC_FETCH] = {ATOMIC_TYPES(ENTRY_FETCH)},
    [ATOMIC_SWAP] = {ATOMIC_TYPES(ENTRY_SWAP)},
    [ATOMIC_COMPARE_SWAP] = {ATOMIC_INTEGERS(ENTRY_COMPARE_SWAP)},
    [ATOMIC_FETCH_INC] = {ATOMIC_INTEGERS(ENTRY_FETCH_INC)},
    [ATOMIC_FETCH_ADD] = {ATOMIC_INTEGERS(ENTRY_FETCH_ADD)},
    [ATOMIC_FETCH_AND] = {ATOMIC_INTEGERS(ENTRY_FETCH_AND)},
    [ATOMIC_FETCH_OR] = {ATOMIC_INTEGERS(ENTRY_FETCH_OR)},
    [ATOMIC_FETCH_XOR] = {ATOMIC_INTEGERS(ENTRY_FETCH_XOR)},
};

/* ---- non-blocking ------------------------------------------------------------------------------------------------- */

#if ENGINE_HAS_ATOMICS_NBI

#define DEFINE_NBI(operation, name)                                                                                    \
    static void operation##_nbi_##name(shmem_ctx_t context, void *fetch, void *target,                                 \
                                       const struct operands *operands, int pe)

#define NBI_VALUE(operation, name, spelling)                                                                           \
    DEFINE_NBI(operation, name)                                                                                        \
    {                                                                                                                  \
        shmem_ctx_##spelling##_atomic_##operation##_nbi(context, fetch, target, operands->value.as_##name, pe);        \
    }
#define NBI_PLAIN(operation, name)                                                                                     \
    DEFINE_NBI(operation, name)                                                                                        \
    {                                                                                                                  \
        (void)operands;                                                                                                \
        shmem_ctx_##name##_atomic_##operation##_nbi(context, fetch, target, pe);                                       \
    }

#define NBI_FETCH(NAME, name, type, bits) NBI_PLAIN(fetch, name)
#define NBI_FETCH_INC(NAME, name, type, bits) NBI_PLAIN(fetch_inc, name)
#define NBI_SWAP(NAME, name, type, bits) NBI_VALUE(swap, name, name)
#define NBI_FETCH_ADD(NAME, name, type, bits) NBI_VALUE(fetch_add, name, name)
#define NBI_FETCH_AND(NAME, name, type, bits) NBI_VALUE(fetch_and, name, bits)
#define NBI_FETCH_OR(NAME, name, type, bits) NBI_VALUE(fetch_or, name, bits)
#define NBI_FETCH_XOR(NAME, name, type, bits) NBI_VALUE(fetch_xor, name, bits)
#define NBI_COMPARE_SWAP(NAME, name, type, bits)                                                                       \
    DEFINE_NBI(compare_swap, name)                                                                                     \
    {                                                                                                                  \
        shmem_ctx_##name##_atomic_compare_swap_nbi(context, fetch, target, operands->condition.as_##name,              \
                                                   operands->value.as_##name, pe);                                     \
    }

ATOMIC_TYPES(NBI_FETCH)
ATOMIC_TYPES(NBI_SWAP)
ATOMIC_INTEGERS(NBI_COMPARE_SWAP)
ATOMIC_INTEGERS(NBI_FETCH_INC)
ATOMIC_INTEGERS(NBI_FETCH_ADD)
ATOMIC_INTEGERS(NBI_FETCH_AND)
ATOMIC_INTEGERS(NBI_FETCH_OR)
ATOMIC_INTEGERS(NBI_FETCH_XOR)

#define ENTRY_NBI(operation, NAME, name) [ELEMENT_##NAME] = operation##_nbi_##name,
#define ENTRY_NBI_FETCH(NAME, name, type, bits) ENTRY_NBI(fetch, NAME, name)
#define ENTRY_NBI_SWAP(NAME, name, type, bits) ENTRY_NBI(swap, NAME, name)
#define ENTRY_NBI_COMPARE_SWAP(NAME, name, type, bits) ENTRY_NBI(compare_swap, NAME, name)
#define ENTRY_NBI_FETCH_INC(NAME, name, type, bits) ENTRY_NBI(fetch_inc, NAME, name)
#define ENTRY_NBI_FETCH_ADD(NAME, name, type, bits) ENTRY_NBI(fetch_add, NAME, name)
#define ENTRY_NBI_FETCH_AND(NAME, name, type, bits) ENTRY_NBI(fetch_and, NAME, name)
#define ENTRY_NBI_FETCH_OR(NAME, name, type, bits) ENTRY_NBI(fetch_or, NAME, name)
#define ENTRY_NBI_FETCH_XOR(NAME, name, type, bits) ENTRY_NBI(fetch_xor, NAME, name)

typedef void nbi_function(shmem_ctx_t context, void *fetch, void *target, const struct operands *operands, int pe);

static nbi_function *const native_nbi[ATOMIC_COUNT][ELEMENT_COUNT] = {
    [ATOMIC_FETCH] = {ATOMIC_TYPES(ENTRY_NBI_FETCH)},
    [ATOMIC_SWAP] = {ATOMIC_TYPES(ENTRY_NBI_SWAP)},
    [ATOMIC_COMPARE_SWAP] = {ATOMIC_INTEGERS(ENTRY_NBI_COMPARE_SWAP)},
    [ATOMIC_FETCH_INC] = {ATOMIC_INTEGERS(ENTRY_NBI_FETCH_INC)},
    [ATOMIC_FETCH_ADD] = {ATOMIC_INTEGERS(ENTRY_NBI_FETCH_ADD)},
    [ATOMIC_FETCH_AND] = {ATOMIC_INTEGERS(ENTRY_NBI_FETCH_AND)},
    [ATOMIC_FETCH_OR] = {ATOMIC_INTEGERS(ENTRY_NBI_FETCH_OR)},
    [ATOMIC_FETCH_XOR] = {ATOMIC_INTEGERS(ENTRY_NBI_FETCH_XOR)},
};

void engine_atomic_nbi(enum atomic atomic, enum element element, shmem_ctx_t context, void *fetch, void *target,
                       const struct operands *operands, int pe)
{
    native_nbi[atomic][element](context, fetch, target, operands, pe);
}

#else

/* A blocking atomic is one that is complete sooner than it has to be. */
void engine_atomic_nbi(enum atomic atomic, enum element element, shmem_ctx_t context, void *fetch, void *target,
                       const struct operands *operands, int pe)
{
    union scalar result;
    engine_atomics[atomic][element](context, target, operands, &result, pe);
    memcpy(fetch, &result, engine_element_bytes(element));
}

#endif
