/*
 * The engine's own collectives where it has OpenSHMEM 1.4: on the active set of
 * all PEs, with symmetric work areas that must not be reused while another PE
 * may still be in them.  The same functions stand in native_teams.c for 1.5.
 */
#define _GNU_SOURCE
#include "has.h"
#if !ENGINE_HAS_TEAMS

#include "../state.h"
#include "collectives.h"


enum { SYNC_WORDS = 128, WORK_BYTES = 16384, RING = 16, PAIR = 2, AREAS = RING + PAIR };

_Static_assert((int)SYNC_WORDS >= (int)SHMEM_REDUCE_SYNC_SIZE, "work area too small for reductions");
_Static_assert((int)SYNC_WORDS >= (int)SHMEM_COLLECT_SYNC_SIZE, "work area too small for collects");
_Static_assert((int)SYNC_WORDS >= (int)SHMEM_ALLTOALL_SYNC_SIZE, "work area too small for exchanges");
_Static_assert((int)SYNC_WORDS >= (int)SHMEM_BCAST_SYNC_SIZE, "work area too small for broadcasts");
_Static_assert(WORK_BYTES >= SHMEM_REDUCE_MIN_WRKDATA_SIZE * sizeof(long double _Complex), "work area too small");

struct work_area {
    long sync[SYNC_WORDS];
    char data[WORK_BYTES];
};

/* A ring of areas, of which those from the oldest to the next may be in use on another PE; when it is full, all meet. */
static struct work_area *next_area(void)
{
    struct engine_state *state = &library.engine;
    struct work_area *area = (struct work_area *)state->work_areas + state->next_area;
    int after = (state->next_area + 1) % RING;
    if (after == state->oldest_area) {
        shmem_sync_all();
        state->oldest_area = state->next_area;
    }
    state->next_area = after;
    return area;
}

/*
 * For a collective that brings something from every PE, two areas in turn: who is
 * through it knows that all have left those before it, in the ring as well.  Two
 * stay in the processor's cache.
 */
static struct work_area *next_of_pair(void)
{
    struct engine_state *state = &library.engine;
    return (struct work_area *)state->work_areas + RING + state->pair_turn++ % PAIR;
}

static void heard_from_all(void) { library.engine.oldest_area = library.engine.next_area; }

int native_attach(struct message *message)
{
    struct work_area *area = engine()->malloc(AREAS * sizeof *area);
    if (!area) {
        message_set(message, "the symmetric heap has no room for the %zu bytes that collectives work in",
                    AREAS * sizeof *area);
        return -1;
    }
    for (int i = 0; i < AREAS; i++)
        for (int word = 0; word < SYNC_WORDS; word++)
            area[i].sync[word] = SHMEM_SYNC_VALUE;
    library.engine.work_areas = area;
    library.engine.next_area = library.engine.oldest_area = 0;
    shmem_barrier_all();
    return 0;
}

void native_detach(void)
{
    if (library.engine.work_areas)
        engine()->free(library.engine.work_areas);
    library.engine.work_areas = NULL;
}

/* The work data must hold count/2+1 elements, so long arrays go in pieces. */
#define DEFINE(operation, name, type)                                                                                  \
    static void operation##_##name(void *target, const void *source, size_t count)                                     \
    {                                                                                                                  \
        const size_t piece = 2 * (WORK_BYTES / sizeof(type) - 1);                                                      \
        for (size_t done = 0; done < count; done += piece) {                                                           \
            struct work_area *area = next_of_pair();                                                                   \
            size_t now = count - done < piece ? count - done : piece;                                                  \
            shmem_##name##_##operation##_to_all((type *)target + done, (const type *)source + done, (int)now, 0, 0,    \
                                                library.engine.n_pes, (void *)area->data, area->sync);                 \
            heard_from_all();                                                                                          \
        }                                                                                                              \
    }

/* The types for which 1.4 has reductions. */
#define SIGNED_INTEGERS_1_4(X) X(SHORT, short, short) X(INT, int, int) X(LONG, long, long)                             \
    X(LONGLONG, longlong, long long)
#define REALS_1_4(X) X(FLOAT, float, float) X(DOUBLE, double, double) X(LONGDOUBLE, longdouble, long double)
#define COMPLEXES_1_4(X) X(COMPLEXF, complexf, float _Complex) X(COMPLEXD, complexd, double _Complex)

#define DEFINE_BITWISE(NAME, name, type) DEFINE(and, name, type) DEFINE(or, name, type) DEFINE(xor, name, type)
#define DEFINE_ORDERED(NAME, name, type) DEFINE(max, name, type) DEFINE(min, name, type)
#define DEFINE_ARITHMETIC(NAME, name, type) DEFINE(sum, name, type) DEFINE(prod, name, type)

SIGNED_INTEGERS_1_4(DEFINE_BITWISE)
SIGNED_INTEGERS_1_4(DEFINE_ORDERED)
REALS_1_4(DEFINE_ORDERED)
SIGNED_INTEGERS_1_4(DEFINE_ARITHMETIC)
REALS_1_4(DEFINE_ARITHMETIC)
COMPLEXES_1_4(DEFINE_ARITHMETIC)

typedef void reduce_function(void *target, const void *source, size_t count);

static reduce_function *const reductions[REDUCTION_COUNT][ELEMENT_COUNT] = {
    [REDUCTION_AND] = {SIGNED_INTEGERS_1_4(ENTRY_AND)},
    [REDUCTION_OR] = {SIGNED_INTEGERS_1_4(ENTRY_OR)},
    [REDUCTION_XOR] = {SIGNED_INTEGERS_1_4(ENTRY_XOR)},
    [REDUCTION_MAX] = {SIGNED_INTEGERS_1_4(ENTRY_MAX) REALS_1_4(ENTRY_MAX)},
    [REDUCTION_MIN] = {SIGNED_INTEGERS_1_4(ENTRY_MIN) REALS_1_4(ENTRY_MIN)},
    [REDUCTION_SUM] = {SIGNED_INTEGERS_1_4(ENTRY_SUM) REALS_1_4(ENTRY_SUM) COMPLEXES_1_4(ENTRY_SUM)},
    [REDUCTION_PROD] = {SIGNED_INTEGERS_1_4(ENTRY_PROD) REALS_1_4(ENTRY_PROD) COMPLEXES_1_4(ENTRY_PROD)},
};

enum native native_reduce(struct team *team, enum reduction reduction, enum element element, void *target,
                          const void *source, size_t count)
{
    reduce_function *function = reductions[reduction][element];
    if (!function || !team_is_world(team))
        return NATIVE_NONE;
    function(target, source, count);
    return NATIVE_DONE;
}

/* Blocks go as 4- or 8-byte words where their size and place allow it; 0: they do not. */
static size_t word_bytes(const struct team *team, const void *target, const void *source, size_t bytes)
{
    uintptr_t bits = (uintptr_t)target | (uintptr_t)source | bytes;
    return !team_is_world(team) ? 0 : bits % 8 == 0 ? 8 : bits % 4 == 0 ? 4 : 0;
}

enum native native_broadcast(struct team *team, void *target, const void *source, size_t bytes, int root)
{
    size_t word = word_bytes(team, target, source, bytes);
    if (!word)
        return NATIVE_NONE;
    (word == 8 ? shmem_broadcast64 : shmem_broadcast32)(target, source, bytes / word, root, 0, 0,
                                                        library.engine.n_pes, next_area()->sync);
    /* 1.4 leaves the root's own target alone; 1.5 fills it. */
    if (library.engine.my_pe == root && target != source)
        memmove(target, source, bytes);
    return NATIVE_DONE;
}

#define DEFINE_EXCHANGE(name)                                                                                          \
    enum native native_##name(struct team *team, void *target, const void *source, size_t bytes)                       \
    {                                                                                                                  \
        size_t word = word_bytes(team, target, source, bytes);                                                         \
        if (!word)                                                                                                     \
            return NATIVE_NONE;                                                                                        \
        (word == 8 ? shmem_##name##64 : shmem_##name##32)(target, source, bytes / word, 0, 0, library.engine.n_pes,    \
                                                          next_of_pair()->sync);                                       \
        heard_from_all();                                                                                              \
        return NATIVE_DONE;                                                                                            \
    }

DEFINE_EXCHANGE(fcollect)
DEFINE_EXCHANGE(alltoall)

/* The amounts differ between PEs, so that only the size of an element can decide, which does not. */
enum native native_collect(struct team *team, void *target, const void *source, size_t count, size_t element_bytes)
{
    size_t word = word_bytes(team, target, source, element_bytes);
    if (!word)
        return NATIVE_NONE;
    (word == 8 ? shmem_collect64 : shmem_collect32)(target, source, count * (element_bytes / word), 0, 0,
                                                    library.engine.n_pes, next_area()->sync);
    return NATIVE_DONE;
}

enum native native_alltoalls(struct team *team, void *target, const void *source, ptrdiff_t target_stride,
                             ptrdiff_t source_stride, size_t count, size_t element_bytes)
{
    size_t word = word_bytes(team, target, source, element_bytes);
    if (word != element_bytes)
        return NATIVE_NONE;
    (word == 8 ? shmem_alltoalls64 : shmem_alltoalls32)(target, source, target_stride, source_stride, count, 0, 0,
                                                        library.engine.n_pes, next_of_pair()->sync);
    heard_from_all();
    return NATIVE_DONE;
}

#else
typedef int nothing_without_active_sets; /* ISO C wants a declaration in every file */
#endif
