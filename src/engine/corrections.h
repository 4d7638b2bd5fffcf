/* Faults of engines that other files of this layer work around. */
#ifndef SHMEM_PARTITION_ENGINE_CORRECTIONS_H
#define SHMEM_PARTITION_ENGINE_CORRECTIONS_H

#include <stdbool.h>

bool engine_fetches_bits_wrongly(void);

#endif
