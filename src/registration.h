/*
 * Has a network registered the engine's heap?  Then its pages are pinned: they
 * cannot be moved, and must not be given up or mapped over, since the network
 * would go on using those that it has.
 */
#ifndef SHMEM_PARTITION_REGISTRATION_H
#define SHMEM_PARTITION_REGISTRATION_H

#include <stdbool.h>

/* Of this PE's heap; asked before anything else makes all of its pages present. */
void registration_look(void);
bool registration_seen(void);

#endif
