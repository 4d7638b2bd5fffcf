/*
 * Teams of any members.  The engine's own team stands behind one of ours where
 * it has made one (for its collectives); all that is asked of a team is
 * answered here, so that teams are the same on all engines.  Stands on
 * one-sided operations and on waits.c.
 *
 * Every team has an area of symmetric memory, at a place on which its members
 * agreed when it was made: the lowest that is free on all members of the parent.
 */
#define _GNU_SOURCE
#include "../state.h"
#include "near.h"
#include "notices.h"
#include "teams.h"
#include "waits.h"

#include <stdlib.h>

enum { SLOT_WORLD, SLOT_SHARED };

struct team_area *team_area(const struct team *team) { return &library.engine.team_areas[team->slot]; }

bool team_is_world(const struct team *team) { return team->slot == SLOT_WORLD; }

struct team *engine_team_world(void) { return library.engine.world; }
struct team *engine_team_shared(void) { return library.engine.shared; }
int engine_team_size(const struct team *team) { return team->size; }
int engine_team_me(const struct team *team) { return team->me; }
int engine_team_contexts(const struct team *team) { return team->contexts; }
int engine_team_world_pe(const struct team *team, int pe) { return team->members[pe]; }

int engine_team_number_of(const struct team *team, int world_pe)
{
    for (int pe = 0; pe < team->size; pe++)
        if (team->members[pe] == world_pe)
            return pe;
    return -1;
}

/* ---- meeting ------------------------------------------------------------------------------------------------------ */

/* Dissemination: in round r each tells the one 2^r further on; after log2(size) rounds each has heard of all. */
static void disseminate(struct team *team)
{
    struct team_area *area = team_area(team);
    uint64_t meeting = ++team->meetings;
    bool near = near_together();
    if (!near)
        shmem_fence(); /* no number of the meeting before arrives after one of this */
    for (int64_t round = 0, distance = 1; distance < team->size; round++, distance *= 2) {
        if (near)
            __atomic_store_n(&team->further[round]->arrived[round], meeting, __ATOMIC_RELEASE);
        else
            shmem_ulong_atomic_set((unsigned long *)&area->arrived[round], meeting,
                                   team->members[(team->me + distance) % team->size]);
        wait_at_least(&area->arrived[round], meeting);
    }
}

/*
 * In shared memory this is faster than the engine's barrier.  That one stays what barriers of the program are, which
 * may meet those of a program in another language.
 */
void engine_meet(void)
{
    if (!near_together()) {
        shmem_barrier_all();
        return;
    }
    shmem_quiet();
    disseminate(library.engine.world);
}

void engine_team_sync(struct team *team)
{
    if (team_is_world(team)) {
        shmem_sync_all();
        return;
    }
#if ENGINE_HAS_TEAMS
    if (team->native != SHMEM_TEAM_INVALID) {
        shmem_team_sync(team->native);
        return;
    }
#endif
    __atomic_thread_fence(__ATOMIC_SEQ_CST); /* local stores are seen by members that look at them through a pointer */
    disseminate(team);
}

void team_barrier(struct team *team)
{
    if (team_is_world(team)) {
        shmem_barrier_all();
        return;
    }
    shmem_quiet();
    engine_team_sync(team);
}

/* ---- making and ending -------------------------------------------------------------------------------------------- */

static void set_slot(int slot, bool used)
{
    uint64_t bit = UINT64_C(1) << slot % 64;
    if (used)
        library.engine.team_slots[slot / 64] |= bit;
    else
        library.engine.team_slots[slot / 64] &= ~bit;
}

/* The lowest slots that are free on all members of a team; how many were found. Collective over the team. */
static int agree_on_slots(struct team *team, int *slots, int wanted)
{
    uint64_t used[TEAM_MASK_WORDS] = {0}, theirs[TEAM_MASK_WORDS];
    struct team_area *area = team_area(team);
    memcpy(area->words, library.engine.team_slots, sizeof theirs);
    engine_team_sync(team);
    for (int pe = 0; pe < team->size; pe++) {
        shmem_getmem(theirs, area->words, sizeof theirs, team->members[pe]);
        for (int word = 0; word < TEAM_MASK_WORDS; word++)
            used[word] |= theirs[word];
    }
    engine_team_sync(team);
    int found = 0;
    for (int slot = 0; slot < TEAM_LIMIT && found < wanted; slot++)
        if (!(used[slot / 64] >> slot % 64 & 1))
            slots[found++] = slot;
    return found;
}

/* A team of `size` members of the parent, `start` and on by `stride`; NULL without memory.  This PE is a member. */
static struct team *new_team(const struct team *parent, int start, int stride, int size, int slot, int contexts)
{
    struct team *team = malloc(sizeof *team + (size_t)size * sizeof(int));
    if (!team)
        return NULL;
    int *members = (int *)(team + 1);
    *team = (struct team){.size = size, .me = -1, .contexts = contexts, .slot = slot, .members = members};
    for (int pe = 0; pe < size; pe++) {
        members[pe] = parent ? parent->members[start + pe * stride] : start + pe * stride;
        if (members[pe] == library.engine.my_pe)
            team->me = pe;
    }
#if ENGINE_HAS_TEAMS
    team->native = SHMEM_TEAM_INVALID;
#endif
    set_slot(slot, true);
    memset(team_area(team), 0, sizeof(struct team_area));
    if (size > 1)
        team->next = shmem_ptr(team_area(team)->announced, members[(team->me + 1) % size]);
    near_join(team);
    return team;
}

#if ENGINE_HAS_TEAMS
/*
 * The engine's own team of the same members; it may refuse, on all alike, and then ours does without.  None of one
 * PE: reductions on it keep those on other teams from ending in Sandia OpenSHMEM 1.5.
 */
static void split_native(const struct team *parent, int start, int stride, int size, struct team *team)
{
    shmem_team_t native = SHMEM_TEAM_INVALID;
    if (size < 2 || stride < 1 || parent->native == SHMEM_TEAM_INVALID ||
        shmem_team_split_strided(parent->native, start, stride, size, NULL, 0, &native) != 0)
        native = SHMEM_TEAM_INVALID;
    if (team)
        team->native = native;
}
#endif

#if ENGINE_HAS_TEAMS
static void split_native_2d(const struct team *parent, int range, struct team *x, struct team *y)
{
    int rows = (parent->size + range - 1) / range;
    for (int row = 0; row < rows; row++) {
        int length = row < rows - 1 ? range : parent->size - row * range;
        split_native(parent, row * range, 1, length, row == parent->me / range ? x : NULL);
    }
    for (int column = 0; column < range; column++)
        split_native(parent, column, range, (parent->size - column + range - 1) / range,
                     column == parent->me % range ? y : NULL);
}
#endif

/* The parent's members know that all have cleared the new team's area when they meet again. */
static int finish_split(struct team *parent, bool failed, struct message *message)
{
    struct team_area *area = team_area(parent);
    area->words[0] = failed;
    engine_team_sync(parent);
    int first = -1;
    for (int pe = 0; pe < parent->size && first < 0; pe++) {
        uint64_t theirs;
        shmem_getmem(&theirs, area->words, sizeof theirs, parent->members[pe]);
        if (theirs)
            first = pe;
    }
    engine_team_sync(parent);
    if (first < 0)
        return 0;
    message_set(message, "no ordinary memory for a team on PE %d", parent->members[first]);
    return -1;
}

static int no_slot(struct message *message)
{
    message_set(message, "%d teams are alive on a PE of this team, which is as many as there can be; destroy some",
                TEAM_LIMIT);
    return -1;
}

int engine_team_split_strided(struct team *parent, int start, int stride, int size, int contexts, struct team **result,
                              struct message *message)
{
    int slot, number = stride ? (parent->me - start) / stride : 0;
    bool member = stride ? (parent->me - start) % stride == 0 && number >= 0 && number < size : parent->me == start;
    *result = NULL;
    if (agree_on_slots(parent, &slot, 1) < 1)
        return no_slot(message);
    if (member)
        *result = new_team(parent, start, stride, size, slot, contexts);
    if (finish_split(parent, member && !*result, message) != 0) {
        engine_team_forget(*result);
        *result = NULL;
        return -1;
    }
#if ENGINE_HAS_TEAMS
    split_native(parent, start, stride, size, *result);
#endif
    return 0;
}

int engine_team_split_2d(struct team *parent, int range, int x_contexts, int y_contexts, struct team **x,
                         struct team **y, struct message *message)
{
    int slots[2], columns = range < parent->size ? range : parent->size;
    int row = parent->me / columns, column = parent->me % columns;
    int row_length = row * columns + columns <= parent->size ? columns : parent->size - row * columns;
    int column_length = (parent->size - column + columns - 1) / columns;
    *x = *y = NULL;
    if (agree_on_slots(parent, slots, 2) < 2)
        return no_slot(message);
    *x = new_team(parent, row * columns, 1, row_length, slots[0], x_contexts);
    *y = new_team(parent, column, columns, column_length, slots[1], y_contexts);
    if (finish_split(parent, !*x || !*y, message) != 0) {
        engine_team_forget(*x);
        engine_team_forget(*y);
        *x = *y = NULL;
        return -1;
    }
#if ENGINE_HAS_TEAMS
    split_native_2d(parent, columns, *x, *y);
#endif
    return 0;
}

void engine_team_forget(struct team *team)
{
    if (!team)
        return;
    set_slot(team->slot, false);
    free(team);
}

void engine_team_destroy(struct team *team)
{
    team_barrier(team); /* none of its words is on its way to a member any more */
#if ENGINE_HAS_TEAMS
    if (team->native != SHMEM_TEAM_INVALID)
        shmem_team_destroy(team->native);
#endif
    engine_team_forget(team);
}

/* ---- the predefined teams ----------------------------------------------------------------------------------------- */

static struct team *all_pes(void)
{
    struct team *world = new_team(NULL, 0, 1, library.engine.n_pes, SLOT_WORLD, 0);
#if ENGINE_HAS_TEAMS
    if (world)
        world->native = SHMEM_TEAM_WORLD;
#endif
    return world;
}

/* Those whose memory can be reached by loads and stores. */
static struct team *sharing_pes(void)
{
    struct engine_state *state = &library.engine;
    struct team *shared = new_team(NULL, 0, 1, state->n_pes, SLOT_SHARED, 0);
    if (!shared)
        return NULL;
    int *members = (int *)(shared + 1);
    shared->size = 0;
    for (int pe = 0; pe < state->n_pes; pe++) {
        if (pe != state->my_pe && !shmem_ptr(state->team_areas, pe))
            continue;
        if (pe == state->my_pe)
            shared->me = shared->size;
        members[shared->size++] = pe;
    }
    return shared;
}

int teams_attach(struct message *message)
{
    struct engine_state *state = &library.engine;
    const size_t bytes = TEAM_LIMIT * sizeof *state->team_areas;
    state->team_areas = engine()->align(CACHE_LINE, bytes);
    if (!state->team_areas) {
        message_set(message, "the symmetric heap has no room for the %zu bytes in which teams meet", bytes);
        return -1;
    }
    memset(state->team_areas, 0, bytes);
    shmem_barrier_all(); /* nobody writes to another's before it is cleared */
    state->world = all_pes();
    state->shared = state->world ? sharing_pes() : NULL;
    if (!state->shared) {
        message_set(message, "no ordinary memory for the lists of PEs");
        return -1;
    }
    notices_open(state->world);
    return 0;
}

void teams_detach(void)
{
    struct engine_state *state = &library.engine;
    notices_close();
    engine_team_forget(state->shared);
    engine_team_forget(state->world);
    state->world = state->shared = NULL;
    if (state->team_areas)
        engine()->free(state->team_areas);
    state->team_areas = NULL;
}
