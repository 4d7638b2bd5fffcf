/* The two halves of the collectives: what the engine has, and what we supply. */
#ifndef SHMEM_PARTITION_ENGINE_COLLECTIVES_H
#define SHMEM_PARTITION_ENGINE_COLLECTIVES_H

#include "engine.h"

/* Entries of a table of reductions, for the lists of elements.h: sum_int stands at ELEMENT_INT, and so on. */
#define ENTRY_AND(NAME, name, ...) [ELEMENT_##NAME] = and_##name,
#define ENTRY_OR(NAME, name, ...) [ELEMENT_##NAME] = or_##name,
#define ENTRY_XOR(NAME, name, ...) [ELEMENT_##NAME] = xor_##name,
#define ENTRY_MAX(NAME, name, ...) [ELEMENT_##NAME] = max_##name,
#define ENTRY_MIN(NAME, name, ...) [ELEMENT_##NAME] = min_##name,
#define ENTRY_SUM(NAME, name, ...) [ELEMENT_##NAME] = sum_##name,
#define ENTRY_PROD(NAME, name, ...) [ELEMENT_##NAME] = prod_##name,

typedef void reduce_function(void *target, const void *source, size_t count);

/* NULL where the engine has no reduction of its own for the type. */
extern reduce_function *const native_reductions[REDUCTION_COUNT][ELEMENT_COUNT];

/* 0: done by the engine; 1: the engine has no form for these bytes. */
int native_broadcast(void *target, const void *source, size_t bytes, int root);
int native_fcollect(void *target, const void *source, size_t bytes);
int native_alltoall(void *target, const void *source, size_t bytes);

/* Symmetric work areas of the older interface; collective. */
int native_attach(struct message *message);
void native_detach(void);

void supplied_broadcast(void *target, const void *source, size_t bytes, int root);
void supplied_fcollect(void *target, const void *source, size_t bytes);
void supplied_alltoall(void *target, const void *source, size_t bytes);
int supplied_reduce(enum reduction reduction, enum element element, void *target, const void *source, size_t count);
bool supplied_can_reduce(enum reduction reduction, enum element element);
size_t element_bytes(enum element element);

#endif
