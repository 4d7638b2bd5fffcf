/* The life of partitions, for the files that stand on it: allocation.c, query.c and interpose.c. */
#ifndef SHMEM_PARTITION_PARTITION_H
#define SHMEM_PARTITION_PARTITION_H

#include "state.h"

/* Start the engine and all partitions; collective.  0, or -1 on all PEs with the message in the state. */
int partitions_start(int requested, int *provided);

/* Undo one start; the last one stops everything, collectively. */
void partitions_stop(void);

bool partitions_running(void);

/* Let the start to come fail on all PEs alike, because of this one. */
__attribute__((visibility("default"))) void partitions_refuse(const char *reason);

/* What was recognised of this node (NULL without partitions), and the PE that looked. */
__attribute__((visibility("default"))) const struct memory_table *partitions_table(void);
__attribute__((visibility("default"))) int partitions_node_leader(void);

struct partition *partition_with_id(int id);                /* NULL: none */
struct partition *partition_containing(const void *pointer); /* NULL: none */

/* The first partition of a kind (FASTMEM for a hint); NULL: none. */
struct partition *partition_of_kind(enum kind kind);

#endif
