// sources: heap.c sizes.c
/*
 * The symmetric allocator under random calls, and with memory for its records
 * running out at every point where it could.
 *
 * records.c and starts.c are included with allocators that refuse when they are told to.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static long mallocs_left = -1; /* no limit */

static bool is_refused(void)
{
    if (mallocs_left > 0)
        mallocs_left--;
    else if (mallocs_left == 0)
        return true;
    return false;
}

static void *limited_calloc(size_t count, size_t size) { return is_refused() ? NULL : calloc(count, size); }

/* To another place each time, so that nobody may rely on the old one. */
static void *limited_realloc(void *old, size_t size)
{
    static size_t old_size; /* of the one store that there is */
    void *memory = is_refused() ? NULL : malloc(size);
    if (!memory)
        return NULL;
    if (old)
        memcpy(memory, old, old_size);
    free(old);
    old_size = size;
    return memory;
}

#define realloc limited_realloc
#define calloc limited_calloc
#include "../../src/records.c"
#include "../../src/starts.c"
#undef realloc
#undef calloc

#include "heap.h"

#define CHECK(condition)                                                              \
    do {                                                                              \
        if (!(condition)) {                                                           \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);   \
            exit(1);                                                                  \
        }                                                                             \
    } while (0)

enum { MOST_LIVE = 3000, BYTES = (1 << 20) + 11 };

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state >> 8;
}

/* Blocks that the trace has, each filled with its own number so that an overlap shows. */
struct trace {
    struct heap *heap;
    unsigned char *memory;
    size_t count, offset[MOST_LIVE], size[MOST_LIVE];
    unsigned char mark[MOST_LIVE];
    uint64_t random;
};

static void check_mark(const struct trace *trace, size_t i, size_t size)
{
    for (size_t j = 0; j < size; j++)
        CHECK(trace->memory[trace->offset[i] + j] == trace->mark[i]);
}

static void fill(struct trace *trace, size_t i)
{
    trace->mark[i] = (unsigned char)next_random(&trace->random);
    memset(trace->memory + trace->offset[i], trace->mark[i], trace->size[i]);
}

static void allocate(struct trace *trace)
{
    enum heap_fault fault;
    struct heap_figures before, after;
    size_t size = 1 + next_random(&trace->random) % ((size_t)1 << next_random(&trace->random) % 13);
    size_t alignment = (size_t)1 << next_random(&trace->random) % 11;
    heap_figures(trace->heap, &before);
    size_t offset = heap_allocate(trace->heap, size, alignment, &fault);
    CHECK((offset == HEAP_NONE) == (fault != HEAP_OK));
    heap_figures(trace->heap, &after);
    if (fault != HEAP_OK) {
        CHECK(fault == HEAP_FULL && (alignment > HEAP_ALIGNMENT || before.largest_free < size));
        CHECK(memcmp(&before, &after, sizeof before) == 0);
        return;
    }
    CHECK(offset % alignment == 0 && offset % HEAP_ALIGNMENT == 0 && offset + size <= BYTES);
    CHECK(after.live == before.live + 1 && after.used >= before.used + size);
    trace->offset[trace->count] = offset;
    trace->size[trace->count] = size;
    fill(trace, trace->count++);
}

static void release(struct trace *trace, size_t i)
{
    check_mark(trace, i, trace->size[i]);
    if (trace->size[i] > 1)
        CHECK(heap_free(trace->heap, trace->offset[i] + 1) == HEAP_INSIDE);
    CHECK(heap_free(trace->heap, trace->offset[i]) == HEAP_OK);
    CHECK(heap_free(trace->heap, trace->offset[i]) == HEAP_NOT_LIVE);
    size_t last = --trace->count;
    trace->offset[i] = trace->offset[last];
    trace->size[i] = trace->size[last];
    trace->mark[i] = trace->mark[last];
}

static void resize(struct trace *trace, size_t i)
{
    size_t size = 1 + next_random(&trace->random) % (2 * trace->size[i]);
    enum heap_fault fault = heap_resize(trace->heap, trace->offset[i], size);
    CHECK(fault == HEAP_OK || fault == HEAP_FULL);
    if (fault == HEAP_OK) {
        check_mark(trace, i, size < trace->size[i] ? size : trace->size[i]);
        trace->size[i] = size;
        fill(trace, i);
    }
    size_t start, found;
    CHECK(heap_find(trace->heap, trace->offset[i] + trace->size[i] - 1, &start, &found) == HEAP_OK);
    CHECK(start == trace->offset[i] && found == trace->size[i]);
}

static void random_trace(uint64_t seed, int steps)
{
    struct trace *trace = calloc(1, sizeof *trace);
    trace->heap = heap_create(BYTES, 0);
    trace->memory = malloc(BYTES);
    trace->random = seed;
    for (int step = 0; step < steps; step++) {
        unsigned growing = step / 2000 % 2 ? 3 : 6;
        unsigned choice = (unsigned)(next_random(&trace->random) % 10);
        if (trace->count == 0 || (choice < growing && trace->count < MOST_LIVE))
            allocate(trace);
        else if (choice < 9)
            release(trace, next_random(&trace->random) % trace->count);
        else
            resize(trace, next_random(&trace->random) % trace->count);
        if (step % 64 == 0)
            CHECK(heap_is_valid(trace->heap));
    }
    while (trace->count > 0)
        release(trace, next_random(&trace->random) % trace->count);
    struct heap_figures figures;
    heap_figures(trace->heap, &figures);
    CHECK(figures.used == 0 && figures.live == 0 && figures.largest_free == BYTES && heap_is_valid(trace->heap));
    heap_destroy(trace->heap);
    free(trace->memory);
    free(trace);
}

/* Enough blocks for the directory of chunks to be changed over several times. */
static void many_blocks(void)
{
    enum { COUNT = 40000 };
    struct heap *heap = heap_create((size_t)COUNT * 32, 0);
    enum heap_fault fault;
    for (size_t i = 0; i < COUNT; i++)
        CHECK(heap_allocate(heap, 20, 1, &fault) == i * 32);
    CHECK(heap_allocate(heap, 1, 1, &fault) == HEAP_NONE && fault == HEAP_FULL && heap_is_valid(heap));
    for (size_t i = 1; i < COUNT; i += 2)
        CHECK(heap_free(heap, i * 32) == HEAP_OK);
    CHECK(heap_allocate(heap, 33, 1, &fault) == HEAP_NONE && fault == HEAP_FULL && heap_is_valid(heap));
    for (size_t i = 0; i < COUNT; i += 2)
        CHECK(heap_free(heap, i * 32) == HEAP_OK);
    CHECK(heap_is_valid(heap));
    heap_destroy(heap);
}

static void enormous_requests(void)
{
    struct heap *heap = heap_create(1000, 0);
    enum heap_fault fault;
    CHECK(heap_allocate(heap, 16, 1, &fault) == 0);
    for (size_t less = 0; less < 40; less++) {
        CHECK(heap_allocate(heap, SIZE_MAX - less, 1, &fault) == HEAP_NONE && fault == HEAP_FULL);
        CHECK(heap_allocate(heap, SIZE_MAX - less, 4096, &fault) == HEAP_NONE && fault == HEAP_FULL);
        CHECK(heap_resize(heap, 0, SIZE_MAX - less) == HEAP_FULL);
        CHECK(heap_free(heap, SIZE_MAX - less) == HEAP_NOT_LIVE);
    }
    CHECK(heap_allocate(heap, 1, SIZE_MAX / 2 + 1, &fault) == HEAP_NONE && fault == HEAP_FULL);
    CHECK(heap_is_valid(heap));
    heap_destroy(heap);
}

/* Fill a heap of one-unit blocks until the records run out; nothing is lost then, and a free helps. */
static void records_run_out(long mallocs)
{
    mallocs_left = mallocs;
    struct heap *heap = heap_create(1 << 20, 0);
    if (heap == NULL) {
        CHECK(mallocs < 3);
        return;
    }
    enum heap_fault fault;
    struct heap_figures before, after;
    size_t size = 1;
    while (heap_allocate(heap, size, 1, &fault) != HEAP_NONE)
        continue;
    CHECK(fault == HEAP_NO_RECORD && heap_is_valid(heap));
    heap_figures(heap, &before);
    CHECK(heap_allocate(heap, 2 << 20, 1, &fault) == HEAP_NONE && fault == HEAP_FULL);
    CHECK(heap_allocate(heap, size, 64, &fault) == HEAP_NONE && fault == HEAP_NO_RECORD);
    heap_figures(heap, &after);
    CHECK(memcmp(&before, &after, sizeof before) == 0 && heap_is_valid(heap));
    CHECK(heap_free(heap, 0) == HEAP_OK && heap_free(heap, 16) == HEAP_OK && heap_is_valid(heap));
    CHECK(heap_allocate(heap, 32, 1, &fault) == 0 && heap_is_valid(heap));
    mallocs_left = -1;
    CHECK(heap_allocate(heap, size, 64, &fault) != HEAP_NONE && heap_is_valid(heap));
    heap_destroy(heap);
}

int main(void)
{
    for (uint64_t seed = 1; seed <= 6; seed++)
        random_trace(seed * UINT64_C(0x9e3779b97f4a7c15), 10000);
    many_blocks();
    enormous_requests();
    for (long mallocs = 0; mallocs < 40; mallocs++)
        records_run_out(mallocs);
    return 0;
}
