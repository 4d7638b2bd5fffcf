/* The blocks of partitions, step by step; each 0, or -1 with a message on this PE.  See blocks.c. */
#ifndef SHMEM_PARTITION_BLOCKS_H
#define SHMEM_PARTITION_BLOCKS_H

#include "choice.h"
#include "message.h"
#include "placement.h"
#include "state.h"

/* The nodes of a partition, and what follows from them, for a PE that may run on these CPUs.  Says nothing. */
int blocks_choose(struct partition *partition, const struct memory_table *table, const struct cpuset *cpus,
                  struct choice *choice, struct message *message);

enum binding blocks_final_binding(const struct partition *partition);

/* The policy under which pages come, before it is known that there is room for all of them. */
enum binding blocks_first_binding(const struct partition *partition);

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
