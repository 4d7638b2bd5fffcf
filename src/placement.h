/*
 * Placement: every kernel call about where memory lies is made here.
 *
 * Binding, populating, counting pages, free memory of nodes.  Knows nothing of
 * partitions, hwloc or OpenSHMEM; is asked by the partition layer only.
 */
#ifndef SHMEM_PARTITION_PLACEMENT_H
#define SHMEM_PARTITION_PLACEMENT_H

#include "bitset.h"
#include "message.h"

#include <stdint.h>

enum binding {
    BIND_ONLY,
    BIND_PREFERRED,
    BIND_INTERLEAVED,
    BIND_WEIGHTED /* interleaved by the kernel's weights of the nodes, where it has any */
};

struct node_bytes {
    int node; /* the NUMA node's number; -1: not present */
    uint64_t bytes;
};

size_t placement_page_size(void);

/* Whether the kernel interleaves by weights (since Linux 6.9). */
bool placement_has_weights(void);

/* Set the policy of whole pages at `address`; 0, or -1 with what was refused and the likely cause. */
int placement_bind(void *address, size_t size, enum binding binding, const struct nodeset *nodes,
                   struct message *message);

/* Take the policy back: pages come wherever the process's others do. */
void placement_unbind(void *address, size_t size);

/* Ask the kernel to move pages that lie elsewhere to where the policy wants them; what cannot move stays. */
void placement_move(void *address, size_t size, enum binding binding, const struct nodeset *nodes);

/* Give up the pages of a range whose contents do not matter; the next touch brings new ones, of zeros. */
void placement_discard(void *address, size_t size);

/*
 * Make every page of the range present, under the policy in force.  A
 * shortage is an error here, never a signal.  Returns 0, or -1 with a message.
 */
int placement_populate(void *address, size_t size, struct message *message);

/*
 * Count the pages of a range by node, as the kernel reports them.  `bytes` has
 * NODESET_BITS counters that are set; `*absent` is set to the bytes not yet
 * present.  Returns 0, or -1 with a message.
 */
int placement_count(const void *address, size_t size, uint64_t *bytes, uint64_t *absent, struct message *message);

/* Is every page of the range there, touched by this process or, in shared memory, by another? */
bool placement_is_present(const void *address, size_t size);

enum { PLACEMENT_BATCH = 1024 };

/* The node of each page, or a negative error number, for at most PLACEMENT_BATCH addresses.  0, or -1 with a message. */
int placement_nodes(void **address, size_t count, int *status, struct message *message);

/*
 * Move a batch of pages to a node each.  `status` is set to the node that a
 * page is on now, or to a negative error number where the kernel gives one;
 * the kernel stops at the first page that it cannot move.  0; 1: a node is full;
 * or -1 with a message.
 */
int placement_send(void **address, size_t count, const int *node, int *status, struct message *message);

/* Free memory of a node, with the page cache that the kernel would give up; 0 if it cannot be read. */
__attribute__((visibility("default"))) uint64_t placement_free_bytes(int node);

/* Memory that could be had now on the whole machine, or in the container that this process is in. */
struct room {
    uint64_t bytes;    /* 0: not known */
    const char *limit; /* what says so: "the node" */
};

struct room placement_room(void);

/* Put pages of zeros where a range is no longer mapped, so that what still points there does no harm. */
void placement_fill_hole(void *address, size_t size);

/* The CPUs on which this process may run. */
int placement_allowed_cpus(struct cpuset *cpus, struct message *message);

#endif
