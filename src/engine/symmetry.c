/*
 * Are collective calls the same on all members of a team?  Each member tells the
 * next one a digest of its call before a barrier that is there anyway, and
 * compares after it: eight bytes more on the way, and a whole ring in which a
 * difference cannot hide.  Only where there is one are the calls fetched and
 * put into words.  Stands on teams.c, and on notices.c for PEs of one node.
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
    team->announced = digest(call);
    if (team->next) /* the barrier that follows orders it like any other store */
        __atomic_store_n(&team->next[number % 2], team->announced, __ATOMIC_RELEASE);
    else
        shmem_ulong_p((unsigned long *)&area->announced[number % 2], team->announced,
                      team->members[(team->me + 1) % team->size]);
}

#define ELEMENT_NAME(NAME, name, type, bits) [ELEMENT_##NAME] = #name,

static const char *element_name(uint64_t element)
{
    static const char *const names[ELEMENT_COUNT] = {ELEMENTS(ELEMENT_NAME)};
    return element < ELEMENT_COUNT ? names[element] : "?";
}

static const char *reduction_name(uint64_t reduction)
{
    static const char *const names[REDUCTION_COUNT] = {
        [REDUCTION_AND] = "and", [REDUCTION_OR] = "or",   [REDUCTION_XOR] = "xor",  [REDUCTION_MAX] = "max",
        [REDUCTION_MIN] = "min", [REDUCTION_SUM] = "sum", [REDUCTION_PROD] = "prod",
    };
    return reduction < REDUCTION_COUNT ? names[reduction] : "?";
}

static const char *heap_name(char *text, size_t size, uint64_t partition)
{
    if (partition == 0)
        return "the default heap";
    snprintf(text, size, "partition %" PRIu64, partition);
    return text;
}

static void put_into_words(const struct call *call, struct message *message)
{
    const uint64_t *a = call->arguments;
    char heap[32];
    switch (call->kind) {
    case CALL_ALLOCATE:
        message_set(message, "allocates %" PRIu64 " bytes in %s", a[0], heap_name(heap, sizeof heap, a[3]));
        if (a[1])
            message_add(message, ", aligned to %" PRIu64, a[1]);
        if (a[2])
            message_add(message, ", with hints %" PRIu64, a[2]);
        break;
    case CALL_RESIZE:
        message_set(message, "resizes allocation %" PRIu64 " in %s to %" PRIu64 " bytes", a[0],
                    heap_name(heap, sizeof heap, a[2]), a[1]);
        break;
    case CALL_FREE:
        message_set(message, "frees allocation %" PRIu64 ", %" PRIu64 " bytes in %s", a[0], a[1],
                    heap_name(heap, sizeof heap, a[2]));
        break;
    case CALL_FREE_ALL:
        message_set(message, "frees the %" PRIu64 " allocations of a heap() block", a[0]);
        break;
    case CALL_BARRIER:
        message_set(message, "calls barrier");
        break;
    case CALL_SYNC:
        message_set(message, "calls sync");
        break;
    case CALL_BROADCAST:
        message_set(message, "broadcasts %" PRIu64 " elements of %" PRIu64 " bytes from PE %" PRIu64, a[0], a[1], a[2]);
        break;
    case CALL_COLLECT:
        message_set(message, "collects elements of %" PRIu64 " bytes", a[0]);
        break;
    case CALL_FCOLLECT:
        message_set(message, "fcollects %" PRIu64 " elements of %" PRIu64 " bytes", a[0], a[1]);
        break;
    case CALL_ALLTOALL:
        message_set(message, "calls alltoall with %" PRIu64 " elements of %" PRIu64 " bytes", a[0], a[1]);
        break;
    case CALL_ALLTOALLS:
        message_set(message, "calls alltoalls with %" PRIu64 " elements of %" PRIu64 " bytes, strides %" PRIu64
                    " and %" PRIu64, a[0], a[1], a[2], a[3]);
        break;
    case CALL_REDUCE:
        message_set(message, "reduces %" PRIu64 " elements of type %s with %s", a[0], element_name(a[1]),
                    reduction_name(a[2]));
        break;
    case CALL_SCAN:
        message_set(message, "scans %" PRIu64 " elements of type %s", a[0], element_name(a[1]));
        break;
    case CALL_SPLIT:
        message_set(message, "splits the team (%" PRId64 ", %" PRId64 ", %" PRId64 ")", (int64_t)a[0], (int64_t)a[1],
                    (int64_t)a[2]);
        break;
    default:
        message_set(message, "is in a call that cannot be read");
    }
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

/* By the member before this one: in the area of the team, or on the board. */
static bool has_told(const struct team *team)
{
    const volatile uint64_t *area = team_area(team)->announced, *board = team->told;
    uint64_t turn = team->calls % 2;
    return (board && board[turn] == team->announced) || area[turn] == team->announced;
}

/* Engines complete puts in their barriers; one that does so a little later is not to be blamed on the program. */
static bool tells_late(const struct team *team)
{
    double end = now() + 0.5;
    while (!has_told(team)) {
        if (now() > end)
            return false;
        shmem_quiet();
        sched_yield();
    }
    return true;
}

void engine_expect(const struct team *team)
{
    __builtin_prefetch(&(team->told ? team->told : team_area(team)->announced)[team->calls % 2]);
}

int engine_verify(struct team *team, struct message *message)
{
    if (team->size == 1 || has_told(team) || tells_late(team))
        return 0;
    describe(team, &team_area(team)->calls[team->calls % 2], message);
    return -1;
}

bool engine_may_speak(void)
{
    unsigned long *speaker = (unsigned long *)&team_area(library.engine.world)->speaker;
    return shmem_ulong_atomic_compare_swap(speaker, 0, (unsigned long)library.engine.my_pe + 1, 0) == 0;
}
