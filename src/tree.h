/*
 * Balanced trees of block records; stands on the record store.
 *
 * Two orders: by offset for live blocks, by size and then offset for free
 * ones.  All functions take logarithmic time, whatever came before.
 */
#ifndef SHMEM_PARTITION_TREE_H
#define SHMEM_PARTITION_TREE_H

#include "records.h"

struct tree {
    struct records *records;
    uint32_t root;
    bool by_size;
};

/* A place in a tree's order; the size counts in a tree by size only. */
struct key {
    size_t size, offset;
};

static inline struct key key_of(const struct block *block)
{
    return (struct key){block_size(block), block_offset(block)};
}

/* Put a block in; none of equal key may be there. */
void tree_insert(struct tree *tree, uint32_t index);

/* Take the block with just this key out and return it, or 0 if there is none. */
uint32_t tree_remove(struct tree *tree, struct key key);

/* Take the first block above a key out and return it, or 0 if there is none. */
uint32_t tree_remove_above(struct tree *tree, struct key key);

/* The first block above a key, or the last at or below it; 0 if there is none. */
uint32_t tree_above(const struct tree *tree, struct key key);
uint32_t tree_at_or_below(const struct tree *tree, struct key key);

/* Is it in order and balanced, with all its blocks live or all free?  Adds their number to `count`. */
bool tree_is_valid(const struct tree *tree, bool live, uint32_t *count);

#endif
