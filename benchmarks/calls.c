/*
 * The calls of calls.py as C makes them: each loop runs inside the job that is
 * measured, on the same heap and the same peer, and gives nanoseconds per call.
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

#define LOOP(name, statement)                                                                                          \
    double name(void *target, void *source, size_t bytes, int pe, long count);                                         \
    double name(void *target, void *source, size_t bytes, int pe, long count)                                          \
    {                                                                                                                  \
        (void)target, (void)source, (void)bytes, (void)pe;                                                             \
        double start = now();                                                                                          \
        for (long i = 0; i < count; i++)                                                                               \
            statement;                                                                                                 \
        return (now() - start) / (double)count;                                                                        \
    }

LOOP(c_put, shmem_putmem(target, source, bytes, pe))
LOOP(c_get, shmem_getmem(source, target, bytes, pe))
LOOP(c_fetch_add, (void)shmem_long_atomic_fetch_add(target, 1, pe))
LOOP(c_inc, shmem_long_atomic_inc(target, pe))
LOOP(c_barrier, shmem_barrier_all())
LOOP(c_wait, shmem_long_wait_until(target, SHMEM_CMP_GE, 0))
LOOP(c_allocate, shmem_free(shmem_malloc(bytes)))
