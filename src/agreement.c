/*
 * Agreement between PEs.  Stands on engine/: one small reduction when all is
 * well; a broadcast of the reason, or of PE 0's text, only when it is not.
 */
#define _GNU_SOURCE
#include "agreement.h"

#include "state.h"

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

enum { HOST_SIZE = 64, PIECE = 4096 };

/* Symmetric; sources and targets of the collectives are apart. */
struct agreement {
    long mine[4], all[4];
    struct message reason, agreed;
    char piece[PIECE], piece_of_first[PIECE];
};

int agreement_open(struct message *message)
{
    library.agreement = engine()->calloc(1, sizeof *library.agreement);
    if (library.agreement)
        return 0;
    message_set(message, "the symmetric heap has no room for the %zu bytes in which PEs agree",
                sizeof *library.agreement);
    return -1;
}

void agreement_close(void)
{
    if (library.agreement)
        engine()->free(library.agreement);
    library.agreement = NULL;
}

/* The lowest of each value over all PEs. */
static void lowest(const long *values, int count)
{
    struct agreement *agreement = library.agreement;
    memcpy(agreement->mine, values, (size_t)count * sizeof *values);
    shmem_sync_all(); /* the last round's result has been read by all */
    engine_reduce(engine_team_world(), REDUCTION_MIN, ELEMENT_LONG, agreement->all, agreement->mine, (size_t)count);
}

static void say_where(struct message *message)
{
    char host[HOST_SIZE] = "";
    struct message reason = *message;
    if (gethostname(host, sizeof host - 1) != 0)
        strcpy(host, "an unnamed host");
    /* A text whose next line marks a part of it begins a line of its own, so that the mark is below that part. */
    message_set(message, "PE %d on %s:%s%s", library.engine.my_pe, host, strchr(reason.text, '\n') ? "\n" : " ",
                reason.text);
}

int agreement_reach(bool failed, struct message *message, int *pe)
{
    struct agreement *agreement = library.agreement;
    lowest(&(long){failed ? library.engine.my_pe : LONG_MAX}, 1);
    long first = agreement->all[0];
    if (first == LONG_MAX)
        return 0;
    if (first == library.engine.my_pe)
        say_where(message);
    agreement->reason = *message;
    shmem_sync_all();
    engine_broadcast(engine_team_world(), &agreement->agreed, &agreement->reason, sizeof agreement->reason, (int)first);
    *message = agreement->agreed;
    *pe = (int)first;
    shmem_barrier_all();
    return -1;
}

bool agreement_all(bool yes)
{
    lowest(&(long){yes}, 1);
    return library.agreement->all[0] == 1;
}

/* FNV-1a: equality of honest texts, not security. */
static long text_hash(const char *text)
{
    unsigned long hash = 14695981039346656037UL;
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 1099511628211UL;
    return (long)(hash >> 1); /* non-negative, so that it can be negated */
}

/* PE 0's text, in pieces of fixed size; to be freed.  NULL if ordinary memory ran out. */
static char *text_of_first(const char *mine)
{
    struct agreement *agreement = library.agreement;
    size_t length = strlen(mine) + 1;
    lowest(&(long){library.engine.my_pe == 0 ? (long)length : LONG_MAX}, 1);
    size_t length_of_first = (size_t)agreement->all[0];
    char *text = malloc(length_of_first + PIECE);
    for (size_t done = 0; done < length_of_first; done += PIECE) {
        if (library.engine.my_pe == 0) {
            memset(agreement->piece, 0, PIECE);
            memcpy(agreement->piece, mine + done, length - done < PIECE ? length - done : PIECE);
        }
        shmem_barrier_all();
        engine_broadcast(engine_team_world(), agreement->piece_of_first, agreement->piece, PIECE, 0);
        if (text)
            memcpy(text + done, agreement->piece_of_first, PIECE);
    }
    shmem_barrier_all();
    return text;
}

static int line_length(const char *text) { return (int)strcspn(text, "\n"); }

static void say_difference(const char *mine, const char *first, struct message *message)
{
    while (mine[line_length(mine)] == '\n' && strncmp(mine, first, (size_t)line_length(mine) + 1) == 0) {
        int same = line_length(mine) + 1;
        mine += same;
        first += same;
    }
    message_set(message, "the definitions of partitions differ between PEs\n  here:    %.*s\n  on PE 0: %.*s",
                line_length(mine) ? line_length(mine) : 9, *mine ? mine : "(nothing)",
                line_length(first) ? line_length(first) : 9, *first ? first : "(nothing)");
}

int agreement_compare(const char *text, struct message *message)
{
    long hash = text_hash(text);
    lowest((long[]){hash, -hash}, 2);
    if (library.agreement->all[0] == -library.agreement->all[1])
        return 0;
    char *first = text_of_first(text);
    if (!first) {
        message_set(message, "no memory to compare the definitions of partitions");
        return -1;
    }
    bool same = strcmp(text, first) == 0;
    if (!same)
        say_difference(text, first, message);
    free(first);
    return same ? 0 : -1;
}
