/*
 * Are collective calls the same on all members of a team?  Each member puts a
 * digest of its call to the next one before a barrier that is there anyway, and
 * compares after it: eight bytes more on the way, and a whole ring in which a
 * difference cannot hide.  Only where there is one are the calls fetched and
 * put into words.  Stands on teams.c.
 */
#define _GNU_SOURCE
#include "../state.h"
#include "teams.h"

#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <time.h>

/* Not for security: a difference between honest calls must not cancel out. */
static uint64_t digest(const struct call *call)
{
    uint64_t hash = call->number * UINT64_C(0x9e3779b97f4a7c15) + call->kind + 1;
    for (int i = 0; i < CALL_ARGUMENTS; i++)
        hash = (hash ^ call->arguments[i]) * UINT64_C(0xd6e8feb86659fd93) ^ hash >> 32;
    return hash;
}

static int before(const struct team *team) { return team->members[(team->me + team->size - 1) % team->size]; }

void engine_announce(struct team *team, enum call_kind kind, const uint64_t arguments[CALL_ARGUMENTS])
{
    if (team->size == 1)
        return;
    struct team_area *area = team_area(team);
    uint64_t number = ++team->calls;
    struct call *call = &area->calls[number % 2];
    call->number = number;
    call->kind = kind;
    memcpy(call->arguments, arguments, sizeof call->arguments);
    shmem_ulong_p((unsigned long *)&area->announced[number % 2], digest(call),
                  team->members[(team->me + 1) % team->size]);
}

/* %1$ to %4$: the arguments. */
static const char *const words_of[CALL_KINDS] = {
    [CALL_ALLOCATE] = "allocates %1$" PRIu64 " bytes in partition %4$" PRIu64 " (alignment %2$" PRIu64
                      ", hints %3$" PRIu64 ")",
    [CALL_RESIZE] = "resizes allocation %1$" PRIu64 " in partition %3$" PRIu64 " to %2$" PRIu64 " bytes",
    [CALL_FREE] = "frees allocation %1$" PRIu64 " of %2$" PRIu64 " bytes in partition %3$" PRIu64,
    [CALL_FREE_ALL] = "frees the %1$" PRIu64 " allocations of a heap() block",
    [CALL_BARRIER] = "calls barrier",
    [CALL_SYNC] = "calls sync",
    [CALL_BROADCAST] = "broadcasts %1$" PRIu64 " elements of %2$" PRIu64 " bytes from PE %3$" PRIu64,
    [CALL_COLLECT] = "collects elements of %1$" PRIu64 " bytes",
    [CALL_FCOLLECT] = "fcollects %1$" PRIu64 " elements of %2$" PRIu64 " bytes",
    [CALL_ALLTOALL] = "calls alltoall with %1$" PRIu64 " elements of %2$" PRIu64 " bytes",
    [CALL_ALLTOALLS] = "calls alltoalls with %1$" PRIu64 " elements of %2$" PRIu64 " bytes, strides %3$" PRIu64
                       " and %4$" PRIu64,
    [CALL_REDUCE] = "reduces %1$" PRIu64 " elements of type %2$" PRIu64 " with operation %3$" PRIu64,
    [CALL_SCAN] = "scans %1$" PRIu64 " elements of type %2$" PRIu64,
    [CALL_SPLIT] = "splits the team from %1$" PRIu64 " by %2$" PRIu64 " into %3$" PRIu64,
};

static void put_into_words(const struct call *call, struct message *message)
{
    const uint64_t *a = call->arguments;
    if (call->kind >= CALL_KINDS) {
        message_set(message, "is in a call that cannot be read");
        return;
    }
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(message->text, sizeof message->text, words_of[call->kind], a[0], a[1], a[2], a[3]);
#pragma GCC diagnostic pop
}

static void describe(struct team *team, const struct call *mine, struct message *message)
{
    struct call theirs;
    struct message here, there;
    int other = before(team), me = team->members[team->me];
    shmem_getmem(&theirs, &team_area(team)->calls[mine->number % 2], sizeof theirs, other);
    put_into_words(mine, &here);
    put_into_words(&theirs, &there);
    if (theirs.number == mine->number)
        message_set(message, "PEs differ in a collective call: PE %d %s, PE %d %s", other, there.text, me, here.text);
    else
        message_set(message, "PEs differ in a collective call: PE %d %s, and PE %d does not take part", me, here.text,
                    other);
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Engines complete puts in their barriers; one that does so a little later is not to be blamed on the program. */
static bool arrives_late(const volatile uint64_t *announced, uint64_t expected)
{
    double end = now() + 0.5;
    while (*announced != expected) {
        if (now() > end)
            return false;
        shmem_quiet();
        sched_yield();
    }
    return true;
}

int engine_verify(struct team *team, struct message *message)
{
    if (team->size == 1)
        return 0;
    struct team_area *area = team_area(team);
    const struct call *mine = &area->calls[team->calls % 2];
    const volatile uint64_t *announced = &area->announced[team->calls % 2];
    uint64_t expected = digest(mine);
    if (*announced == expected || arrives_late(announced, expected))
        return 0;
    describe(team, mine, message);
    return -1;
}

bool engine_may_speak(void)
{
    unsigned long *speaker = (unsigned long *)&team_area(library.engine.world)->speaker;
    return shmem_ulong_atomic_compare_swap(speaker, 0, (unsigned long)library.engine.my_pe + 1, 0) == 0;
}
