/*
 * The drop-in for programs that were never written for partitions: preloaded
 * (LD_PRELOAD) it stands before the engine, and passes OpenSHMEM's names for
 * starting and allocating on to libshmem_partition if the environment defines
 * something, and to whatever stands behind it if not.
 *
 * It needs nothing but the C library, since it is loaded into shells and
 * launchers too: it does nothing before the first call of one of its names,
 * and the partition library, with the engine that it was built for, is loaded
 * then.  A program that has linked it gets the very same one, by its soname
 * (LIBRARY, from the build).
 */
#define _GNU_SOURCE
#include "../interpose.h"

#include "has.h"
#include "passing.h"

#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PUBLIC __attribute__((visibility("default")))
#define CALLER __builtin_return_address(0)

static struct {
    bool decided;
    const struct interposed *partitions; /* NULL: nothing is defined */
} state;

static void end(const char *problem, const char *what) __attribute__((noreturn));

static void end(const char *problem, const char *what)
{
    fprintf(stderr, "shmem_partition: %s%s\n", problem, what);
    exit(EXIT_FAILURE);
}

/* ---- what stands behind ------------------------------------------------------------------------------------------ */

/* From what the caller itself was linked with: an extension may have an engine that others do not see. */
static void *symbol_beside(const void *caller, const char *name)
{
    Dl_info object;
    void *handle = dladdr(caller, &object) ? dlopen(object.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    void *symbol = handle ? dlsym(handle, name) : NULL;
    if (handle)
        dlclose(handle);
    return symbol;
}

/* ISO C has no cast from an object pointer to a function pointer; POSIX promises that the bits agree. */
static void find_next(void *function, const char *name, const void *caller)
{
    void *symbol = dlsym(RTLD_NEXT, name);
    if (!symbol)
        symbol = symbol_beside(caller, name);
    if (!symbol)
        end("this program has no OpenSHMEM library with ", name);
    memcpy(function, &symbol, sizeof symbol);
}

/* ---- the decision ------------------------------------------------------------------------------------------------ */

static bool anything_is_defined(void)
{
    static const char *const prefixes[] = {"SHMEM_SYMMETRIC_PARTITION", "SMA_SYMMETRIC_PARTITION",
                                           "SHMEM_PARTITION_RULES="};
    for (char **entry = environ; entry && *entry; entry++)
        for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
            if (strncmp(*entry, prefixes[i], strlen(prefixes[i])) == 0)
                return true;
    return false;
}

static struct link_map *object_of(const void *address)
{
    Dl_info unused;
    void *object = NULL;
    return address && dladdr1(address, &unused, &object, RTLD_DL_LINKMAP) ? object : NULL;
}

/* The partition library brings the engine that it was built for; a program that has another would have two. */
static void check_engine(void *handle, const struct link_map *last_before)
{
    const struct link_map *engine = object_of(dlsym(handle, "shmem_my_pe"));
    for (const struct link_map *one = last_before->l_next; one; one = one->l_next)
        if (one == engine)
            end("this program uses another OpenSHMEM library than the one that partitions were built for: ",
                engine->l_name);
}

static const struct interposed *load_partitions(void)
{
    const struct interposed *(*functions)(void);
    const struct link_map *last = object_of(&state);
    while (last && last->l_next)
        last = last->l_next;
    void *handle = dlopen(LIBRARY, RTLD_NOW);
    if (!handle)
        end("partitions are defined, but their library cannot be loaded: ", dlerror());
    if (last)
        check_engine(handle, last);
    void *symbol = dlsym(handle, "interposed_functions");
    memcpy(&functions, &symbol, sizeof symbol);
    if (!symbol || functions()->bytes != sizeof(struct interposed))
        end(LIBRARY, " and the preload library are of different versions: keep them in one directory");
    return functions();
}

static void decide(void)
{
    if (anything_is_defined())
        state.partitions = load_partitions();
    state.decided = true;
}

void shmem_partition_pass_on(void) { state.decided = true; }

static inline const struct interposed *partitions(void)
{
    if (__builtin_expect(!state.decided, 0))
        decide();
    return state.partitions;
}

/* ---- OpenSHMEM's names ------------------------------------------------------------------------------------------- */

/*
 * One name: its partition form if something is defined, else what stands behind,
 * which is found once and from then on costs a look at one pointer.
 */
#define PASS_ON(type, deliver, name, parameters, served, arguments)                                                    \
    PUBLIC type name parameters;                                                                                       \
    type name parameters                                                                                               \
    {                                                                                                                  \
        static type(*next) parameters;                                                                                 \
        if (__builtin_expect(!next, 0) && !partitions())                                                               \
            find_next(&next, #name, CALLER);                                                                           \
        if (__builtin_expect(next != NULL, 1))                                                                         \
            deliver next arguments;                                                                                    \
        else                                                                                                           \
            deliver state.partitions->served;                                                                          \
    }
#define DO(...) PASS_ON(void, , __VA_ARGS__)
#define GIVE(type, ...) PASS_ON(type, return, __VA_ARGS__)

#define INIT(name) DO(name, (void), init(), ())
#define INIT_THREAD(name)                                                                                              \
    GIVE(int, name, (int requested, int *provided), init_thread(requested, provided), (requested, provided))
#define START_PES(name) DO(name, (int unused), start_pes(unused), (unused))
#define FINALIZE(name) DO(name, (void), finalize(), ())
#define MALLOC(name) GIVE(void *, name, (size_t size), malloc(size, CALLER), (size))
#define CALLOC(name) GIVE(void *, name, (size_t count, size_t size), calloc(count, size, CALLER), (count, size))
#define ALIGN(name)                                                                                                    \
    GIVE(void *, name, (size_t alignment, size_t size), align(alignment, size, CALLER), (alignment, size))
#define REALLOC(name)                                                                                                  \
    GIVE(void *, name, (void *pointer, size_t size), realloc(pointer, size, CALLER), (pointer, size))
#define FREE(name) DO(name, (void *pointer), free(pointer), (pointer))

INIT(shmem_init)
INIT_THREAD(shmem_init_thread)
FINALIZE(shmem_finalize)
MALLOC(shmem_malloc)
CALLOC(shmem_calloc)
ALIGN(shmem_align)
REALLOC(shmem_realloc)
FREE(shmem_free)
GIVE(void *, shmem_malloc_with_hints, (size_t size, long hints), malloc_with_hints(size, hints, CALLER),
        (size, hints))
GIVE(void *, shmemx_kind_malloc, (size_t size, int id), kind_malloc(size, id), (size, id))
GIVE(void *, shmemx_kind_align, (size_t alignment, size_t size, int id), kind_align(alignment, size, id),
        (alignment, size, id))

START_PES(start_pes)
MALLOC(shmalloc)
ALIGN(shmemalign)
REALLOC(shrealloc)
FREE(shfree)

#if ENGINE_HAS_OLD_HINT
GIVE(void *, shmemx_malloc_with_hint, (size_t size, long hint), malloc_with_old_hint(size, hint, CALLER),
        (size, hint))
#endif

/* To where a profiler that stands before this library goes on. */
#if ENGINE_HAS_PROFILING_NAMES
INIT(pshmem_init)
INIT_THREAD(pshmem_init_thread)
START_PES(pstart_pes)
FINALIZE(pshmem_finalize)
MALLOC(pshmem_malloc)
CALLOC(pshmem_calloc)
ALIGN(pshmem_align)
REALLOC(pshmem_realloc)
FREE(pshmem_free)
MALLOC(pshmalloc)
ALIGN(pshmemalign)
REALLOC(pshrealloc)
FREE(pshfree)
#endif
