/* Announcements between PEs of one node as stores, whatever the engine shows of other PEs' memory. */
#ifndef SHMEM_PARTITION_ENGINE_NOTICES_H
#define SHMEM_PARTITION_ENGINE_NOTICES_H

struct team;

/*
 * Collective.  Where the next PE's memory cannot be stored to, and it is on this
 * node, `next` of the team of all PEs points to its board then, and `told` of
 * that PE to the same.
 */
void notices_open(struct team *world);
void notices_close(void);

#endif
