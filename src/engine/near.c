/*
 * Small reductions of PEs that share memory.  What an engine does for a few
 * bytes is mostly waiting for messages on their way through its layers; here
 * each member stores its elements, and the number of the reduction behind them
 * in the same cache line, where each other member looks for them.  One way
 * through the memory, and no other meeting.  Stands on teams.c.
 *
 * There are two lines for each member in turn: who has a member's elements of
 * one reduction knows that this member has read all those of the one before.
 */
#define _GNU_SOURCE
#include "near.h"

#include "../state.h"
#include "waits.h"

enum { NOTE_BYTES = CACHE_LINE - sizeof(uint64_t) };

struct note {
    _Alignas(CACHE_LINE) char elements[NOTE_BYTES];
    uint64_t number; /* of the reduction that they are for; written last */
};

struct near_area {
    struct note note[2][NEAR_MEMBERS]; /* by turn and by member that writes */
};

_Static_assert(sizeof(struct note) == CACHE_LINE, "a note is one cache line");

void near_join(struct team *team)
{
    if (!near_together())
        return;
    for (int64_t round = 0, distance = 1; distance < team->size; round++, distance *= 2)
        team->further[round] = shmem_ptr(team_area(team), team->members[(team->me + distance) % team->size]);
    if (team->size > NEAR_MEMBERS)
        return;
    struct near_area *area = &library.engine.near_areas[team->slot];
    memset(area, 0, sizeof *area);
    for (int pe = 0; pe < team->size; pe++)
        team->near[pe] = shmem_ptr(area, team->members[pe]);
}

bool near_together(void) { return library.engine.near_areas != NULL; }

/* Does every PE reach every other by loads and stores? */
static bool all_share_memory(void)
{
    const struct engine_state *state = &library.engine;
    long *words = (long *)team_area(state->world)->words;
    words[0] = state->shared->size == state->n_pes;
    shmem_sync_all();
    engine_reduce(state->world, REDUCTION_MIN, ELEMENT_LONG, &words[1], &words[0], 1);
    return words[1] == 1;
}

void near_attach(void)
{
    struct engine_state *state = &library.engine;
    if (!all_share_memory())
        return;
    state->near_areas = engine()->align(CACHE_LINE, TEAM_LIMIT * sizeof(struct near_area));
    if (!state->near_areas)
        return; /* on all PEs alike, and the engine's reductions do */
    near_join(state->world);
    near_join(state->shared);
    shmem_barrier_all(); /* nobody writes to another's before it is cleared */
}

void near_detach(void)
{
    if (library.engine.near_areas)
        engine()->free(library.engine.near_areas);
    library.engine.near_areas = NULL;
}

bool near_can_reduce(const struct team *team, size_t bytes) { return team->near[0] && bytes <= NOTE_BYTES; }

static void tell_others(struct team *team, const void *source, size_t bytes)
{
    for (int step = 1; step < team->size; step++) {
        struct note *note = &team->near[(team->me + step) % team->size]->note[team->near_reductions % 2][team->me];
        memcpy(note->elements, source, bytes);
        __atomic_store_n(&note->number, team->near_reductions, __ATOMIC_RELEASE);
    }
}

/* The elements of a member, as soon as it has told them. */
static const void *elements_of(struct team *team, int pe)
{
    struct note *note = &team->near[team->me]->note[team->near_reductions % 2][pe];
    wait_at_least(&note->number, team->near_reductions);
    return note->elements;
}

/* In the order of the members' numbers, so that all get the same bits.  The target may be the source. */
void near_reduce(struct team *team, combine_function *combine, void *target, const void *source, size_t count,
                 size_t bytes)
{
    _Alignas(max_align_t) char result[NOTE_BYTES];
    team->near_reductions++;
    tell_others(team, source, bytes);
    for (int pe = 0; pe < team->size; pe++) {
        const void *theirs = pe == team->me ? source : elements_of(team, pe);
        if (pe == 0)
            memcpy(result, theirs, bytes);
        else
            combine(result, theirs, count);
    }
    memcpy(target, result, bytes);
}
