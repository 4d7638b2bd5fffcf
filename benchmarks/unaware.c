/*
 * A program that knows nothing of partitions, for preload.py.  Allocates and
 * transfers by the names that it is linked with, behind which the preload library
 * may stand, and in turn by the engine's own functions; prints a line for each
 * call: its name, and the nanoseconds of both.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <shmem.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROUNDS = 101, LIVE = 1000, BYTES = 800, FEW = 50, LOOP_NANOSECONDS = 1000000 };

/* Functions, and the blocks that were allocated with them. */
struct calls {
    void *(*malloc)(size_t size);
    void (*free)(void *pointer);
    void (*put)(void *target, const void *source, size_t bytes, int pe);
    void (*get)(void *target, const void *source, size_t bytes, int pe);
    long (*fetch_add)(long *target, long value, int pe);
    uint64_t state;
    void *block[LIVE];
};

static struct calls by_name = {.malloc = shmem_malloc, .free = shmem_free, .put = shmem_putmem, .get = shmem_getmem,
                               .fetch_add = shmem_long_atomic_fetch_add};
static struct calls engines;
static long *target;
static int peer;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

/* ISO C has no cast from an object pointer to a function pointer; POSIX promises that the bits agree. */
static void find(void *function, void *library, const char *name)
{
    void *symbol = dlsym(library, name);
    if (!symbol)
        exit(EXIT_FAILURE);
    memcpy(function, &symbol, sizeof symbol);
}

/* In the library that has a function which nothing preloaded takes over. */
static void find_engines(void)
{
    Dl_info engine;
    void *known = dlsym(RTLD_DEFAULT, "shmem_my_pe");
    void *library = dladdr(known, &engine) ? dlopen(engine.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    if (!library)
        exit(EXIT_FAILURE);
    find(&engines.malloc, library, "shmem_malloc");
    find(&engines.free, library, "shmem_free");
    find(&engines.put, library, "shmem_putmem");
    find(&engines.get, library, "shmem_getmem");
    find(&engines.fetch_add, library, "shmem_long_atomic_fetch_add");
}

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state * UINT64_C(0x2545f4914f6cdd1d) >> 16;
}

static size_t mixed_size(struct calls *calls) { return 1 + next_random(&calls->state) % 8192; }

/* ---- the loops --------------------------------------------------------------------------------------------------- */

typedef void loop(struct calls *calls, long count);

static void allocate(struct calls *calls, long count)
{
    for (long i = 0; i < count; i++)
        calls->free(calls->malloc(BYTES));
}

/* Among many live blocks of mixed sizes. */
static void allocate_mixed(struct calls *calls, long count)
{
    for (long i = 0; i < count; i++) {
        uint64_t slot = next_random(&calls->state) % LIVE;
        calls->free(calls->block[slot]);
        calls->block[slot] = calls->malloc(mixed_size(calls));
    }
}

static void put(struct calls *calls, long count)
{
    static long source;
    for (long i = 0; i < count; i++)
        calls->put(target, &source, sizeof source, peer);
    shmem_quiet();
}

static void get(struct calls *calls, long count)
{
    static long local;
    for (long i = 0; i < count; i++)
        calls->get(&local, target, sizeof local, peer);
}

static void fetch_add(struct calls *calls, long count)
{
    for (long i = 0; i < count; i++)
        (void)calls->fetch_add(target, 1, peer);
}

/* ---- measuring --------------------------------------------------------------------------------------------------- */

static double time_of(loop *loop, struct calls *calls, long count)
{
    shmem_barrier_all();
    double start = now();
    loop(calls, count);
    return (now() - start) / (double)count;
}

static int by_value(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static double median(double *value)
{
    qsort(value, ROUNDS, sizeof *value, by_value);
    return value[ROUNDS / 2];
}

static void measure(const char *name, loop *loop)
{
    static long count, agreed;
    double named[ROUNDS], own[ROUNDS], ratio[ROUNDS];
    count = FEW + (long)(LOOP_NANOSECONDS / time_of(loop, &engines, FEW));
    shmem_barrier_all();
    shmem_long_get(&agreed, &count, 1, 0); /* loops that all take part in have to be as long on all */
    for (int i = 0; i < ROUNDS; i++) {
        if (i % 2)
            own[i] = time_of(loop, &engines, agreed);
        named[i] = time_of(loop, &by_name, agreed);
        if (i % 2 == 0)
            own[i] = time_of(loop, &engines, agreed);
        ratio[i] = named[i] / own[i];
    }
    if (shmem_my_pe() == 0)
        printf("%s %.1f %.1f %.4f\n", name, median(named), median(own), median(ratio));
}

static void fill(struct calls *calls)
{
    calls->state = 88172645463325252;
    for (int i = 0; i < LIVE; i++)
        calls->block[i] = calls->malloc(mixed_size(calls));
}

int main(void)
{
    shmem_init();
    find_engines();
    target = shmem_calloc(1, sizeof *target);
    peer = (shmem_my_pe() + 1) % shmem_n_pes();
    measure("malloc+free", allocate);
    fill(&by_name);
    fill(&engines);
    measure("malloc+free,mixed", allocate_mixed);
    measure("put", put);
    measure("get", get);
    measure("fetch_add", fetch_add);
    fflush(stdout);
    shmem_finalize();
    return 0;
}
