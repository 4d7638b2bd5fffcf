/*
 * Pages of another size: blocks whose partition asks for huge pages or for
 * transparent ones get them before anybody uses the memory.  Stands on
 * placement.c for every kernel call, and on the engine for its peers' views.
 */
#ifndef SHMEM_PARTITION_PAGES_H
#define SHMEM_PARTITION_PAGES_H

#include "message.h"
#include "placement.h"
#include "state.h"

/* Whether the definition asks for pages that are not the base pages. */
bool pages_special(const struct definition *definition);

/* The size of page that the block is to be made of: its length and place are multiples of it. */
size_t pages_unit(const struct definition *definition);

/* Does the machine have pages of this size?  Local.  0, or -1 with a message. */
int pages_exist(const struct definition *definition, struct message *message);

#define PAGES_TOO_FEW "the kernel has too few of them there"

/* Why a block cannot have its pages: `cause`, and what is free. */
void pages_complain_short(const struct definition *definition, size_t block_bytes, const struct nodeset *nodes,
                          const char *cause, struct message *message);

enum pages_result {
    PAGES_DONE,
    PAGES_REFUSED, /* not to be had on this PE; the block is as it was, and the caller knows whether that is a fault */
    PAGES_BROKEN   /* PEs look at different memory now; the job cannot go on */
};

/*
 * Collective.  Put the pages that were asked for under the block, on its nodes
 * and with its policy, populated.  A message tells what is missing.
 */
enum pages_result pages_put_under(struct partition *partition, enum binding binding, struct message *message);

/*
 * The same as the engine maps its heap, where no other PE will look at it in a
 * mapping of its own.  What fails is tried again, and told, by the former.
 */
void pages_put_under_early(struct partition *partition, enum binding binding);

/*
 * Has early placement put the pages under the whole block, and did these have to be others than base pages?  An
 * engine may have taken huge pages for its heap by itself, but anywhere.
 */
bool pages_in_place(const struct partition *partition);

/* How many bytes of the block lie in huge pages, as the kernel says. */
uint64_t pages_huge_bytes(const struct partition *partition);

#endif
