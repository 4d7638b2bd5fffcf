/*
 * A page of ordinary shared memory from which a PE reads what the PE before it
 * is about to do, for engines that do not show PEs of one node each other's
 * memory: an announcement (symmetry.c) is a store then, and not a message that
 * would cost as much as the barrier it goes before.  Stands on huge.c for files
 * without a name; where these cannot be had or opened, announcements are puts.
 */
#define _GNU_SOURCE
#include "notices.h"

#include "../huge.h"
#include "../state.h"
#include "teams.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

enum { BOARD_BYTES = 4096 };

/* What nobody can have by chance: a process of this number may live on every node, and have some file open. */
struct mark {
    uint64_t word[2];
};

struct notice_board {
    struct mark mark;
    uint64_t used; /* said by the PE that writes here */
    _Alignas(CACHE_LINE) uint64_t announced[2];
};

/* Symmetric: where the PE before this one finds the board. */
struct offer {
    long process, descriptor; /* -1: there is none */
    struct mark mark;
};

static int make_board(struct offer *offer)
{
    struct message unused;
    struct notice_board **own = &library.engine.own_board;
    *offer = (struct offer){.process = getpid(), .descriptor = -1};
    int file = huge_file(BOARD_BYTES, 0, &unused);
    *own = file >= 0 ? huge_map(BOARD_BYTES, file, &unused) : NULL;
    if (*own && getrandom(&offer->mark, sizeof offer->mark, 0) == (ssize_t)sizeof offer->mark) {
        (*own)->mark = offer->mark;
        offer->descriptor = file;
    }
    return file;
}

/* Nothing but a file of ours is opened at all. */
static bool is_ours(const struct offer *offer)
{
    char path[64], target[64] = "";
    snprintf(path, sizeof path, "/proc/%ld/fd/%ld", offer->process, offer->descriptor);
    return readlink(path, target, sizeof target - 1) > 0 && strncmp(target, "/memfd:shmem_partition", 22) == 0;
}

static struct notice_board *map_board(const struct offer *offer)
{
    struct message unused;
    int file = offer->descriptor >= 0 && is_ours(offer)
                   ? huge_open_of_process(offer->process, offer->descriptor, &unused)
                   : -1;
    if (file < 0)
        return NULL;
    struct notice_board *board = huge_map(BOARD_BYTES, file, &unused);
    close(file);
    if (board && memcmp(&board->mark, &offer->mark, sizeof board->mark) != 0) {
        huge_unmap(board, BOARD_BYTES);
        board = NULL;
    }
    return board;
}

void notices_open(struct team *world)
{
    struct engine_state *state = &library.engine;
    struct offer theirs, *offer = world->size > 1 ? engine()->malloc(sizeof *offer) : NULL;
    if (!offer)
        return; /* on all PEs alike */
    int file = make_board(offer);
    shmem_barrier_all();
    if (!world->next) {
        shmem_getmem(&theirs, offer, sizeof theirs, world->members[(world->me + 1) % world->size]);
        state->next_board = map_board(&theirs);
    }
    if (state->next_board) {
        world->next = state->next_board->announced;
        state->next_board->used = 1;
    }
    shmem_barrier_all(); /* all have opened what they need */
    if (file >= 0)
        close(file);
    engine()->free(offer);
    if (state->own_board && state->own_board->used)
        world->told = state->own_board->announced;
}

void notices_close(void)
{
    struct engine_state *state = &library.engine;
    if (state->own_board)
        huge_unmap(state->own_board, BOARD_BYTES);
    if (state->next_board)
        huge_unmap(state->next_board, BOARD_BYTES);
    state->own_board = state->next_board = NULL;
}
