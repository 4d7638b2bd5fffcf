/* The two halves of the collectives: what the engine has, and what we supply. */
#ifndef SHMEM_PARTITION_ENGINE_COLLECTIVES_H
#define SHMEM_PARTITION_ENGINE_COLLECTIVES_H

#include "engine.h"

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
