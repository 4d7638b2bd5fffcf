/*
 * What the symmetric allocator costs: time of malloc and free pairs against
 * glibc's, with few and many live blocks; footprint of mixed traces against
 * what is live; bytes of records per live block.
 *
 *     cc -O2 -I src benchmarks/allocator.c src/heap.c src/bins.c src/tree.c src/records.c -o allocator && ./allocator
 *
 * glibc answers most pairs from a cache per thread, without looking for a best
 * fit; its allocator proper, a descendant of dlmalloc, is measured with
 *
 *     GLIBC_TUNABLES=glibc.malloc.tcache_count=0:glibc.malloc.mxfast=0 ./allocator
 */
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "heap.h"

enum { REPETITIONS = 7, PAIRS = 200000 };

static const size_t heap_size = (size_t)1 << 38;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state * UINT64_C(0x2545f4914f6cdd1d) >> 16;
}

/* From 1 to 2^bits bytes, each doubling as likely as the next. */
static size_t mixed_size(uint64_t *state, unsigned bits)
{
    unsigned doubling = (unsigned)(next_random(state) % bits);
    return ((size_t)1 << doubling) + next_random(state) % ((size_t)1 << doubling);
}

static size_t taken(struct heap *heap, size_t size)
{
    enum heap_fault fault;
    size_t offset = heap_allocate(heap, size, HEAP_ALIGNMENT, &fault);
    if (fault != HEAP_OK)
        abort();
    return offset;
}

static int by_value(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static double median(double *value)
{
    qsort(value, REPETITIONS, sizeof *value, by_value);
    return value[REPETITIONS / 2];
}

/* The same choices for both allocators, made beforehand: a block to free, and a size to put there. */
struct choice {
    uint32_t slot, size;
};

static double time_heap(size_t live, const struct choice *choice)
{
    struct heap *heap = heap_create(heap_size, 0);
    size_t *offset = malloc(live * sizeof *offset);
    for (size_t i = 0; i < live; i++)
        offset[i] = taken(heap, choice[i % PAIRS].size);
    double start = 0;
    for (size_t i = 0; i < 2 * PAIRS; i++) { /* once over to mix, once to measure */
        if (i == PAIRS)
            start = now();
        const struct choice *one = &choice[i % PAIRS];
        heap_free(heap, offset[one->slot]);
        offset[one->slot] = taken(heap, one->size);
    }
    double seconds = now() - start;
    free(offset);
    heap_destroy(heap);
    return seconds / PAIRS;
}

static double time_malloc(size_t live, const struct choice *choice)
{
    void **block = malloc(live * sizeof *block);
    for (size_t i = 0; i < live; i++)
        block[i] = malloc(choice[i % PAIRS].size);
    double start = 0;
    for (size_t i = 0; i < 2 * PAIRS; i++) {
        if (i == PAIRS)
            start = now();
        const struct choice *one = &choice[i % PAIRS];
        free(block[one->slot]);
        block[one->slot] = malloc(one->size);
    }
    double seconds = now() - start;
    for (size_t i = 0; i < live; i++)
        free(block[i]);
    free(block);
    return seconds / PAIRS;
}

static void report_times(void)
{
    static const size_t counts[] = {10, 1000, 100000};
    struct choice *choice = malloc(PAIRS * sizeof *choice);
    printf("\n%12s %14s %14s %8s\n", "live blocks", "heap ns/pair", "glibc ns/pair", "ratio");
    for (int i = 0; i < 3; i++) {
        uint64_t state = 88172645463325252;
        for (int j = 0; j < PAIRS; j++) {
            choice[j].slot = (uint32_t)(next_random(&state) % counts[i]);
            choice[j].size = (uint32_t)mixed_size(&state, 14);
        }
        double heap[REPETITIONS], glibc[REPETITIONS], ratio[REPETITIONS];
        for (int j = 0; j < REPETITIONS; j++) {
            heap[j] = time_heap(counts[i], choice);
            glibc[j] = time_malloc(counts[i], choice);
            ratio[j] = heap[j] / glibc[j];
        }
        printf("%12zu %14.0f %14.0f %8.2f\n", counts[i], 1e9 * median(heap), 1e9 * median(glibc), median(ratio));
    }
    free(choice);
}

/* A trace of allocations and frees as a program would make them, replayed on a heap. */
struct trace {
    const char *name;
    size_t live;        /* blocks at most */
    unsigned bits;      /* of the largest size */
    int oldest_first;   /* a queue, else blocks die at random */
    int breathing;      /* the number of live blocks goes down to a half and up again */
};

struct footprint {
    size_t highest_end, most_asked, most_used;
};

struct replay {
    struct heap *heap;
    size_t *offset, *size, count, asked;
    struct footprint footprint;
};

static void replay_allocate(struct replay *replay, size_t size)
{
    size_t offset = taken(replay->heap, size), end = offset + size;
    replay->offset[replay->count] = offset;
    replay->size[replay->count++] = size;
    replay->asked += size;
    struct footprint *footprint = &replay->footprint;
    if (end > footprint->highest_end)
        footprint->highest_end = end;
    if (replay->asked > footprint->most_asked)
        footprint->most_asked = replay->asked;
}

static void replay_free(struct replay *replay, size_t victim)
{
    heap_free(replay->heap, replay->offset[victim]);
    replay->asked -= replay->size[victim];
    replay->count--;
    replay->offset[victim] = replay->offset[replay->count];
    replay->size[victim] = replay->size[replay->count];
}

static struct footprint replayed(const struct trace *trace)
{
    struct replay replay = {.heap = heap_create(heap_size, 0),
                            .offset = malloc(trace->live * sizeof(size_t)),
                            .size = malloc(trace->live * sizeof(size_t))};
    uint64_t state = 88172645463325252;
    for (size_t i = 0; i < 20 * trace->live; i++) {
        int exhale = trace->breathing && i / trace->live % 4 == 3;
        size_t target = exhale ? trace->live / 2 : trace->live - 1;
        while (replay.count > target)
            replay_free(&replay, (trace->oldest_first ? i : next_random(&state)) % replay.count);
        replay_allocate(&replay, mixed_size(&state, trace->bits));
    }
    struct heap_figures figures;
    heap_figures(replay.heap, &figures);
    replay.footprint.most_used = figures.peak;
    heap_destroy(replay.heap);
    free(replay.offset);
    free(replay.size);
    return replay.footprint;
}

static void report_footprints(void)
{
    static const struct trace traces[] = {{"few, up to 64 MiB", 30, 26, 0, 0},
                                          {"mixed, up to 1 MiB", 1000, 20, 0, 0},
                                          {"mixed, oldest first", 1000, 20, 1, 0},
                                          {"mixed, in phases", 1000, 20, 0, 1},
                                          {"small, up to 4 KiB", 1000, 12, 0, 0},
                                          {"many, up to 64 KiB", 20000, 16, 0, 0}};
    printf("\n%-22s %14s %14s %12s\n", "trace", "most live", "highest end", "end / live");
    for (size_t i = 0; i < sizeof traces / sizeof *traces; i++) {
        struct footprint footprint = replayed(&traces[i]);
        printf("%-22s %14zu %14zu %12.3f\n", traces[i].name, footprint.most_asked, footprint.highest_end,
               (double)footprint.highest_end / (double)footprint.most_asked);
    }
}

static size_t bytes_of_records(void)
{
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

/* With `spacing` 2 every other block is freed again: the most records that a heap can need per live block. */
static double record_bytes(size_t live, size_t spacing)
{
    size_t count = live * spacing, *offset = malloc(count * sizeof *offset);
    uint64_t state = 88172645463325252;
    size_t before = bytes_of_records();
    struct heap *heap = heap_create(heap_size, 0);
    for (size_t i = 0; i < count; i++)
        offset[i] = taken(heap, mixed_size(&state, 14));
    for (size_t i = 0; i < count; i++)
        if (i % spacing != 0)
            heap_free(heap, offset[i]);
    double bytes = (double)(bytes_of_records() - before) / (double)live;
    heap_destroy(heap);
    free(offset);
    return bytes;
}

static void report_records(void)
{
    static const size_t counts[] = {1000, 100000};
    printf("%12s %26s %26s\n", "live blocks", "record bytes each, dense", "every other one freed");
    for (int i = 0; i < 2; i++)
        printf("%12zu %26.1f %26.1f\n", counts[i], record_bytes(counts[i], 1), record_bytes(counts[i], 2));
}

int main(void)
{
    report_records(); /* first, while no freed memory hides what the records take */
    report_footprints();
    report_times();
    return 0;
}
