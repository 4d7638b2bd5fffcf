/*
 * The symmetric allocator: which bytes of a block are whose.
 *
 * It decides about offsets only and stands on the block records (records.h),
 * of which the free ones are found by their size (sizes.h) and the live ones
 * by their start (starts.h); it never sees the memory that it hands out.  Where
 * a block goes depends on nothing but the calls made so far.
 *
 * Invariants, all of which heap_is_valid checks:
 *   - the blocks, live or free, follow one another from 0 to the heap's size
 *     without gap or overlap, in a ring closed by record 0;
 *   - no two free blocks are neighbours;
 *   - every block starts at a multiple of HEAP_ALIGNMENT; only the last one may
 *     have a size that is not a multiple, where the heap's own is not;
 *   - each live block is among the starts, each free one among the sizes, and
 *     nothing else is.
 *
 * Every change reserves its records first and cannot fail after that.
 */
#include "heap.h"

#include <stdint.h>
#include <stdlib.h>

#include "sizes.h"
#include "starts.h"

_Static_assert((int)UNIT == (int)HEAP_ALIGNMENT, "offsets are recorded in units of the alignment");

enum { RING = 0 }; /* the record between the last block and the first; live, so that nothing merges with it */

struct heap {
    struct records records;
    struct starts live;
    struct sizes free;
    size_t size, origin, used, peak;
};

static inline struct block *at(const struct heap *heap, uint32_t index)
{
    return record_at(&heap->records, index);
}

static inline size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* What a block takes of `room` >= `size` bytes: whole units, but for the end of a crooked heap. */
static inline size_t whole(size_t size, size_t room)
{
    return size + smaller(-size & (UNIT - 1), room - size);
}

/* The bytes that a block takes. */
static size_t extent(const struct heap *heap, const struct block *block)
{
    return block->live ? whole(block_size(block), heap->size - block_offset(block)) : block_size(block);
}

static void link_after(struct heap *heap, uint32_t before, uint32_t index)
{
    struct block *block = at(heap, index);
    uint32_t after = at(heap, before)->neighbour[ABOVE];
    block->neighbour[BELOW] = before;
    block->neighbour[ABOVE] = after;
    at(heap, before)->neighbour[ABOVE] = index;
    at(heap, after)->neighbour[BELOW] = index;
}

/* Take a block out of the ring and give its record back. */
static void drop(struct heap *heap, uint32_t index)
{
    const struct block *block = at(heap, index);
    at(heap, block->neighbour[BELOW])->neighbour[ABOVE] = block->neighbour[ABOVE];
    at(heap, block->neighbour[ABOVE])->neighbour[BELOW] = block->neighbour[BELOW];
    record_return(&heap->records, index);
}

/* Make a block free with this extent. */
static void set_free(struct heap *heap, uint32_t index, size_t offset, size_t size)
{
    struct block *block = at(heap, index);
    block_set_offset(block, offset);
    block_set_size(block, size);
    block->live = 0;
    sizes_insert(&heap->free, index);
}

/* Add a free block; its record is reserved. */
static void add_free(struct heap *heap, uint32_t before, size_t offset, size_t size)
{
    uint32_t index = record_take(&heap->records);
    link_after(heap, before, index);
    set_free(heap, index, offset, size);
}

static void set_used(struct heap *heap, size_t used)
{
    heap->used = used;
    if (used > heap->peak)
        heap->peak = used;
}

struct heap *heap_create(size_t size, size_t origin)
{
    struct heap *heap = size <= RECORDS_LARGEST_SIZE ? malloc(sizeof *heap) : NULL;
    if (heap == NULL)
        return NULL;
    *heap = (struct heap){.free.records = &heap->records, .size = size, .origin = origin};
    if (!records_start(&heap->records)) {
        free(heap);
        return NULL;
    }
    if (!starts_start(&heap->live, &heap->records)) {
        records_end(&heap->records);
        free(heap);
        return NULL;
    }
    at(heap, RING)->live = 1;
    if (size > 0)
        add_free(heap, RING, 0, size); /* there is room for its record from the start */
    return heap;
}

void heap_destroy(struct heap *heap)
{
    if (heap == NULL)
        return;
    starts_end(&heap->live);
    records_end(&heap->records);
    free(heap);
}

/* Make the middle of a free block live; what lies before and behind it stays free. */
static size_t carve(struct heap *heap, uint32_t index, const struct request *request)
{
    sizes_remove(&heap->free, index);
    struct block *block = at(heap, index);
    size_t start = block_offset(block), gap = gap_before(start, request), room = block_size(block) - gap;
    size_t taken = whole(request->size, room);
    if (room > taken)
        add_free(heap, index, start + gap + taken, room - taken);
    if (gap > 0)
        add_free(heap, block->neighbour[BELOW], start, gap);
    block_set_offset(block, start + gap);
    block_set_size(block, request->size);
    block->live = 1;
    starts_insert(&heap->live, index);
    set_used(heap, heap->used + taken);
    return start + gap;
}

size_t heap_allocate(struct heap *heap, size_t size, size_t alignment, enum heap_fault *fault)
{
    if (alignment < UNIT)
        alignment = UNIT;
    if (size == 0 || (alignment & (alignment - 1)) != 0) {
        *fault = HEAP_FULL;
        return HEAP_NONE;
    }
    const struct request request = {size, alignment, heap->origin};
    uint32_t index = sizes_find(&heap->free, &request);
    bool reserved = index != 0 && records_reserve(&heap->records, 2);
    *fault = index == 0 ? HEAP_FULL : reserved ? HEAP_OK : HEAP_NO_RECORD;
    return reserved ? carve(heap, index, &request) : HEAP_NONE;
}

/* The live block that contains an offset, or 0; one that does not start there is looked for from block to block. */
static uint32_t containing(const struct heap *heap, size_t offset)
{
    uint32_t index = starts_find(&heap->live, offset);
    if (index != 0 || offset >= heap->size)
        return index;
    do {
        index = at(heap, index)->neighbour[BELOW];
    } while (block_offset(at(heap, index)) > offset);
    return at(heap, index)->live ? index : 0;
}

/* What is wrong with an offset at which no live block starts. */
static enum heap_fault fault_at(const struct heap *heap, size_t offset)
{
    return containing(heap, offset) != 0 ? HEAP_INSIDE : HEAP_NOT_LIVE;
}

/* Take a free neighbour out, to be merged; returns its size, or 0 if the neighbour is not free. */
static size_t absorb(struct heap *heap, uint32_t index, int side)
{
    uint32_t neighbour = at(heap, index)->neighbour[side];
    const struct block *block = at(heap, neighbour);
    if (block->live)
        return 0;
    sizes_remove(&heap->free, neighbour);
    size_t size = block_size(block);
    drop(heap, neighbour);
    return size;
}

enum heap_fault heap_free(struct heap *heap, size_t offset)
{
    uint32_t index = starts_remove(&heap->live, offset);
    if (index == 0)
        return fault_at(heap, offset);
    size_t size = extent(heap, at(heap, index));
    heap->used -= size;
    size_t below = absorb(heap, index, BELOW), above = absorb(heap, index, ABOVE);
    set_free(heap, index, offset - below, below + size + above);
    return HEAP_OK;
}

enum heap_fault heap_resize(struct heap *heap, size_t offset, size_t size)
{
    uint32_t index = containing(heap, offset);
    struct block *block = at(heap, index);
    if (index == 0 || block_offset(block) != offset)
        return index == 0 ? HEAP_NOT_LIVE : HEAP_INSIDE;
    const struct block *next = at(heap, block->neighbour[ABOVE]);
    size_t old = extent(heap, block), room = old + (next->live ? 0 : block_size(next));
    if (size == 0 || size > room)
        return HEAP_FULL;
    size_t taken = whole(size, room);
    if (taken != old) {
        if (!records_reserve(&heap->records, 1))
            return HEAP_NO_RECORD;
        absorb(heap, index, ABOVE);
        if (room > taken)
            add_free(heap, index, offset + taken, room - taken);
        set_used(heap, heap->used - old + taken);
    }
    block_set_size(at(heap, index), size);
    return HEAP_OK;
}

enum heap_fault heap_find(const struct heap *heap, size_t offset, size_t *start, size_t *size)
{
    uint32_t index = containing(heap, offset);
    if (index == 0)
        return HEAP_NOT_LIVE;
    *start = block_offset(at(heap, index));
    *size = block_size(at(heap, index));
    return HEAP_OK;
}

void heap_figures(const struct heap *heap, struct heap_figures *figures)
{
    *figures = (struct heap_figures){.size = heap->size,
                                     .used = heap->used,
                                     .peak = heap->peak,
                                     .largest_free = sizes_largest(&heap->free),
                                     .live = heap->live.count};
}

/* What a walk around the ring has counted. */
struct totals {
    size_t end, used, largest_free;
    uint32_t live, free;
    uint32_t before; /* the last block seen */
};

/* Is this block where it must be, and what it must be? */
static bool is_block_valid(const struct heap *heap, const struct block *block, const struct totals *totals)
{
    size_t room = heap->size - totals->end, size = block_size(block);
    return block_offset(block) == totals->end && size > 0 && size <= room &&
           (extent(heap, block) % UNIT == 0 || extent(heap, block) == room) &&
           block->neighbour[BELOW] == totals->before && (block->live || at(heap, totals->before)->live);
}

static bool walk_ring(const struct heap *heap, struct totals *totals)
{
    const struct block *ring = at(heap, RING), *block;
    for (uint32_t index = ring->neighbour[ABOVE]; index != RING; index = block->neighbour[ABOVE]) {
        block = at(heap, index < heap->records.fresh ? index : RING);
        if (block == ring || !is_block_valid(heap, block, totals))
            return false;
        size_t size = extent(heap, block);
        totals->end += size;
        totals->before = index;
        totals->used += block->live ? size : 0;
        totals->largest_free = !block->live && size > totals->largest_free ? size : totals->largest_free;
        totals->live += block->live;
        totals->free += !block->live;
    }
    return totals->end == heap->size && ring->neighbour[BELOW] == totals->before && ring->live;
}

/* The counts being equal, nothing is missing if each live block is found; free ones link to one another. */
static bool is_ring_in_starts(const struct heap *heap)
{
    for (uint32_t index = at(heap, RING)->neighbour[ABOVE]; index != RING; index = at(heap, index)->neighbour[ABOVE])
        if (at(heap, index)->live && starts_find(&heap->live, block_offset(at(heap, index))) != index)
            return false;
    return true;
}

bool heap_is_valid(const struct heap *heap)
{
    struct totals totals = {.end = 0};
    return walk_ring(heap, &totals) && totals.used == heap->used && totals.largest_free == sizes_largest(&heap->free) &&
           heap->used <= heap->peak && heap->peak <= heap->size &&
           starts_are_valid(&heap->live, totals.live) && sizes_are_valid(&heap->free, totals.free) &&
           is_ring_in_starts(heap) && records_are_valid(&heap->records, totals.live + totals.free + 1);
}
