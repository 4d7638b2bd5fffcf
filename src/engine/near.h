/* PEs that share memory: where they find each other's, and small reductions by loads and stores. */
#ifndef SHMEM_PARTITION_ENGINE_NEAR_H
#define SHMEM_PARTITION_ENGINE_NEAR_H

#include "collectives.h"

/* Collective over all PEs, when teams and the engine's collectives are there: finds out whether all share memory. */
void near_attach(void);
void near_detach(void);

/* Whether they do. */
bool near_together(void);

/* A new team, before its members meet: finds the places in the other members' memory. */
void near_join(struct team *team);

/* Alike on all members. */
bool near_can_reduce(const struct team *team, size_t bytes);

void near_reduce(struct team *team, combine_function *combine, void *target, const void *source, size_t count,
                 size_t bytes);

#endif
