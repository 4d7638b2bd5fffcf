/* The blocks of partitions, step by step; each 0, or -1 with a message on this PE.  See blocks.c. */
#ifndef SHMEM_PARTITION_BLOCKS_H
#define SHMEM_PARTITION_BLOCKS_H

#include "message.h"

/* Collective: one block of the engine's heap for every definition in the state. */
int blocks_allocate(struct message *message);

/* The NUMA nodes of every partition, for the CPUs of this PE. */
int blocks_choose_nodes(struct message *message);

/* Collective: is there room for what all PEs of the node want? */
int blocks_check_capacity(struct message *message);

/* Collective: no page of before is left, and pages of the size that was asked for, if not the base page, are there. */
int blocks_change_pages(struct message *message);

/* Bind, populate and check the pages, and prepare the allocator's records. */
int blocks_place(struct message *message);

/* Each partition learns which one takes what does not fit. */
void blocks_join_fallbacks(void);

#endif
