/*
 * The store of block records: see the header for the records themselves.
 *
 * A record below `fresh` is either taken or in the list of those given back,
 * which are used again first.  Memory goes back to the system with the heap
 * only: a heap that once had many blocks is likely to have them again.
 *
 * Room is added by a small part of what is there, to keep it small per block;
 * large stores are moved by the system page by page, and not copied.
 */
#include "records.h"

#include <stdlib.h>

enum { FIRST_LENGTH = 16, PART_ADDED = 32 };

static bool lengthen(struct records *records)
{
    uint64_t length = records->length + (uint64_t)records->length / PART_ADDED + FIRST_LENGTH;
    if (length > UINT32_MAX)
        return false;
    struct block *block = realloc(records->block, length * sizeof *block);
    if (block == NULL)
        return false;
    records->block = block;
    records->length = (uint32_t)length;
    return true;
}

bool records_start(struct records *records)
{
    *records = (struct records){.fresh = 1};
    if (!lengthen(records))
        return false;
    *record_at(records, 0) = (struct block){.live = 0};
    return true;
}

void records_end(struct records *records)
{
    free(records->block);
}

bool records_reserve(struct records *records, uint32_t count)
{
    while (records->returned_count + (uint64_t)(records->length - records->fresh) < count)
        if (!lengthen(records))
            return false;
    return true;
}

uint32_t record_take(struct records *records)
{
    uint32_t index = records->returned;
    if (index == 0) {
        index = records->fresh++;
    } else {
        records->returned = record_at(records, index)->neighbour[ABOVE];
        records->returned_count--;
    }
    *record_at(records, index) = (struct block){.live = 0};
    return index;
}

void record_return(struct records *records, uint32_t index)
{
    record_at(records, index)->neighbour[ABOVE] = records->returned;
    records->returned = index;
    records->returned_count++;
}

bool records_are_valid(const struct records *records, uint32_t taken)
{
    uint32_t returned = 0;
    for (uint32_t index = records->returned; index != 0; index = record_at(records, index)->neighbour[ABOVE])
        if (index >= records->fresh || ++returned > records->returned_count)
            return false;
    return records->length >= records->fresh &&
           returned == records->returned_count && records->fresh - returned == taken;
}
