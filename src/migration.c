/*
 * Moving pages that are in use to another kind of memory.  Stands on recognition
 * for where that is, and on placement for the moving; each PE does it for itself.
 *
 * The kernel stops a batch at the first page that it cannot move, and says of
 * some pages why and of others nothing.  So what is left of a batch is tried
 * page by page, and counted by the reason.
 */
#define _GNU_SOURCE
#include "shmem_partition.h"

#include "partition.h"
#include "placement.h"
#include "syntax.h"

#include <errno.h>
#include <stdlib.h>

enum { NOT_TOLD = -4096 }; /* no error number: the kernel has not written a status */

struct range {
    char *start;
    size_t bytes, page;
};

struct target {
    struct definition wanted;
    struct nodeset nodes;
    int node[NODESET_BITS], count;
    size_t next; /* pages are sent to the nodes in turn */
};

/* ---- where to ---- */

static int recognise_once(struct message *message)
{
    if (!library.partitions.table)
        library.partitions.table = topology_recognise(NULL, message);
    return library.partitions.table ? 0 : -1;
}

static int find_target(struct target *target, const char *kind, struct message *message)
{
    struct cpuset cpus;
    *target = (struct target){.count = 0};
    if (syntax_kinds(&target->wanted, (struct written){.label = "to", .value = kind}, message) != 0 ||
        recognise_once(message) != 0 || placement_allowed_cpus(&cpus, message) != 0 ||
        topology_select(library.partitions.table, target->wanted.kinds, &target->wanted.nodes, &cpus, false,
                        &target->nodes, message) != 0)
        return -1;
    for (int node = 0; node < NODESET_BITS; node++)
        if (nodeset_has(&target->nodes, node))
            target->node[target->count++] = node;
    if (target->count > 0)
        return 0;
    message_set(message, "kind DEFAULT is no memory of its own; name another to move to");
    return -1;
}

/* ---- moving ---- */

/* One page that did not move with the others. */
static int move_alone(struct target *target, void *address, size_t page, shmem_partition_migration_t *result,
                      struct message *message)
{
    int node = target->node[target->next++ % (size_t)target->count], status = NOT_TOLD, where = NOT_TOLD;
    int sent = placement_send(&address, 1, &node, &status, message);
    if (sent < 0 || placement_nodes(&address, 1, &where, message) != 0)
        return -1;
    if (where >= 0 && nodeset_has(&target->nodes, where))
        result->moved += page;
    else if (sent > 0 || status == -ENOMEM)
        result->full += page;
    else if (status == -EACCES)
        result->shared += page;
    else
        result->pinned += page;
    return 0;
}

/* Of the batch, the pages that are elsewhere; the others are counted. */
static size_t keep_strays(const struct target *target, void **address, const int *status, size_t count, size_t page,
                          uint64_t *there, uint64_t *absent)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (status[i] < 0)
            *absent += page;
        else if (nodeset_has(&target->nodes, status[i]))
            *there += page;
        else
            address[kept++] = address[i];
    }
    return kept;
}

static int move_batch(struct target *target, void **address, size_t count, size_t page,
                      shmem_partition_migration_t *result, struct message *message)
{
    int status[PLACEMENT_BATCH], node[PLACEMENT_BATCH];
    if (placement_nodes(address, count, status, message) != 0)
        return -1;
    count = keep_strays(target, address, status, count, page, &result->there, &result->absent);
    if (count == 0)
        return 0;
    for (size_t i = 0; i < count; i++)
        node[i] = target->node[target->next++ % (size_t)target->count];
    int sent = placement_send(address, count, node, status, message);
    if (sent < 0 || placement_nodes(address, count, status, message) != 0)
        return -1;
    count = keep_strays(target, address, status, count, page, &result->moved, &result->absent);
    if (sent > 0 && target->count == 1) { /* the others would fare no better */
        result->full += count * page;
        return 0;
    }
    for (size_t i = 0; i < count; i++)
        if (move_alone(target, address[i], page, result, message) != 0)
            return -1;
    return 0;
}

static int move_range(struct target *target, const struct range *range, shmem_partition_migration_t *result,
                      struct message *message)
{
    void *address[PLACEMENT_BATCH];
    for (size_t done = 0; done < range->bytes;) {
        size_t count = 0;
        for (; count < PLACEMENT_BATCH && done < range->bytes; done += range->page)
            address[count++] = range->start + done;
        if (move_batch(target, address, count, range->page, result, message) != 0)
            return -1;
    }
    return 0;
}

/* Pages that only another PE has touched become visible here, so that they move as well. */
static int see_all_pages(const struct range *range, struct message *message)
{
    uint64_t *bytes = calloc(NODESET_BITS, sizeof *bytes), absent;
    if (!bytes) {
        message_set(message, "no memory to count pages");
        return -1;
    }
    int status = placement_count(range->start, range->bytes, bytes, &absent, message);
    free(bytes);
    return status;
}

static int migrate(const struct range *range, const char *kind, shmem_partition_migration_t *result,
                   struct target *target)
{
    struct message *message = &library.partitions.message;
    memset(result, 0, sizeof *result);
    if (find_target(target, kind, message) != 0)
        return -1;
    nodeset_text(&target->nodes, result->nodes, sizeof result->nodes);
    /* As preferred: no page that comes later may kill anybody because the nodes are full. */
    if (placement_bind(range->start, range->bytes, BIND_PREFERRED, &target->nodes, message) != 0)
        return -1;
    return see_all_pages(range, message) == 0 ? move_range(target, range, result, message) : -1;
}

/* ---- the public functions ---- */

int shmem_partition_migrate(int partition_id, const char *kind, shmem_partition_migration_t *result)
{
    struct partition *partition = partition_with_id(partition_id);
    struct target target;
    if (!partition) {
        message_set(&library.partitions.message, "there is no partition %d", partition_id);
        return -1;
    }
    struct range range = {partition->base, partition->block_bytes, partition->page_size};
    if (migrate(&range, kind, result, &target) != 0)
        return -1;
    partition->nodes = target.nodes;
    partition->moved_to = target.wanted.kinds;
    return 0;
}

int shmem_partition_migrate_range(void *address, size_t size, const char *kind, shmem_partition_migration_t *result)
{
    const struct partition *partition = partition_containing(address);
    size_t page = partition ? partition->page_size : placement_page_size();
    uintptr_t start = (uintptr_t)address / page * page, end = ((uintptr_t)address + size + page - 1) / page * page;
    struct range range = {(char *)start, size ? end - start : 0, page};
    struct target target;
    if (!partitions_running()) {
        message_set(&library.partitions.message, "OpenSHMEM is not initialised");
        return -1;
    }
    return migrate(&range, kind, result, &target);
}
