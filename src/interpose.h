/*
 * OpenSHMEM's names as this library serves them, for the preload library
 * (preload/preload.c): it stands before the engine where this one may not, and
 * passes on what the program called together with the place of the call.
 */
#ifndef SHMEM_PARTITION_INTERPOSE_H
#define SHMEM_PARTITION_INTERPOSE_H

#include <stddef.h>

/* `site` is an address in the code that asked for the memory. */
struct interposed {
    size_t bytes; /* of this structure: both libraries must come from one build */
    void (*init)(void);
    int (*init_thread)(int requested, int *provided);
    void (*start_pes)(int unused);
    void (*finalize)(void);
    void *(*malloc)(size_t size, const void *site);
    void *(*calloc)(size_t count, size_t size, const void *site);
    void *(*align)(size_t alignment, size_t size, const void *site);
    void *(*realloc)(void *pointer, size_t size, const void *site);
    void (*free)(void *pointer);
    void *(*malloc_with_hints)(size_t size, long hints, const void *site);
    void *(*malloc_with_old_hint)(size_t size, long hint, const void *site); /* NULL where the engine has none */
    void *(*kind_malloc)(size_t size, int partition_id);
    void *(*kind_align)(size_t alignment, size_t size, int partition_id);
};

__attribute__((visibility("default"))) const struct interposed *interposed_functions(void);

#endif
