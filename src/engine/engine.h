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
    void *(*malloc_with_hints)(size_t size, long hints);   /* NULL where the engine has none */
    void *(*malloc_with_old_hint)(size_t size, long hint); /* Open MPI's own, of before OpenSHMEM 1.5 */
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

/* How many times the size of the heap a PE needs of addresses: its own, and views of those of its node. */
size_t engine_heap_views(void);

/* Where it maps its heap on every PE; 0: wherever the kernel likes. */
uintptr_t engine_heap_address(void);

/* What it maps beside the bytes that it was asked for. */
size_t engine_heap_addition(void);

/* Put right what must be right before the engine starts; `base_pages`: its heap is to be made of nothing else. */
void engine_correct_environment(bool base_pages);

/* For profilers: shmem_pcontrol, where the engine has it. */
void engine_pcontrol(int level);

/* Functions of the specification that the engine has and gets wrong, and that are put right; ends with NULL. */
const char *const *engine_corrected(void);

/* Prepare teams and collectives; collective, directly after the engine's start.  0, or -1 with a message. */
int engine_attach(struct message *message);
void engine_detach(void);

/* Is it the library that this one was built for?  0, or -1 with a message. */
int engine_check_library(struct message *message);

/* "launched 4 processes, the engine sees 1": a launcher of another library; 0, or -1 with a message. */
int engine_check_launch(struct message *message);

/* Where MPI and OpenSHMEM are one library, MPI_Finalize takes both down. */
bool engine_was_ended_by_mpi(void);

const char *engine_vendor(void);

/* Whether other memory may be mapped where shmem_ptr() shows another PE's: it is a plain mapping of shared memory. */
bool engine_views_can_be_mapped_over(void);

/* Whether the heap may be mapped over before the engine has looked at it. */
bool engine_heap_can_be_mapped_over_early(void);

/* This PE, as far as it is known: also when the start failed. */
int engine_my_pe(void);

/* All PEs meet, and what they put is complete; only with itself, and not with shmem_barrier_all(). */
void engine_meet(void);

/* Symmetric memory that is no partition's; collective. */
void *engine_malloc(size_t size);
void engine_free(void *pointer);

/* ---- teams -------------------------------------------------------------------------------------------------------- */

struct team;

struct team *engine_team_world(void);
struct team *engine_team_shared(void); /* the PEs whose memory this one can load from and store to */

int engine_team_size(const struct team *team);
int engine_team_me(const struct team *team);
int engine_team_contexts(const struct team *team);
int engine_team_world_pe(const struct team *team, int pe);
int engine_team_number_of(const struct team *team, int world_pe); /* -1: not a member */

/* Collective over the parent.  0, with NULL for those who are no members; or -1 on all of them, with a message. */
int engine_team_split_strided(struct team *parent, int start, int stride, int size, int contexts, struct team **result,
                              struct message *message);
int engine_team_split_2d(struct team *parent, int range, int x_contexts, int y_contexts, struct team **x,
                         struct team **y, struct message *message);

/* Collective over the team; not for the predefined ones. */
void engine_team_destroy(struct team *team);

/* Local: for teams that were still there when the library stopped. */
void engine_team_forget(struct team *team);

void engine_team_sync(struct team *team);

/* ---- are the arguments of collective calls the same everywhere? ---------------------------------------------------- */

enum call_kind {
    CALL_ALLOCATE, /* bytes, alignment, hints, partition */
    CALL_RESIZE,   /* number of the allocation, bytes, partition */
    CALL_FREE,     /* number of the allocation, bytes, partition */
    CALL_FREE_ALL, /* how many */
    CALL_BARRIER,
    CALL_SYNC,
    CALL_BROADCAST, /* elements, bytes of one, root */
    CALL_COLLECT,   /* bytes of an element */
    CALL_FCOLLECT,  /* elements, bytes of one */
    CALL_ALLTOALL,
    CALL_ALLTOALLS, /* elements, bytes of one, strides of target and source */
    CALL_REDUCE,    /* elements, type, operation */
    CALL_SCAN,
    CALL_SPLIT, /* start or range, stride, size */
    CALL_KINDS
};

enum { CALL_ARGUMENTS = 4 };

/* Before a barrier (or synchronisation) of the team: tell the next member what is about to be done. */
void engine_announce(struct team *team, enum call_kind kind, const uint64_t arguments[CALL_ARGUMENTS]);

/* Directly after it, and before other work: what engine_verify looks at comes into the cache meanwhile. */
void engine_expect(const struct team *team);

/* After it: 0, or -1 with a message that names this PE, the one before it, and how their calls differ. */
int engine_verify(struct team *team, struct message *message);

/* Of several PEs that have something to say, true on the first to ask. */
bool engine_may_speak(void);

/* ---- contexts ----------------------------------------------------------------------------------------------------- */

/* 0, or non-zero: the engine has no more of them. */
int engine_context_create(long options, shmem_ctx_t *context);

/* A hint that `operations` calls will follow on the context (0: unknown number), and its end. */
void engine_session_start(shmem_ctx_t context, long options, size_t operations);
void engine_session_stop(shmem_ctx_t context);

void engine_pe_quiet(shmem_ctx_t context, const int *pes, size_t count);

/* ---- collectives: the erased form of OpenSHMEM 1.5 ---------------------------------------------------------------- */

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

/* All return 0, or -1: no ordinary memory for a supplied form, or the engine's failed; addresses are symmetric. */
int engine_broadcast(struct team *team, void *target, const void *source, size_t bytes, int root);
int engine_collect(struct team *team, void *target, const void *source, size_t count, size_t element_bytes);

/* The elements that all members bring to a collect. Collective. */
uint64_t engine_collected_count(struct team *team, size_t count);
int engine_fcollect(struct team *team, void *target, const void *source, size_t bytes);
int engine_alltoall(struct team *team, void *target, const void *source, size_t bytes);
int engine_alltoalls(struct team *team, void *target, const void *source, ptrdiff_t target_stride,
                     ptrdiff_t source_stride, size_t count, size_t element_bytes);
int engine_reduce(struct team *team, enum reduction reduction, enum element element, void *target, const void *source,
                  size_t count);
int engine_scan(struct team *team, enum element element, void *target, const void *source, size_t count,
                bool inclusive);

bool engine_can_reduce(enum reduction reduction, enum element element);
size_t engine_element_bytes(enum element element);

/* ---- atomics and waiting, by element ------------------------------------------------------------------------------ */

enum atomic {
    ATOMIC_SET,
    ATOMIC_INC,
    ATOMIC_ADD,
    ATOMIC_AND,
    ATOMIC_OR,
    ATOMIC_XOR,
    ATOMIC_FETCH,
    ATOMIC_SWAP,
    ATOMIC_COMPARE_SWAP,
    ATOMIC_FETCH_INC,
    ATOMIC_FETCH_ADD,
    ATOMIC_FETCH_AND,
    ATOMIC_FETCH_OR,
    ATOMIC_FETCH_XOR,
    ATOMIC_COUNT
};

struct operands {
    union scalar value, condition;
};

/* Unused operands are ignored; `result` is set by the fetching ones. */
typedef void atomic_function(shmem_ctx_t context, void *target, const struct operands *operands, union scalar *result,
                             int pe);

/* NULL where the specification has no such atomic. */
extern atomic_function *const engine_atomics[ATOMIC_COUNT][ELEMENT_COUNT];

/* For the fetching ones that are in the table above; `fetch` is written by the time of the next quiet. */
void engine_atomic_nbi(enum atomic atomic, enum element element, shmem_ctx_t context, void *fetch, void *target,
                       const struct operands *operands, int pe);

/* One look at a local variable that others write: 1 if it satisfies the comparison, 0 if not yet; drives progress. */
typedef int test_function(void *variable, int comparison, const union scalar *value);

extern test_function *const engine_tests[ELEMENT_COUNT];

/* ---- transfers ---------------------------------------------------------------------------------------------------- */

/* Strided transfers of elements of any size, strides in elements; the second pair in blocks of elements. */
void engine_iput(shmem_ctx_t context, void *target, const void *source, ptrdiff_t target_stride,
                 ptrdiff_t source_stride, size_t count, size_t element_bytes, int pe);
void engine_iget(shmem_ctx_t context, void *target, const void *source, ptrdiff_t target_stride,
                 ptrdiff_t source_stride, size_t count, size_t element_bytes, int pe);
void engine_ibput(shmem_ctx_t context, void *target, const void *source, ptrdiff_t target_stride,
                  ptrdiff_t source_stride, size_t block, size_t count, size_t element_bytes, int pe);
void engine_ibget(shmem_ctx_t context, void *target, const void *source, ptrdiff_t target_stride,
                  ptrdiff_t source_stride, size_t block, size_t count, size_t element_bytes, int pe);

enum { ENGINE_SIGNAL_SET, ENGINE_SIGNAL_ADD };

void engine_signal(shmem_ctx_t context, uint64_t *signal, uint64_t value, int operation, int pe);
void engine_put_signal(shmem_ctx_t context, void *target, const void *source, size_t bytes, uint64_t *signal,
                       uint64_t value, int operation, int pe);
void engine_put_signal_nbi(shmem_ctx_t context, void *target, const void *source, size_t bytes, uint64_t *signal,
                           uint64_t value, int operation, int pe);

#pragma GCC visibility pop

#endif
