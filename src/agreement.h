/*
 * Agreement between PEs: if one cannot do its part, all of them know, and know why.
 *
 * Stands on the engine's collectives.  Memory and messages per PE do not depend
 * on the number of PEs.
 */
#ifndef SHMEM_PARTITION_AGREEMENT_H
#define SHMEM_PARTITION_AGREEMENT_H

#include "message.h"

#include <stdbool.h>
#include <stddef.h>

/* Symmetric space for what is agreed on; collective.  0, or -1 with a message. */
int agreement_open(struct message *message);
void agreement_close(void);

/*
 * Collective.  Each PE says whether it failed, and if so why.  Returns 0 if no
 * PE failed; else -1 on all of them, `*pe` the lowest that failed, and
 * `message` its reason, with its number and host in front.
 */
int agreement_reach(bool failed, struct message *message, int *pe);

/* Collective.  Does every PE say yes? */
bool agreement_all(bool yes);

/*
 * Collective.  Is this text the same on all PEs?  If not, `message` says on each
 * PE that differs from PE 0 which line differs (-1 there, 0 on the others), and
 * the next agreement_reach makes all fail.
 */
int agreement_compare(const char *text, struct message *message);

#endif
