/*
 * The live blocks of a heap by the offset at which they start; stands on the
 * block records.
 *
 * A table of short lists: what a call costs does not depend on how many blocks
 * there are, but for the calls that lengthen the table.
 */
#ifndef SHMEM_PARTITION_STARTS_H
#define SHMEM_PARTITION_STARTS_H

#include "records.h"

struct starts {
    struct records *records;
    uint32_t *first; /* of the lists */
    unsigned bits;   /* of their number */
    uint32_t count;  /* of the blocks */
};

/* Start with none; false if there is no memory. */
bool starts_start(struct starts *starts, struct records *records);
void starts_end(struct starts *starts);

/* Put a block in, which starts where no other does. */
void starts_insert(struct starts *starts, uint32_t index);

/* The block that starts just there, or 0; the second also takes it out. */
uint32_t starts_find(const struct starts *starts, size_t offset);
uint32_t starts_remove(struct starts *starts, size_t offset);

/* Are all blocks live and in the lists where they are sought, and do they number `count`? */
bool starts_are_valid(const struct starts *starts, uint32_t count);

#endif
