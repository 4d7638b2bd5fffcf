/*
 * OpenSHMEM's own names for starting and allocating, taken over so that a
 * program that links this library first gets its partitions without a change:
 * the default partition is partition 1 where it is defined, and pointers from
 * any partition can be freed and resized.  Stands on partition.c and allocation.c.
 */
#define _GNU_SOURCE
#include "interpose.h"

#include "has.h"
#include "partition.h"
#include "shmem_partition.h"

#include <stdlib.h>
#include <time.h>

enum { DEFAULT_PARTITION = 1 };

#define PUBLIC __attribute__((visibility("default")))
#define CALLER __builtin_return_address(0)

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

/* ---- what is done, with the place of the call -------------------------------------------------------------------- */

static void serve_init(void)
{
    int provided;
    start_or_end(SHMEM_THREAD_SINGLE, &provided);
}

static int serve_init_thread(int requested, int *provided)
{
    start_or_end(requested, provided);
    return 0;
}

/* Programs that start so do not finalise. */
static void serve_start_pes(int unused)
{
    (void)unused;
    if (partitions_running())
        return;
    serve_init();
    shmem_partition_finalize_at_exit();
}

static void *serve_malloc(size_t size, const void *site)
{
    (void)site;
    return default_is_ours() ? shmem_partition_malloc(size, DEFAULT_PARTITION) : engine()->malloc(size);
}

static void *serve_calloc(size_t count, size_t size, const void *site)
{
    (void)site;
    return default_is_ours() ? shmem_partition_calloc(count, size, DEFAULT_PARTITION) : engine()->calloc(count, size);
}

static void *serve_align(size_t alignment, size_t size, const void *site)
{
    (void)site;
    return default_is_ours() ? shmem_partition_align(alignment, size, DEFAULT_PARTITION)
                             : engine()->align(alignment, size);
}

static void *serve_realloc(void *pointer, size_t size, const void *site)
{
    (void)site;
    if (is_ours(pointer) || (!pointer && default_is_ours()))
        return shmem_partition_realloc(pointer, size);
    return engine()->realloc(pointer, size);
}

static void serve_free(void *pointer)
{
    /* free(NULL) does nothing, and must not wait for PEs that have something to free. */
    if (!pointer)
        return;
    if (is_ours(pointer))
        shmem_partition_free(pointer);
    else
        engine()->free(pointer);
}

static void *serve_malloc_with_hints(size_t size, long hints, const void *site)
{
    struct partition *fast = partitions_running() ? partition_of_kind(KIND_FASTMEM) : NULL;
    if ((hints & SHMEM_PARTITION_HINT_HIGH_BANDWIDTH) && fast)
        return shmem_partition_malloc(size, fast->definition.id);
    hints &= ~SHMEM_PARTITION_HINT_HIGH_BANDWIDTH; /* not the engine's business */
    if (default_is_ours() || !engine()->malloc_with_hints)
        return serve_malloc(size, site);
    return engine()->malloc_with_hints(size, hints);
}

#if ENGINE_HAS_OLD_HINT
static void *serve_malloc_with_old_hint(size_t size, long hint, const void *site)
{
    return default_is_ours() ? serve_malloc(size, site) : engine()->malloc_with_old_hint(size, hint);
}
#endif

const struct interposed *interposed_functions(void)
{
    static const struct interposed functions = {
        .bytes = sizeof functions,
        .init = serve_init,
        .init_thread = serve_init_thread,
        .start_pes = serve_start_pes,
        .finalize = partitions_stop,
        .malloc = serve_malloc,
        .calloc = serve_calloc,
        .align = serve_align,
        .realloc = serve_realloc,
        .free = serve_free,
        .malloc_with_hints = serve_malloc_with_hints,
#if ENGINE_HAS_OLD_HINT
        .malloc_with_old_hint = serve_malloc_with_old_hint,
#endif
        .kind_malloc = shmemx_kind_malloc,
        .kind_align = shmemx_kind_align,
    };
    return &functions;
}

/* ---- OpenSHMEM's names ------------------------------------------------------------------------------------------- */

PUBLIC void shmem_init(void) { serve_init(); }
PUBLIC int shmem_init_thread(int requested, int *provided) { return serve_init_thread(requested, provided); }
PUBLIC void shmem_finalize(void) { partitions_stop(); }
PUBLIC void *shmem_malloc(size_t size) { return serve_malloc(size, CALLER); }
PUBLIC void *shmem_calloc(size_t count, size_t size) { return serve_calloc(count, size, CALLER); }
PUBLIC void *shmem_align(size_t alignment, size_t size) { return serve_align(alignment, size, CALLER); }
PUBLIC void *shmem_realloc(void *pointer, size_t size) { return serve_realloc(pointer, size, CALLER); }
PUBLIC void shmem_free(void *pointer) { serve_free(pointer); }
PUBLIC void *shmem_malloc_with_hints(size_t size, long hints) { return serve_malloc_with_hints(size, hints, CALLER); }

/* The names of before OpenSHMEM 1.2, which not every shmem.h declares. */

PUBLIC void start_pes(int unused);
PUBLIC void *shmalloc(size_t size);
PUBLIC void *shmemalign(size_t alignment, size_t size);
PUBLIC void *shrealloc(void *pointer, size_t size);
PUBLIC void shfree(void *pointer);

void start_pes(int unused) { serve_start_pes(unused); }
void *shmalloc(size_t size) { return serve_malloc(size, CALLER); }
void *shmemalign(size_t alignment, size_t size) { return serve_align(alignment, size, CALLER); }
void *shrealloc(void *pointer, size_t size) { return serve_realloc(pointer, size, CALLER); }
void shfree(void *pointer) { serve_free(pointer); }

#if ENGINE_HAS_OLD_HINT
PUBLIC void *shmemx_malloc_with_hint(size_t size, long hint) { return serve_malloc_with_old_hint(size, hint, CALLER); }
#endif

/*
 * Profilers define the names above and go on to these.  One that stands behind
 * this library is not asked: the engine's own functions are (engine/start.c).
 */
#if ENGINE_HAS_PROFILING_NAMES
#define PROFILED(type, name, old, arguments)                                                                           \
    PUBLIC type name arguments __attribute__((alias(#old)));

PROFILED(void, pshmem_init, shmem_init, (void))
PROFILED(int, pshmem_init_thread, shmem_init_thread, (int requested, int *provided))
PROFILED(void, pstart_pes, start_pes, (int unused))
PROFILED(void, pshmem_finalize, shmem_finalize, (void))
PROFILED(void *, pshmem_malloc, shmem_malloc, (size_t size))
PROFILED(void *, pshmem_calloc, shmem_calloc, (size_t count, size_t size))
PROFILED(void *, pshmem_align, shmem_align, (size_t alignment, size_t size))
PROFILED(void *, pshmem_realloc, shmem_realloc, (void *pointer, size_t size))
PROFILED(void, pshmem_free, shmem_free, (void *pointer))
PROFILED(void *, pshmalloc, shmalloc, (size_t size))
PROFILED(void *, pshmemalign, shmemalign, (size_t alignment, size_t size))
PROFILED(void *, pshrealloc, shrealloc, (void *pointer, size_t size))
PROFILED(void, pshfree, shfree, (void *pointer))
#endif
