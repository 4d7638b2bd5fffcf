/* The two halves of the collectives: what the engine has, and what we supply. */
#ifndef SHMEM_PARTITION_ENGINE_COLLECTIVES_H
#define SHMEM_PARTITION_ENGINE_COLLECTIVES_H

#include "engine.h"
#include "teams.h"

/* Entries of a table of reductions, for the lists of elements.h: sum_int stands at ELEMENT_INT, and so on. */
#define ENTRY_AND(NAME, name, ...) [ELEMENT_##NAME] = and_##name,
#define ENTRY_OR(NAME, name, ...) [ELEMENT_##NAME] = or_##name,
#define ENTRY_XOR(NAME, name, ...) [ELEMENT_##NAME] = xor_##name,
#define ENTRY_MAX(NAME, name, ...) [ELEMENT_##NAME] = max_##name,
#define ENTRY_MIN(NAME, name, ...) [ELEMENT_##NAME] = min_##name,
#define ENTRY_SUM(NAME, name, ...) [ELEMENT_##NAME] = sum_##name,
#define ENTRY_PROD(NAME, name, ...) [ELEMENT_##NAME] = prod_##name,

/* Done by the engine, failed there, or left to us: it has no form for this team, or for these bytes. */
enum native { NATIVE_DONE, NATIVE_FAILED, NATIVE_NONE };

enum native native_broadcast(struct team *team, void *target, const void *source, size_t bytes, int root);
enum native native_collect(struct team *team, void *target, const void *source, size_t count, size_t element_bytes);
enum native native_fcollect(struct team *team, void *target, const void *source, size_t bytes);
enum native native_alltoall(struct team *team, void *target, const void *source, size_t bytes);
enum native native_alltoalls(struct team *team, void *target, const void *source, ptrdiff_t target_stride,
                             ptrdiff_t source_stride, size_t count, size_t element_bytes);
enum native native_reduce(struct team *team, enum reduction reduction, enum element element, void *target,
                          const void *source, size_t count);

/* Symmetric work areas of the older interface; collective. */
int native_attach(struct message *message);
void native_detach(void);

/* 0, or -1: no ordinary memory. */
void supplied_broadcast(struct team *team, void *target, const void *source, size_t bytes, int root);
void supplied_collect(struct team *team, void *target, const void *source, size_t bytes);
void supplied_fcollect(struct team *team, void *target, const void *source, size_t bytes);
void supplied_alltoall(struct team *team, void *target, const void *source, size_t bytes);
void supplied_alltoalls(struct team *team, void *target, const void *source, ptrdiff_t target_stride,
                        ptrdiff_t source_stride, size_t count, size_t element_bytes);
int supplied_reduce(struct team *team, enum reduction reduction, enum element element, void *target,
                    const void *source, size_t count);
int supplied_scan(struct team *team, enum element element, void *target, const void *source, size_t count,
                  bool inclusive);

/* What a reduction does with the elements of one member after another; NULL: there is no such reduction. */
typedef void combine_function(void *into, const void *from, size_t count);
combine_function *supplied_combination(enum reduction reduction, enum element element);

#endif
