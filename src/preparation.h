/* What happens before the engine starts; see preparation.c. */
#ifndef SHMEM_PARTITION_PREPARATION_H
#define SHMEM_PARTITION_PREPARATION_H

#include "message.h"
#include "placement.h"
#include "spec.h"

#include <stdint.h>

enum { SIZE_VARIABLES = 8 };

struct saved_environment {
    char *value[SIZE_VARIABLES]; /* NULL: was not set */
    bool changed;
};

/* Read the definitions into the state and set the size of the engine's heap; 0, or -1 with a message. */
int preparation_do(struct saved_environment *saved, struct message *message);

/*
 * When that failed: what was refused must not reach the engine, which starts all the same, so that PEs can agree on
 * what is wrong; the heap that it is given is small.
 */
void preparation_refuse(struct saved_environment *saved);

/* The definitions of the environment and of the program; 0, or -1 with a message. */
int preparation_read(struct definitions *definitions, const struct program_definition *program, int program_count,
                     struct message *message);

/*
 * Can a PE's heap be made of them, in the room of its machine?  `here`: the pages must be
 * this machine's.  0 and the size of the heap (0: the engine's own default), or -1 with a message.
 */
int preparation_check(const struct definitions *definitions, const struct room *room, bool here, size_t *bytes,
                      struct message *message);

/* Give the user's variables back, for child processes. */
void preparation_undo(struct saved_environment *saved);

/* The length of a partition's block, in whole pages. */
size_t preparation_block_bytes(const struct definition *definition);

/* How a partition's block is aligned. */
size_t preparation_alignment(const struct definition *definition);

/* There are partitions, and none asks for other pages than usual: where one does, huge pages align the heap. */
bool preparation_base_pages_only(const struct definitions *definitions);

#endif
