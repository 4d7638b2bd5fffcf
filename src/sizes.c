/*
 * Free blocks in lists by class of size.
 *
 * A good fit is taken, not the best: of a few blocks in the lowest class that
 * has one large enough, the one at the lowest offset.  What best fit saves in
 * remainders that nobody can use, it loses by keeping the upper part of the
 * heap in use; in mixed traces the good fit ends lower (benchmarks/allocator.c).
 *
 * Only if no class above has anything are all blocks of the request's own class
 * looked at, so that no request is refused which a block could serve.  Places
 * for large alignments are an exception: there, a block must be found soon or
 * be large enough wherever it lies.
 */
#include "sizes.h"

enum { NO_CLASS = -1 };
enum {
    BLOCKS_TRIED = 5,   /* of a class */
    CLASSES_TRIED = 16, /* where an alignment makes blocks unfit that are large enough */
    ALL_BLOCKS = INT32_MAX
};

static inline struct block *at(const struct sizes *sizes, uint32_t index)
{
    return record_at(sizes->records, index);
}

static inline int highest_bit(uint64_t number)
{
    return 63 - __builtin_clzll(number);
}

/* A class for each of the first numbers of units; from SIZES_STEPS units on, so many to a doubling. */
static inline int class_of(size_t size)
{
    uint64_t units = size / UNIT;
    if (units < SIZES_STEPS)
        return (int)units;
    int shift = highest_bit(units) - highest_bit(SIZES_STEPS);
    return shift * SIZES_STEPS + (int)(units >> shift);
}

/* The first class from this one up with anything in it. */
static inline int filled_from(const struct sizes *sizes, int class)
{
    if (class >= SIZES_CLASSES)
        return NO_CLASS;
    int word = class / 64;
    uint64_t left = sizes->filled[word] & UINT64_MAX << class % 64;
    while (left == 0 && ++word < SIZES_WORDS)
        left = sizes->filled[word];
    return left != 0 ? 64 * word + highest_bit(left & -left) : NO_CLASS;
}

void sizes_insert(struct sizes *sizes, uint32_t index)
{
    struct block *block = at(sizes, index);
    int class = class_of(block_size(block));
    uint32_t first = sizes->first[class];
    block->list[BEFORE] = 0;
    block->list[BEHIND] = first;
    at(sizes, first)->list[BEFORE] = index; /* record 0's own, where the list was empty, says nothing */
    sizes->first[class] = index;
    sizes->filled[class / 64] |= UINT64_C(1) << class % 64;
}

void sizes_remove(struct sizes *sizes, uint32_t index)
{
    const struct block *block = at(sizes, index);
    uint32_t before = block->list[BEFORE], behind = block->list[BEHIND];
    at(sizes, behind)->list[BEFORE] = before;
    if (before != 0) {
        at(sizes, before)->list[BEHIND] = behind;
        return;
    }
    int class = class_of(block_size(block));
    sizes->first[class] = behind;
    if (behind == 0)
        sizes->filled[class / 64] &= ~(UINT64_C(1) << class % 64);
}

static inline bool fits(const struct block *block, const struct request *request)
{
    size_t gap = gap_before(block_offset(block), request), room = block_size(block);
    return (gap <= room) & (request->size <= room - gap);
}

/* The lowest of the first blocks of a class that fit, or 0. */
static uint32_t lowest_fit(const struct sizes *sizes, int class, const struct request *request, int tries)
{
    uint32_t lowest = 0;
    size_t lowest_offset = SIZE_MAX;
    for (uint32_t index = sizes->first[class]; index != 0 && tries > 0; tries--) {
        const struct block *block = at(sizes, index);
        size_t offset = block_offset(block);
        bool is_better = (offset < lowest_offset) & fits(block, request); /* no jumps: nobody could predict them */
        lowest = is_better ? index : lowest;
        lowest_offset = is_better ? offset : lowest_offset;
        index = block->list[BEHIND];
    }
    return lowest;
}

/* A block that is large enough wherever it lies, or 0. */
static uint32_t find_sure(const struct sizes *sizes, const struct request *request)
{
    size_t worst_gap = request->alignment - UNIT;
    if (request->size > RECORDS_LARGEST_SIZE || worst_gap > RECORDS_LARGEST_SIZE - request->size)
        return 0;
    int class = class_of(request->size + worst_gap), above = filled_from(sizes, class + 1);
    return above != NO_CLASS ? lowest_fit(sizes, above, request, BLOCKS_TRIED)
                             : lowest_fit(sizes, class, request, ALL_BLOCKS);
}

uint32_t sizes_find(const struct sizes *sizes, const struct request *request)
{
    int class = request->size <= RECORDS_LARGEST_SIZE ? filled_from(sizes, class_of(request->size)) : NO_CLASS;
    for (int i = 0; i < CLASSES_TRIED && class != NO_CLASS; i++) {
        uint32_t index = lowest_fit(sizes, class, request, BLOCKS_TRIED);
        if (index != 0)
            return index;
        class = filled_from(sizes, class + 1);
    }
    return find_sure(sizes, request);
}

size_t sizes_largest(const struct sizes *sizes)
{
    size_t largest = 0;
    int class = NO_CLASS;
    for (int next = filled_from(sizes, 0); next != NO_CLASS; next = filled_from(sizes, next + 1))
        class = next;
    uint32_t index = class != NO_CLASS ? sizes->first[class] : 0;
    for (; index != 0; index = at(sizes, index)->list[BEHIND])
        if (block_size(at(sizes, index)) > largest)
            largest = block_size(at(sizes, index));
    return largest;
}

static bool is_class_valid(const struct sizes *sizes, int class, uint32_t most, uint32_t *found)
{
    bool is_filled = sizes->filled[class / 64] >> class % 64 & 1;
    uint32_t before = 0, index = sizes->first[class];
    for (; index != 0; before = index, index = at(sizes, index)->list[BEHIND]) {
        if (index >= sizes->records->fresh || ++*found > most)
            return false;
        const struct block *block = at(sizes, index);
        if (block->live || block->list[BEFORE] != before || class_of(block_size(block)) != class)
            return false;
    }
    return is_filled == (sizes->first[class] != 0);
}

bool sizes_are_valid(const struct sizes *sizes, uint32_t count)
{
    uint32_t found = 0;
    for (int class = 0; class < SIZES_CLASSES; class++)
        if (!is_class_valid(sizes, class, count, &found))
            return false;
    return found == count;
}
