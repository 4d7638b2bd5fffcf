/* Faults of engines that other files of this layer work around. */
#ifndef SHMEM_PARTITION_ENGINE_CORRECTIONS_H
#define SHMEM_PARTITION_ENGINE_CORRECTIONS_H

#include <stdbool.h>

/* Fetching bitwise atomics of all types return the old value, but store it combined with itself, not the operand. */
bool engine_fetches_bits_wrongly(void);

/* Compare-and-swap of 4 bytes writes 8 on the caller's stack. */
bool engine_compares_halves_wrongly(void);

/* Test drives no progress, without which nothing arrives by a network that needs the target's help; this does. */
void corrections_attach(void);
void engine_drive_progress(void);

#endif
