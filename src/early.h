/*
 * Early placement: the pages of partitions are given their nodes as the engine
 * maps its heap, before a network registers it and so fixes where they are.
 * Needs the preload library, which sees the mapping; see early.c.
 */
#ifndef SHMEM_PARTITION_EARLY_H
#define SHMEM_PARTITION_EARLY_H

#include <stdbool.h>
#include <stddef.h>

/* Are there partitions, is the preload library there, and does the user let it (PYSHMEM_EARLY)? */
bool early_is_possible(void);

/* What the engine's heap must hold besides the blocks, so that they can lie where early placement wants them. */
size_t early_room(void);

/* From now on, until the engine has started, its heap is waited for. */
void early_watch(void);
void early_watch_no_more(void);

/*
 * Collective.  Allocate one block of the engine's heap that holds all places where
 * partitions were put.  False, on all PEs alike: they are nowhere yet, on some PE
 * at least, and nothing is allocated.
 */
bool early_allocate(void);

#endif
