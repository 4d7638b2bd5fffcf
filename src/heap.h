/*
 * The symmetric allocator: a heap over offsets 0..size of one block.
 *
 * Plain C that never touches the block itself: all records lie in ordinary
 * memory, so a stray remote write cannot corrupt them and every byte of the
 * block is the user's.  Deterministic: the same sequence of calls gives the
 * same offsets on every PE.  What allocating, freeing and resizing cost does not
 * depend on the number of blocks, on the average and but for a heap that is all
 * but full; an address inside an allocation is found by going from block to block.
 */
#ifndef SHMEM_PARTITION_HEAP_H
#define SHMEM_PARTITION_HEAP_H

#include <stdbool.h>
#include <stddef.h>

struct heap;

enum { HEAP_ALIGNMENT = 16 }; /* the least that every allocation has: malloc's own on 64-bit machines */

#define HEAP_NONE ((size_t)-1)

enum heap_fault {
    HEAP_OK,
    HEAP_FULL,      /* no free block is large enough */
    HEAP_NO_RECORD, /* ordinary memory for the records ran out */
    HEAP_NOT_LIVE,  /* nothing is allocated there (freed already, or never) */
    HEAP_INSIDE     /* inside an allocation, not at its start */
};

struct heap_figures {
    size_t size, used, peak, largest_free; /* bytes; used counts whole blocks, peak is the greatest `used` so far */
    size_t live;                           /* blocks */
};

/*
 * `origin` is the address of offset 0, a multiple of HEAP_ALIGNMENT.  Only as many
 * of its low bits count as the greatest alignment that is asked for has: if PEs
 * agree in those, they get the same offsets.
 */
struct heap *heap_create(size_t size, size_t origin);
void heap_destroy(struct heap *heap);

/*
 * Allocate `size` (> 0) bytes at an address that is a multiple of `alignment` (a
 * power of two; below HEAP_ALIGNMENT counts as that).  Returns the offset, or HEAP_NONE and
 * the heap unchanged.  A single allocation of `largest_free` bytes succeeds.
 */
size_t heap_allocate(struct heap *heap, size_t size, size_t alignment, enum heap_fault *fault);

/* Free the allocation that starts at `offset`; on a fault nothing changes. */
enum heap_fault heap_free(struct heap *heap, size_t offset);

/*
 * Resize in place where the neighbourhood allows it.  Returns HEAP_OK, or
 * HEAP_FULL and the heap unchanged: the caller then allocates, copies and frees.
 */
enum heap_fault heap_resize(struct heap *heap, size_t offset, size_t size);

/* The allocation that contains `offset`: its start and the size that was asked for; HEAP_NOT_LIVE if none. */
enum heap_fault heap_find(const struct heap *heap, size_t offset, size_t *start, size_t *size);

void heap_figures(const struct heap *heap, struct heap_figures *figures);

/* Walk every structure and check every invariant: for tests and debug builds. */
bool heap_is_valid(const struct heap *heap);

#endif
