/*
 * OpenSHMEM's own names for starting and allocating, taken over so that a
 * program that links this library first gets its partitions without a change:
 * the default partition is partition 1 where it is defined, and pointers from
 * any partition can be freed and resized.  Stands on partition.c and allocation.c.
 */
#define _GNU_SOURCE
#include "shmem_partition.h"

#include "partition.h"

#include <stdlib.h>
#include <time.h>

enum { DEFAULT_PARTITION = 1 };

#define PUBLIC __attribute__((visibility("default")))

static bool default_is_ours(void) { return partitions_running() && partition_with_id(DEFAULT_PARTITION) != NULL; }

static bool is_ours(const void *pointer) { return library.partitions.count > 0 && partition_containing(pointer) != NULL; }

int shmem_partition_init_thread(int requested, int *provided) { return partitions_start(requested, provided); }

void shmem_partition_finalize_at_exit(void) { library.partitions.finalize_at_exit = true; }

static void start_or_end(int requested, int *provided)
{
    if (partitions_start(requested, provided) == 0)
        return;
    /* All PEs failed alike: the one that the message is about says it; PE 0 if it is about none. */
    int speaker = shmem_partition_failed_pe() < 0 ? 0 : shmem_partition_failed_pe();
    if (library.engine.my_pe == speaker)
        fprintf(stderr, "shmem_partition: %s\n", shmem_partition_error());
    shmem_barrier_all(); /* the message is out before the first PE ends the job, */
    nanosleep(&(struct timespec){.tv_nsec = 500000000}, NULL); /* and passed on: some launchers drop it else */
    shmem_global_exit(EXIT_FAILURE);
}

PUBLIC void shmem_init(void)
{
    int provided;
    start_or_end(SHMEM_THREAD_SINGLE, &provided);
}

PUBLIC int shmem_init_thread(int requested, int *provided)
{
    start_or_end(requested, provided);
    return 0;
}

PUBLIC void shmem_finalize(void) { partitions_stop(); }

PUBLIC void *shmem_malloc(size_t size)
{
    return default_is_ours() ? shmem_partition_malloc(size, DEFAULT_PARTITION) : engine()->malloc(size);
}

PUBLIC void *shmem_calloc(size_t count, size_t size)
{
    return default_is_ours() ? shmem_partition_calloc(count, size, DEFAULT_PARTITION) : engine()->calloc(count, size);
}

PUBLIC void *shmem_align(size_t alignment, size_t size)
{
    return default_is_ours() ? shmem_partition_align(alignment, size, DEFAULT_PARTITION)
                             : engine()->align(alignment, size);
}

PUBLIC void *shmem_realloc(void *pointer, size_t size)
{
    if (is_ours(pointer) || (!pointer && default_is_ours()))
        return shmem_partition_realloc(pointer, size);
    return engine()->realloc(pointer, size);
}

PUBLIC void shmem_free(void *pointer)
{
    /* free(NULL) does nothing, and must not wait for PEs that have something to free. */
    if (!pointer)
        return;
    if (is_ours(pointer))
        shmem_partition_free(pointer);
    else
        engine()->free(pointer);
}

PUBLIC void *shmem_malloc_with_hints(size_t size, long hints)
{
    struct partition *fast = partitions_running() ? partition_of_kind(KIND_FASTMEM) : NULL;
    if ((hints & SHMEM_PARTITION_HINT_HIGH_BANDWIDTH) && fast)
        return shmem_partition_malloc(size, fast->definition.id);
    hints &= ~SHMEM_PARTITION_HINT_HIGH_BANDWIDTH; /* not the engine's business */
    if (default_is_ours() || !engine()->malloc_with_hints)
        return shmem_malloc(size);
    return engine()->malloc_with_hints(size, hints);
}
