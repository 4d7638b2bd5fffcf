/*
 * The blocks of a heap in one order, by size or by offset; stands on the trees.
 *
 * The order is kept in many small trees: a bin holds an eighth of a doubling of
 * sizes or offsets, and a bit for each bin says whether anything is in it.
 * Trees are then four steps lower or more, while no call takes more than
 * logarithmic time even if all blocks fall into one bin.
 */
#ifndef SHMEM_PARTITION_BINS_H
#define SHMEM_PARTITION_BINS_H

#include "tree.h"

enum {
    BINS_STEPS = 8,                         /* bins to a doubling */
    BINS = (44 - 3 + 1) * BINS_STEPS,       /* of numbers of units up to 2^44 */
    BINS_WORDS = (BINS + 63) / 64
};

struct bins {
    struct records *records;
    bool by_size;
    uint64_t filled[BINS_WORDS];
    uint32_t root[BINS];
};

/* Put a block in; none of equal key may be there. */
void bins_insert(struct bins *bins, uint32_t index);

/* Take the block with just this key out and return it, or 0 if there is none. */
uint32_t bins_remove(struct bins *bins, struct key key);

/* The first block above a key, or 0; the second also takes it out. */
uint32_t bins_above(const struct bins *bins, struct key key);
uint32_t bins_remove_above(struct bins *bins, struct key key);

/* The last block at or below a key, or 0. */
uint32_t bins_at_or_below(const struct bins *bins, struct key key);

/* Are all trees valid, all blocks in their bins, and do they number `count`, all live or all free? */
bool bins_are_valid(const struct bins *bins, uint32_t count, bool live);

#endif
