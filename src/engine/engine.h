/*
 * The OpenSHMEM library ("engine") as the rest of the project sees it.
 *
 * What a library has is found by the build (has.h, generated), what it lacks
 * is supplied in supplied.c, what it gets wrong is put right in corrections.c;
 * everything above this header is blind to which library it is.
 */
#ifndef SHMEM_PARTITION_ENGINE_H
#define SHMEM_PARTITION_ENGINE_H

#include "../message.h"
#include "elements.h"

#include <shmem.h>
#include <stdbool.h>
#include <stddef.h>

/* The extension uses these; the version script keeps everything else inside. */
#pragma GCC visibility push(default)

/* ---- life cycle ---------------------------------------------------------------------------------------------- */

/* The engine's own functions behind the names that this library takes over (interpose.c). */
struct engine_functions {
    void (*init)(void);
    int (*init_thread)(int requested, int *provided);
    void (*finalize)(void);
    void *(*malloc)(size_t size);
    void *(*calloc)(size_t count, size_t size);
    void *(*align)(size_t alignment, size_t size);
    void *(*realloc)(void *pointer, size_t size);
    void (*free)(void *pointer);
    void *(*malloc_with_hints)(size_t size, long hints); /* NULL where the engine has none */
};

/* Resolved at the first call; ends the process with a message if the engine's library is not loaded. */
const struct engine_functions *engine(void);

/* The environment variables in which engines look for the size of their heap; ends with NULL. */
extern const char *const engine_size_variables[];

/* The one that this engine surely reads, and its own spelling beside the two of the specification (NULL: none). */
const char *engine_size_variable_read(void);
const char *engine_size_variable(void);

/* The size it takes if nobody says otherwise. */
size_t engine_default_heap(void);

/* Put right what must be right before the engine starts. */
void engine_correct_environment(void);

/* Prepare the collectives below; collective, directly after the engine's start.  0, or -1 with a message. */
int engine_attach(struct message *message);
void engine_detach(void);

/* "launched 4 processes, the engine sees 1": a launcher of another library; 0, or -1 with a message. */
int engine_check_launch(struct message *message);

const char *engine_vendor(void);

/* This PE, as far as it is known: also when the start failed. */
int engine_my_pe(void);

/* Symmetric memory that is no partition's; collective. */
void *engine_malloc(size_t size);
void engine_free(void *pointer);

/* ---- collectives on all PEs: the erased form of OpenSHMEM 1.5 ---------------------------------------------------- */

enum reduction {
    REDUCTION_AND,
    REDUCTION_OR,
    REDUCTION_XOR,
    REDUCTION_MAX,
    REDUCTION_MIN,
    REDUCTION_SUM,
    REDUCTION_PROD,
    REDUCTION_COUNT
};

/* All return 0, or non-zero if ordinary memory for a supplied form ran out; addresses are symmetric. */
int engine_broadcast(void *target, const void *source, size_t bytes, int root);
int engine_fcollect(void *target, const void *source, size_t bytes);
int engine_alltoall(void *target, const void *source, size_t bytes);
int engine_reduce(enum reduction reduction, enum element element, void *target, const void *source, size_t count);

bool engine_can_reduce(enum reduction reduction, enum element element);

/* ---- atomics and waiting, by element ----------------------------------------------------------------------------- */

enum atomic {
    ATOMIC_SET,
    ATOMIC_INC,
    ATOMIC_ADD,
    ATOMIC_FETCH,
    ATOMIC_FETCH_ADD,
    ATOMIC_COUNT
};

/* Unused arguments are ignored; `result` is set by the fetching ones. */
typedef void atomic_function(shmem_ctx_t context, void *target, const union scalar *value, union scalar *result,
                             int pe);

/* NULL where the specification has no such atomic. */
extern atomic_function *const engine_atomics[ATOMIC_COUNT][ELEMENT_COUNT];

/* One look at a local variable that others write: 1 if it satisfies the comparison, 0 if not yet; drives progress. */
typedef int test_function(void *variable, int comparison, const union scalar *value);

extern test_function *const engine_tests[ELEMENT_COUNT];

/* ---- transfers --------------------------------------------------------------------------------------------------- */

/* Strided transfers of elements of any size, strides in elements. */
void engine_iput(shmem_ctx_t context, void *target, const void *source, ptrdiff_t target_stride,
                 ptrdiff_t source_stride, size_t count, size_t element_bytes, int pe);
void engine_iget(shmem_ctx_t context, void *target, const void *source, ptrdiff_t target_stride,
                 ptrdiff_t source_stride, size_t count, size_t element_bytes, int pe);

#pragma GCC visibility pop

#endif
