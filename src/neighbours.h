/*
 * The PEs of one node: who they are, what the node's memory is, and whether it
 * is enough for all of them together.
 *
 * The PEs of a node find each other with a few atomics; one of them, the
 * leader, looks at the machine for all.  Memory per PE does not depend on the
 * number of PEs.  Stands on the engine, on recognition and on agreement.
 */
#ifndef SHMEM_PARTITION_NEIGHBOURS_H
#define SHMEM_PARTITION_NEIGHBOURS_H

#include "capacity.h"
#include "message.h"
#include "topology.h"

/*
 * Collective.  `key` is equal on two PEs if and only if they share a node.
 * Finds the leader of this PE's node, and how many PEs the node has.
 * 0, or -1 with a message.
 */
int neighbours_meet(unsigned long key, struct message *message);
void neighbours_part(void);

bool neighbours_leader(void);
int neighbours_count(void);

/* What identifies this node: the boot ID, since PEs in several containers of one machine share its memory. */
unsigned long neighbours_node_key(void);

/*
 * Collective.  The leader recognises the node's memory and hands the table to
 * the others.  0 and a table to be freed; or, on the PE whose fault it is, -1
 * with a message (the others of its node then have NULL and 0).
 */
int neighbours_recognise(struct memory_table **table, struct message *message);

/*
 * Collective.  The leader adds up the demands of its PEs and holds them against
 * what is free.  0, or -1 on the leader with a message that has the figures.
 */
int neighbours_check_capacity(const struct demand *demand, int count, struct message *message);

#endif
