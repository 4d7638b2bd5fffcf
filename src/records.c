/*
 * The store of block records: see the header for the records themselves.
 *
 * Invariants: entries 0..chunks-1 of the directory are chunks; a record below
 * `fresh` is either taken or in the list of those given back, which are used
 * again first.  Memory goes back to the system with the heap only: a heap that
 * once had many blocks is likely to have them again.
 *
 * A directory that is full would have to be copied at once.  Instead its
 * successor exists beforehand: while the upper half of the present one fills,
 * each new chunk is entered in both, together with one of the lower half.
 */
#include "records.h"

#include <stdlib.h>

enum { FIRST_LENGTH = 16, MOST_CHUNKS = 1 << (32 - CHUNK_BITS) };

static bool lengthen(struct records *records)
{
    struct block **longer = malloc(2 * (size_t)records->length * sizeof(struct block *));
    if (longer == NULL)
        return false;
    records->longer = longer;
    return true;
}

/* Go over to the longer directory, which is complete. */
static void change_over(struct records *records)
{
    free(records->chunk);
    records->chunk = records->longer;
    records->longer = NULL;
    records->length *= 2;
}

static bool add_chunk(struct records *records)
{
    uint32_t half = records->length / 2, new = records->chunks;
    if (new == MOST_CHUNKS || (new >= half && records->longer == NULL && !lengthen(records)))
        return false;
    struct block *chunk = malloc(CHUNK_RECORDS * sizeof *chunk);
    if (chunk == NULL)
        return false;
    records->chunk[records->chunks++] = chunk;
    if (new >= half) {
        records->longer[new] = chunk;
        records->longer[new - half] = records->chunk[new - half];
    }
    if (records->chunks == records->length)
        change_over(records);
    return true;
}

bool records_start(struct records *records)
{
    *records = (struct records){.length = FIRST_LENGTH};
    records->chunk = malloc(FIRST_LENGTH * sizeof *records->chunk);
    if (records->chunk == NULL || !add_chunk(records)) {
        free(records->chunk);
        return false;
    }
    records->fresh = 1;
    *record_at(records, 0) = (struct block){.live = 0};
    return true;
}

void records_end(struct records *records)
{
    for (uint32_t i = 0; i < records->chunks; i++)
        free(records->chunk[i]);
    free(records->chunk);
    free(records->longer);
}

static uint32_t never_taken(const struct records *records)
{
    /* One record less than there could be: the number of all does not fit in 32 bits. */
    return (uint32_t)(((uint64_t)records->chunks << CHUNK_BITS) - 1 - records->fresh);
}

bool records_reserve(struct records *records, uint32_t count)
{
    while (records->returned_count + (uint64_t)never_taken(records) < count)
        if (!add_chunk(records))
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
    return (uint64_t)records->chunks << CHUNK_BITS >= records->fresh && records->chunks < records->length &&
           returned == records->returned_count && records->fresh - returned == taken;
}
