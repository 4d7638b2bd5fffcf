/*
 * Live blocks in lists by a hash of their starts.
 *
 * The table has at least one list for four blocks, which keeps what it takes
 * small beside the records.  If there is no memory for a longer table, the lists
 * become longer instead.
 */
#include "starts.h"

#include <stdlib.h>

enum { FIRST_BITS = 4, MOST_BITS = 29, BLOCKS_TO_A_LIST = 4 };

static inline struct block *at(const struct starts *starts, uint32_t index)
{
    return record_at(starts->records, index);
}

/* The upper bits of a product with 2^64 divided by the golden ratio: offsets in any regular step are spread. */
static inline uint32_t *list_of(const struct starts *starts, size_t offset)
{
    return &starts->first[offset / UNIT * UINT64_C(0x9e3779b97f4a7c15) >> (64 - starts->bits)];
}

bool starts_start(struct starts *starts, struct records *records)
{
    *starts = (struct starts){.records = records, .bits = FIRST_BITS};
    starts->first = calloc((size_t)1 << FIRST_BITS, sizeof *starts->first);
    return starts->first != NULL;
}

void starts_end(struct starts *starts)
{
    free(starts->first);
}

static void push(struct starts *starts, uint32_t index)
{
    struct block *block = at(starts, index);
    uint32_t *first = list_of(starts, block_offset(block));
    block->list[BEHIND] = *first;
    *first = index;
}

static void grow(struct starts *starts)
{
    struct starts longer = *starts;
    longer.bits++;
    longer.first = calloc((size_t)1 << longer.bits, sizeof *longer.first);
    if (longer.first == NULL)
        return;
    for (size_t i = 0; i < (size_t)1 << starts->bits; i++)
        for (uint32_t index = starts->first[i], behind; index != 0; index = behind) {
            behind = at(starts, index)->list[BEHIND];
            push(&longer, index);
        }
    free(starts->first);
    *starts = longer;
}

void starts_insert(struct starts *starts, uint32_t index)
{
    if (starts->bits < MOST_BITS && starts->count >> starts->bits >= BLOCKS_TO_A_LIST)
        grow(starts);
    push(starts, index);
    starts->count++;
}

/* The link to the block that starts there, or to nothing at the end of its list. */
static inline uint32_t *link_to(const struct starts *starts, size_t offset)
{
    uint32_t *link = list_of(starts, offset);
    while (*link != 0 && block_offset(at(starts, *link)) != offset)
        link = &at(starts, *link)->list[BEHIND];
    return link;
}

uint32_t starts_find(const struct starts *starts, size_t offset)
{
    return offset % UNIT == 0 ? *link_to(starts, offset) : 0;
}

uint32_t starts_remove(struct starts *starts, size_t offset)
{
    if (offset % UNIT != 0)
        return 0;
    uint32_t *link = link_to(starts, offset), index = *link;
    if (index != 0) {
        *link = at(starts, index)->list[BEHIND];
        starts->count--;
    }
    return index;
}

bool starts_are_valid(const struct starts *starts, uint32_t count)
{
    uint32_t found = 0;
    for (size_t i = 0; i < (size_t)1 << starts->bits; i++)
        for (uint32_t index = starts->first[i]; index != 0; index = at(starts, index)->list[BEHIND]) {
            if (index >= starts->records->fresh || !at(starts, index)->live || ++found > count ||
                list_of(starts, block_offset(at(starts, index))) != &starts->first[i])
                return false;
        }
    return found == count && starts->count == count;
}
