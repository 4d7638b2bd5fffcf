/*
 * Records of the blocks of a heap, in ordinary memory; stands on nothing but
 * the C library.
 *
 * A record is known by a 32-bit index, half as long as a pointer, and takes 28
 * bytes: with a free block for every live one, which is the worst of a steady
 * state, that is still under 64 bytes per live block, with the 4 at most that
 * finding a live one takes.  Records lie one after another, and move when more
 * are reserved than there is room for.  Record 0 exists from the start and
 * stands for "none".
 */
#ifndef SHMEM_PARTITION_RECORDS_H
#define SHMEM_PARTITION_RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { UNIT = 16 };          /* every block starts at a multiple of this */
enum { BELOW = 0, ABOVE = 1 };   /* a direction by address */
enum { BEFORE = 0, BEHIND = 1 }; /* a direction in a list */

#define RECORDS_LARGEST_SIZE ((UINT64_C(1) << 48) - 1) /* of a heap: 256 TiB; no machine addresses more */

/*
 * A block of the heap.  Its size is that of the whole block while it is free,
 * and what the caller asked for while it is live.  Both numbers are in pieces
 * because no field may be wider than 32 bits if the record is not to be padded.
 */
struct block {
    uint32_t offset_low, size_low;
    uint32_t offset_high : 12, size_high : 16; /* of the offset in units, and of the size in bytes */
    uint32_t live : 1;
    uint32_t neighbour[2]; /* by address */
    uint32_t list[2];      /* in the list of free blocks of much the same size, or of live ones of the same hash */
};

_Static_assert(sizeof(struct block) == 28, "a record is not padded");

struct records {
    struct block *block;
    uint32_t length;         /* there is room for so many */
    uint32_t fresh;          /* records from here on were never taken */
    uint32_t returned;       /* the last one given back; they are linked by neighbour[ABOVE] */
    uint32_t returned_count;
};

static inline struct block *record_at(const struct records *records, uint32_t index)
{
    return &records->block[index];
}

static inline size_t block_offset(const struct block *block)
{
    return (size_t)((uint64_t)block->offset_high << 32 | block->offset_low) * UNIT;
}

static inline size_t block_size(const struct block *block)
{
    return (size_t)((uint64_t)block->size_high << 32 | block->size_low);
}

static inline void block_set_offset(struct block *block, size_t offset)
{
    uint64_t units = offset / UNIT;
    block->offset_low = (uint32_t)units;
    block->offset_high = (uint32_t)(units >> 32) & 0xfff;
}

static inline void block_set_size(struct block *block, size_t size)
{
    block->size_low = (uint32_t)size;
    block->size_high = (uint32_t)((uint64_t)size >> 32) & 0xffff;
}

/* Start with record 0 only; false if there is no memory. */
bool records_start(struct records *records);
void records_end(struct records *records);

/* Make sure that the next `count` calls of record_take succeed; false if there is no memory.  Addresses may change. */
bool records_reserve(struct records *records, uint32_t count);
uint32_t record_take(struct records *records);
void record_return(struct records *records, uint32_t index);

/* Do the records at hand, given back and never taken add up? */
bool records_are_valid(const struct records *records, uint32_t taken);

#endif
