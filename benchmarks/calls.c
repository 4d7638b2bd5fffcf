/*
 * The operations of operations.py as C makes them: each loop runs inside the
 * job that is measured, on the same heap and with the same peer, and gives
 * nanoseconds per call.
 */
#define _POSIX_C_SOURCE 199309L
#include <shmem.h>
#include <stddef.h>
#include <time.h>

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

/* `closing` completes what the loop has begun, so that it is paid for here and not in the next loop. */
#define LOOP(name, statement, closing)                                                                                 \
    double name(void *target, void *source, size_t bytes, int pe, long count);                                         \
    double name(void *target, void *source, size_t bytes, int pe, long count)                                          \
    {                                                                                                                  \
        (void)target, (void)source, (void)bytes, (void)pe;                                                             \
        double start = now();                                                                                          \
        for (long i = 0; i < count; i++)                                                                               \
            statement;                                                                                                 \
        closing;                                                                                                       \
        return (now() - start) / (double)count;                                                                        \
    }

LOOP(c_put, shmem_putmem(target, source, bytes, pe), shmem_quiet())
LOOP(c_get, shmem_getmem(source, target, bytes, pe), )
LOOP(c_p, shmem_long_p(target, 1, pe), shmem_quiet())
LOOP(c_g, (void)shmem_long_g(target, pe), )
LOOP(c_put_nbi, shmem_putmem_nbi(target, source, bytes, pe), shmem_quiet())
LOOP(c_put_nbi_quiet, (shmem_putmem_nbi(target, source, bytes, pe), shmem_quiet()), )
LOOP(c_fetch_add, (void)shmem_long_atomic_fetch_add(target, 1, pe), )
LOOP(c_inc, shmem_long_atomic_inc(target, pe), shmem_quiet())
LOOP(c_wait, shmem_long_wait_until(target, SHMEM_CMP_GE, 0), )
LOOP(c_barrier, shmem_barrier_all(), )
LOOP(c_allocate, shmem_free(shmem_malloc(bytes)), )

/* ---- a sum of one element, as each version of the specification has it ------------------------------------------- */

#if SHMEM_MAJOR_VERSION > 1 || SHMEM_MINOR_VERSION >= 5

int c_open(void);
int c_open(void) { return 0; }

LOOP(c_sum, shmem_long_sum_reduce(SHMEM_TEAM_WORLD, target, source, 1), )

#else

/* Two work areas in turn: whoever is in a reduction knows that all have left the one before the last. */
struct work {
    long sync[SHMEM_REDUCE_SYNC_SIZE], data[SHMEM_REDUCE_MIN_WRKDATA_SIZE];
};

static struct work *work;

int c_open(void);
int c_open(void)
{
    work = shmem_malloc(2 * sizeof *work);
    if (!work)
        return -1;
    for (int i = 0; i < SHMEM_REDUCE_SYNC_SIZE; i++)
        work[0].sync[i] = work[1].sync[i] = SHMEM_SYNC_VALUE;
    shmem_barrier_all();
    return 0;
}

LOOP(c_sum, shmem_long_sum_to_all(target, source, 1, 0, 0, shmem_n_pes(), work[i % 2].data, work[i % 2].sync), )

#endif
