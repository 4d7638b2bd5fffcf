/*
 * The free blocks of a heap by size; stands on the block records.
 *
 * Sizes are divided into classes, four to a doubling, the smallest into classes
 * of one size.  The blocks of a class are in a list, and a bit for each class
 * says whether anything is in it: what a call costs does not depend on how many
 * blocks there are, but where the heap is all but full (sizes_find) or figures
 * are asked for (sizes_largest).
 */
#ifndef SHMEM_PARTITION_SIZES_H
#define SHMEM_PARTITION_SIZES_H

#include "records.h"

enum {
    SIZES_STEPS = 4,                            /* classes to a doubling */
    SIZES_CLASSES = (44 - 2 + 1) * SIZES_STEPS, /* of numbers of units up to 2^44 */
    SIZES_WORDS = (SIZES_CLASSES + 63) / 64
};

struct sizes {
    struct records *records;
    uint64_t filled[SIZES_WORDS];
    uint32_t first[SIZES_CLASSES];
};

/* What is sought: so many bytes at an address that is a multiple of `alignment`, where `origin` is that of offset 0. */
struct request {
    size_t size, alignment, origin;
};

/* The bytes between an offset and the first aligned place. */
static inline size_t gap_before(size_t offset, const struct request *request)
{
    return -(request->origin + offset) & (request->alignment - 1);
}

void sizes_insert(struct sizes *sizes, uint32_t index);
void sizes_remove(struct sizes *sizes, uint32_t index);

/* A block that is large enough and little larger, or 0: see the source for the choice. */
uint32_t sizes_find(const struct sizes *sizes, const struct request *request);

/* The size of the largest block, or 0. */
size_t sizes_largest(const struct sizes *sizes);

/* Are all blocks free and in the lists of their classes, and do they number `count`? */
bool sizes_are_valid(const struct sizes *sizes, uint32_t count);

#endif
