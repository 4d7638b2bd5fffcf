/*
 * What memory there is to be had: of this machine now, or of a saved one, of
 * which nobody knows what is in use, in all.
 */
#ifndef SHMEM_PARTITION_SUPPLY_H
#define SHMEM_PARTITION_SUPPLY_H

#include "placement.h"
#include "topology.h"

struct supply {
    struct room whole;           /* of the machine together */
    uint64_t node[NODESET_BITS]; /* of each NUMA node */
};

void supply_read(struct supply *supply, const struct memory_table *table);  /* of this machine, free now */
void supply_total(struct supply *supply, const struct memory_table *table); /* of any machine, as if all were free */

#endif
