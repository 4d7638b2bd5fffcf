/*
 * What the symmetric allocator costs: time of malloc and free pairs against
 * glibc's, with few and many live blocks; footprint of mixed traces against
 * what is live, over several seeds; bytes of records per live block.
 *
 *     cc -O2 -I src benchmarks/allocator.c src/heap.c src/sizes.c src/starts.c src/records.c -lm -o allocator
 *     ./allocator
 *
 * glibc answers most pairs from a cache per thread, without looking for a best
 * fit; its allocator proper, a descendant of dlmalloc, is measured with
 *
 *     GLIBC_TUNABLES=glibc.malloc.tcache_count=0:glibc.malloc.mxfast=0 ./allocator
 *
 * and dlmalloc itself, if you have its source, with -DDLMALLOC and an object
 * made of it with -DONLY_MSPACES=1 -DUSE_LOCKS=0.
 */
#include <malloc.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "heap.h"

enum { REPETITIONS = 7, PAIRS = 200000, SEEDS = 8 };

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

/* An allocator to be timed: what it hands out is an offset or an address. */
struct allocator {
    const char *name;
    void *(*start)(void);
    size_t (*take)(void *state, size_t size);
    void (*give)(void *state, size_t block);
    void (*end)(void *state);
};

static void *heap_start(void)
{
    return heap_create(heap_size, 0);
}

static size_t heap_take(void *state, size_t size)
{
    return taken(state, size);
}

static void heap_give(void *state, size_t block)
{
    heap_free(state, block);
}

static void heap_end(void *state)
{
    heap_destroy(state);
}

static void *no_start(void)
{
    return NULL;
}

static size_t glibc_take(void *state, size_t size)
{
    (void)state;
    return (size_t)malloc(size);
}

static void glibc_give(void *state, size_t block)
{
    (void)state;
    free((void *)block);
}

static void no_end(void *state)
{
    (void)state;
}

#ifdef DLMALLOC
void *create_mspace(size_t capacity, int locked);
size_t destroy_mspace(void *space);
void *mspace_malloc(void *space, size_t size);
void mspace_free(void *space, void *block);

static void *dlmalloc_start(void)
{
    return create_mspace(0, 0);
}

static size_t dlmalloc_take(void *state, size_t size)
{
    return (size_t)mspace_malloc(state, size);
}

static void dlmalloc_give(void *state, size_t block)
{
    mspace_free(state, (void *)block);
}

static void dlmalloc_end(void *state)
{
    destroy_mspace(state);
}
#endif

static const struct allocator allocators[] = {{"heap", heap_start, heap_take, heap_give, heap_end},
                                              {"glibc", no_start, glibc_take, glibc_give, no_end},
#ifdef DLMALLOC
                                              {"dlmalloc", dlmalloc_start, dlmalloc_take, dlmalloc_give, dlmalloc_end},
#endif
};

enum { ALLOCATORS = sizeof allocators / sizeof *allocators };

static double time_pairs(const struct allocator *allocator, size_t live, const struct choice *choice)
{
    void *state = allocator->start();
    size_t *block = malloc(live * sizeof *block);
    for (size_t i = 0; i < live; i++)
        block[i] = allocator->take(state, choice[i % PAIRS].size);
    double start = 0;
    for (size_t i = 0; i < 2 * PAIRS; i++) { /* once over to mix, once to measure */
        if (i == PAIRS)
            start = now();
        const struct choice *one = &choice[i % PAIRS];
        allocator->give(state, block[one->slot]);
        block[one->slot] = allocator->take(state, one->size);
    }
    double seconds = now() - start;
    for (size_t i = 0; i < live; i++)
        allocator->give(state, block[i]);
    free(block);
    allocator->end(state);
    return seconds / PAIRS;
}

static void choose(struct choice *choice, size_t live)
{
    uint64_t state = 88172645463325252;
    for (int j = 0; j < PAIRS; j++) {
        choice[j].slot = (uint32_t)(next_random(&state) % live);
        choice[j].size = (uint32_t)mixed_size(&state, 14);
    }
}

static void report_times(void)
{
    static const size_t counts[] = {10, 1000, 100000};
    struct choice *choice = malloc(PAIRS * sizeof *choice);
    printf("\n%12s", "live blocks");
    for (int k = 0; k < ALLOCATORS; k++)
        printf(" %8s ns/pair", allocators[k].name);
    printf("   heap / last\n");
    for (int i = 0; i < 3; i++) {
        choose(choice, counts[i]);
        double seconds[ALLOCATORS][REPETITIONS], ratio[REPETITIONS];
        for (int j = 0; j < REPETITIONS; j++) {
            for (int k = 0; k < ALLOCATORS; k++)
                seconds[k][j] = time_pairs(&allocators[k], counts[i], choice);
            ratio[j] = seconds[0][j] / seconds[ALLOCATORS - 1][j];
        }
        printf("%12zu", counts[i]);
        for (int k = 0; k < ALLOCATORS; k++)
            printf(" %16.0f", 1e9 * median(seconds[k]));
        printf(" %13.2f\n", median(ratio));
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

static struct footprint replayed(const struct trace *trace, uint64_t state)
{
    struct replay replay = {.heap = heap_create(heap_size, 0),
                            .offset = malloc(trace->live * sizeof(size_t)),
                            .size = malloc(trace->live * sizeof(size_t))};
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
    printf("\n%-22s %22s %8s %8s %8s\n", "trace", "highest end / most live", "least", "mean", "most");
    for (size_t i = 0; i < sizeof traces / sizeof *traces; i++) {
        double least = INFINITY, most = 0, sum = 0;
        for (uint64_t seed = 0; seed < SEEDS; seed++) {
            struct footprint footprint = replayed(&traces[i], 88172645463325252 + 7919 * seed);
            double ratio = (double)footprint.highest_end / (double)footprint.most_asked;
            least = fmin(least, ratio);
            most = fmax(most, ratio);
            sum += ratio;
        }
        printf("%-46s %8.3f %8.3f %8.3f\n", traces[i].name, least, sum / SEEDS, most);
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
