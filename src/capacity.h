/*
 * Is there room on a node for what its PEs want together?  Figures in, a
 * decision out: for a job that starts, and for one that is only planned.
 * Knows nothing of OpenSHMEM or of the kernel.
 */
#ifndef SHMEM_PARTITION_CAPACITY_H
#define SHMEM_PARTITION_CAPACITY_H

#include "spec.h"
#include "supply.h"

/* What one PE wants of its node, for one partition. */
struct demand {
    size_t bytes;
    int id;               /* the partition's */
    int bound;            /* 1: only `nodes` will do; otherwise any memory of the machine.  An int: no byte is left over */
    struct nodeset nodes; /* empty: no binding */
};

struct tally; /* the demands of all PEs of a node */

struct tally *tally_create(void); /* to be given to free(); NULL: no memory */

/* What one PE wants, for all partitions. */
void tally_add(struct tally *tally, const struct demand *demand, int count);

/* 0, or -1 with a message that has the figures. */
int tally_check(const struct tally *tally, const struct supply *supply, struct message *message);

/* Whether pages of the definition must be on its nodes, and nowhere else. */
bool definition_is_mandatory(const struct definition *definition);

/* A PE's demand for `block_bytes` of a partition; pages larger than `page_size` come from a pool, not from free memory. */
struct demand demand_for(const struct definition *definition, size_t block_bytes, size_t page_size,
                         const struct nodeset *nodes);

#endif
