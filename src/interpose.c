/*
 * OpenSHMEM's own names for starting and allocating, taken over so that a
 * program that links this library first gets its partitions without a change:
 * the default partition is partition 1 where it is defined, the user's rules
 * send allocations to others, and pointers from any partition can be freed and
 * resized.  Stands on partition.c, allocation.c and rules.c.
 */
#define _GNU_SOURCE
#include "interpose.h"

#include "has.h"
#include "partition.h"
#include "report.h"
#include "shmem_partition.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

enum { ENGINE_HEAP = 0, DEFAULT_PARTITION = 1 };

#define PUBLIC __attribute__((visibility("default")))
#define CALLER __builtin_return_address(0)

/* The user's rule for an allocation; NULL: none. */
static struct rule *rule_for(size_t size, const void *site)
{
    struct rules *rules = &library.partitions.rules;
    Dl_info caller = {.dli_fname = NULL};
    if (rules->count == 0 || size == 0 || !partitions_running())
        return NULL;
    if (rules->ask_site && dladdr(site, &caller) == 0)
        caller.dli_fname = NULL; /* code from no file: made at run time */
    struct rule *rule = rules_find(rules, size, caller.dli_fname);
    if (rule)
        rule->taken++;
    return rule;
}

static int default_partition(void)
{
    return partitions_running() && partition_with_id(DEFAULT_PARTITION) ? DEFAULT_PARTITION : ENGINE_HEAP;
}

/* Where an allocation goes that names no partition. */
static int partition_for(size_t size, const void *site)
{
    const struct rule *rule = rule_for(size, site);
    return rule && rule->partition != RULE_DEFAULT_HEAP ? rule->partition : default_partition();
}

static bool is_ours(const void *pointer) { return library.partitions.count > 0 && partition_containing(pointer) != NULL; }

int shmem_partition_init_thread(int requested, int *provided) { return partitions_start(requested, provided); }

void shmem_partition_finalize_at_exit(void) { library.partitions.finalize_at_exit = true; }

static void start_or_end(int requested, int *provided)
{
    library.partitions.report = report_is_wanted();
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
    int id = partition_for(size, site);
    return id ? shmem_partition_malloc(size, id) : engine()->malloc(size);
}

static void *serve_calloc(size_t count, size_t size, const void *site)
{
    size_t bytes;
    int id = partition_for(__builtin_mul_overflow(count, size, &bytes) ? SIZE_MAX : bytes, site);
    return id ? shmem_partition_calloc(count, size, id) : engine()->calloc(count, size);
}

static void *serve_align(size_t alignment, size_t size, const void *site)
{
    int id = partition_for(size, site);
    return id ? shmem_partition_align(alignment, size, id) : engine()->align(alignment, size);
}

static void *serve_realloc(void *pointer, size_t size, const void *site)
{
    if (!pointer)
        return serve_malloc(size, site);
    return is_ours(pointer) ? shmem_partition_realloc(pointer, size) : engine()->realloc(pointer, size);
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

/* Rules are the user's, who knows this machine, and go before the program's hints. */
static int partition_for_hints(size_t size, long hints, const void *site)
{
    const struct partition *fast = partitions_running() ? partition_of_kind(KIND_FASTMEM) : NULL;
    const struct rule *rule = rule_for(size, site);
    if (rule && rule->partition != RULE_DEFAULT_HEAP)
        return rule->partition;
    bool to_fast = !rule && fast && (hints & SHMEM_PARTITION_HINT_HIGH_BANDWIDTH);
    return to_fast ? fast->definition.id : default_partition();
}

static void *serve_malloc_with_hints(size_t size, long hints, const void *site)
{
    int id = partition_for_hints(size, hints, site);
    hints &= ~SHMEM_PARTITION_HINT_HIGH_BANDWIDTH; /* not the engine's business */
    if (id)
        return shmem_partition_malloc(size, id);
    return engine()->malloc_with_hints ? engine()->malloc_with_hints(size, hints) : engine()->malloc(size);
}

#if ENGINE_HAS_OLD_HINT
static void *serve_malloc_with_old_hint(size_t size, long hint, const void *site)
{
    int id = partition_for(size, site);
    return id ? shmem_partition_malloc(size, id) : engine()->malloc_with_old_hint(size, hint);
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
