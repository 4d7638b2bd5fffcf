/* Waiting inside the collectives that we supply. */
#ifndef SHMEM_PARTITION_ENGINE_WAITS_H
#define SHMEM_PARTITION_ENGINE_WAITS_H

#include "engine.h"

/* Until another PE has raised the symmetric word here to the value or above. */
void wait_at_least(uint64_t *word, uint64_t value);

#endif
