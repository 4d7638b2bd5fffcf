/*
 * A program that knows nothing of partitions, for preload.py: what allocating
 * and one-sided calls cost it, a line "name nanoseconds" each.  The loops are
 * those of calls.c.
 */
#include "calls.c"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { REPETITIONS = 15, LIVE = 1000, BYTES = 800, FEW = 50, LOOP_NANOSECONDS = 5000000 };

typedef double loop(void *target, void *source, size_t bytes, int pe, long count);

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state * UINT64_C(0x2545f4914f6cdd1d) >> 16;
}

/* Pairs among many live blocks of mixed sizes, the same on all PEs. */
static double allocate_mixed(void *unused_target, void *unused_source, size_t unused_bytes, int unused_pe, long count)
{
    static void *block[LIVE];
    static uint64_t state = 88172645463325252;
    (void)unused_target, (void)unused_source, (void)unused_bytes, (void)unused_pe;
    for (int i = 0; i < LIVE; i++)
        if (!block[i])
            block[i] = shmem_malloc(1 + next_random(&state) % 8192);
    double start = now();
    for (long i = 0; i < count; i++) {
        uint64_t slot = next_random(&state) % LIVE;
        shmem_free(block[slot]);
        block[slot] = shmem_malloc(1 + next_random(&state) % 8192);
    }
    return (now() - start) / (double)count;
}

static int by_value(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static void measure(const char *name, loop *loop, void *target, size_t bytes)
{
    static char source[BYTES];
    static long count;
    double nanoseconds[REPETITIONS];
    int peer = (shmem_my_pe() + 1) % shmem_n_pes();
    shmem_barrier_all();
    count = FEW + (long)(LOOP_NANOSECONDS / loop(target, source, bytes, peer, FEW));
    shmem_barrier_all();
    shmem_long_get(&count, &count, 1, 0); /* loops that all take part in have to be as long on all */
    for (int i = 0; i < REPETITIONS; i++) {
        shmem_barrier_all();
        nanoseconds[i] = loop(target, source, bytes, peer, count);
    }
    qsort(nanoseconds, REPETITIONS, sizeof *nanoseconds, by_value);
    if (shmem_my_pe() == 0)
        printf("%s %.1f\n", name, nanoseconds[REPETITIONS / 2]);
}

int main(void)
{
    shmem_init();
    long *target = shmem_calloc(1, BYTES);
    measure("malloc+free", c_allocate, target, BYTES);
    measure("malloc+free,mixed", allocate_mixed, target, BYTES);
    measure("put", c_put, target, 8);
    measure("get", c_get, target, 8);
    measure("fetch_add", c_fetch_add, target, 8);
    measure("barrier", c_barrier, target, 0);
    fflush(stdout);
    shmem_finalize();
    return 0;
}
