/*
 * Pages of another size.  An engine's heap is made of base pages, so that others
 * are mapped over a block before it is in use.  They are made ready somewhere
 * else first, on the right nodes and populated: what fails then leaves the block
 * as it was, and no later touch of a page can kill anybody.
 *
 * Where the heap is shared memory, the other PEs of the node look at the block
 * through mappings of their own (shmem_ptr); they map the same pages there, from
 * a file descriptor that they find in /proc.
 */
#define _GNU_SOURCE
#include "pages.h"

#include "agreement.h"
#include "huge.h"
#include "registration.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { TRANSPARENT_PAGE = 2 << 20 };

/* Symmetric: where the others find the pages of this PE's block. */
struct offer {
    long process, descriptor; /* -1: the block stays as it was */
};

bool pages_special(const struct definition *definition)
{
    return definition->transparent_huge ||
           (definition->page_size != 0 && definition->page_size != placement_page_size());
}

size_t pages_unit(const struct definition *definition)
{
    if (!pages_special(definition))
        return placement_page_size();
    return definition->transparent_huge ? (size_t)TRANSPARENT_PAGE : definition->page_size;
}

int pages_exist(const struct definition *definition, struct message *message)
{
    char asked[32], base[32], there[256];
    if (!pages_special(definition))
        return 0;
    if (definition->transparent_huge ? huge_transparent_available() : huge_available(definition->page_size))
        return 0;
    if (definition->transparent_huge)
        message_set(message, "%s\npartition \"%s\" asks for transparent huge pages, and this kernel has none",
                    definition->text, definition->name);
    else
        message_set(message, "%s\npartition \"%s\" asks for pages of %s; this machine has %s%s", definition->text,
                    definition->name, message_size(asked, definition->page_size),
                    message_size(base, placement_page_size()), huge_sizes(there, sizeof there));
    return -1;
}

#define HEAP_PINNED "the network has registered and pinned the heap, so that no other pages can be put under it"

/* Why nothing may be mapped over the heap on this PE; NULL: it may. */
static const char *reason_here(const struct partition *partition)
{
    size_t unit = pages_unit(&partition->definition);
    if (registration_seen())
        return engine_heap_can_be_mapped_over_early() ? HEAP_PINNED "; `pyshmem run --preload` puts them there before"
                                                      : HEAP_PINNED;
    if (!huge_can_map_over(partition->base, unit))
        return "the engine has mapped the block at an address that is no multiple of such a page";
    for (int pe = 0; pe < library.engine.n_pes; pe++) {
        void *view = pe == library.engine.my_pe ? NULL : shmem_ptr(partition->base, pe);
        if (!view)
            continue;
        if (!engine_views_can_be_mapped_over())
            return "the engine's on-node transport has mapped the heap in its own way (XPMEM), so that no other pages "
                   "can be put under it";
        if (!huge_can_map_over(view, unit))
            return "the engine has mapped another PE's block at an address that is no multiple of such a page";
    }
    return NULL;
}

/* The same on all PEs, since the ones map what the others offer. */
static const char *reason_against(const struct partition *partition)
{
    const char *here = reason_here(partition);
    long *any = engine()->calloc(2, sizeof *any);
    if (!any)
        return "the symmetric heap has no room to agree on it";
    any[0] = here != NULL;
    shmem_barrier_all();
    engine_reduce(engine_team_world(), REDUCTION_MAX, ELEMENT_LONG, any + 1, any, 1);
    if (any[1] && !here)
        here = "another PE cannot put such pages under its view of the heap";
    engine()->free(any);
    return here;
}

void pages_complain_short(const struct definition *definition, size_t block_bytes, const struct nodeset *nodes,
                          const char *cause, struct message *message)
{
    char asked[32], size[32];
    message_set(message, "%s of %s pages cannot be had on this PE: %s", message_size(size, block_bytes),
                definition->transparent_huge ? "transparent huge" : message_size(asked, definition->page_size), cause);
    if (!definition->transparent_huge)
        huge_say_free(definition->page_size, nodes, message);
}

/* Bound, populated and of the right size?  `address` is the block, or its pages at another place. */
static int make_ready(const struct partition *partition, void *address, enum binding binding, struct message *cause)
{
    size_t size = partition->block_bytes;
    bool transparent = partition->definition.transparent_huge;
    if (transparent)
        huge_advise(address, size);
    if (nodeset_count(&partition->nodes) > 0 &&
        placement_bind(address, size, binding, &partition->nodes, cause) != 0)
        return -1;
    int status = placement_populate(address, size, cause);
    if (!transparent && status != 0)
        message_set(cause, PAGES_TOO_FEW);
    if (!transparent || status != 0)
        return status;
    huge_collapse(address, size);
    uint64_t huge = huge_bytes(address, size);
    if (huge >= size)
        return 0;
    char got[32];
    message_set(cause, "only %s came in huge pages (see /sys/kernel/mm/transparent_hugepage/%s)",
                message_size(got, huge), huge_is_shared(partition->base) ? "shmem_enabled" : "enabled");
    return -1;
}

/* A file of such pages, ready; its descriptor, or -1. */
static int make_file(const struct partition *partition, enum binding binding, struct message *cause)
{
    const struct definition *definition = &partition->definition;
    size_t page = definition->transparent_huge ? 0 : definition->page_size;
    int file = huge_file(partition->block_bytes, page, cause);
    if (file < 0)
        return -1;
    void *scratch = huge_map(partition->block_bytes, file, cause);
    int status = scratch ? make_ready(partition, scratch, binding, cause) : -1;
    if (scratch)
        huge_unmap(scratch, partition->block_bytes);
    if (status == 0)
        return file;
    close(file);
    return -1;
}

/* The pages are there already; populating enters them into this mapping, in which the kernel counts them. */
static int map_here(const struct partition *partition, int file, struct message *message)
{
    return huge_map_over(partition->base, partition->block_bytes, file, message) == 0
               ? placement_populate(partition->base, partition->block_bytes, message)
               : -1;
}

/* The pages of the other PEs, where this one looks at them. */
static int map_peers(const struct partition *partition, const struct offer *offers, struct message *message)
{
    for (int pe = 0; pe < library.engine.n_pes; pe++) {
        struct offer offer;
        void *view = pe == library.engine.my_pe ? NULL : shmem_ptr(partition->base, pe);
        if (!view)
            continue;
        shmem_getmem(&offer, offers, sizeof offer, pe);
        if (offer.descriptor < 0)
            continue;
        int file = huge_open_of_process(offer.process, offer.descriptor, message);
        int status = file < 0 ? -1 : huge_map_over(view, partition->block_bytes, file, message);
        if (file >= 0)
            close(file);
        if (status != 0)
            return -1;
    }
    return 0;
}

/* All PEs come here together: with a file that is ready, or with -1. */
static int exchange(struct partition *partition, int file, struct message *message)
{
    struct offer *offer = engine()->malloc(sizeof *offer); /* symmetric: NULL on all PEs, or on none */
    if (!offer) {
        message_set(message, "the symmetric heap has no room to exchange huge pages");
        return -1;
    }
    int status = file < 0 ? 0 : map_here(partition, file, message);
    *offer = (struct offer){.process = getpid(), .descriptor = status == 0 ? file : -1};
    shmem_barrier_all();
    if (map_peers(partition, offer, message) != 0)
        status = -1;
    shmem_barrier_all(); /* all have opened what they need */
    engine()->free(offer);
    return status;
}

void pages_put_under_early(struct partition *partition, enum binding binding)
{
    struct message unused;
    if (!pages_special(&partition->definition) || huge_is_shared(partition->base))
        return;
    if (partition->definition.transparent_huge) {
        huge_advise(partition->base, partition->block_bytes);
        return;
    }
    int file = engine_heap_can_be_mapped_over_early() ? make_file(partition, binding, &unused) : -1;
    if (file < 0)
        return;
    (void)map_here(partition, file, &unused);
    close(file);
}

bool pages_in_place(const struct partition *partition)
{
    return partition->early && pages_special(&partition->definition) &&
           pages_huge_bytes(partition) >= partition->block_bytes;
}

enum pages_result pages_put_under(struct partition *partition, enum binding binding, struct message *message)
{
    if (agreement_all(pages_in_place(partition)))
        return PAGES_DONE;
    const char *against = reason_against(partition);
    struct message cause;
    int file = -1, status = -1;
    if (against)
        message_set(&cause, "%s", against);
    else if (partition->definition.transparent_huge && !huge_is_shared(partition->base))
        status = make_ready(partition, partition->base, binding, &cause);
    else
        status = (file = make_file(partition, binding, &cause)) >= 0 ? 0 : -1;
    if (status != 0)
        pages_complain_short(&partition->definition, partition->block_bytes, &partition->nodes, cause.text, message);
    int exchanged = exchange(partition, file, message);
    if (file >= 0) {
        close(file);
        partition->early = false;
    }
    return exchanged != 0 ? PAGES_BROKEN : status != 0 ? PAGES_REFUSED : PAGES_DONE;
}

uint64_t pages_huge_bytes(const struct partition *partition)
{
    return pages_special(&partition->definition) ? huge_bytes(partition->base, partition->block_bytes) : 0;
}
