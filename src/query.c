/*
 * Asking about partitions: the public functions that change nothing.  Stands on
 * partition.c; what they say of pages is what placement.c heard from the kernel.
 */
#define _GNU_SOURCE
#include "shmem_partition.h"

#include "partition.h"
#include "placement.h"

#include <stdlib.h>

int shmem_partition_define(int id, const char *name, const char *definition)
{
    struct partition_state *state = &library.partitions;
    if (state->phase != PHASE_NEW || state->program_count == PARTITION_LIMIT) {
        message_set(&state->message, state->phase != PHASE_NEW
                                         ? "partitions are defined before OpenSHMEM is initialised, not after"
                                         : "no more than 127 partitions can be defined");
        return -1;
    }
    state->program[state->program_count++] = (struct program_definition){.id = id, .name = name, .text = definition};
    return 0;
}

const char *shmem_partition_error(void) { return library.partitions.message.text; }
int shmem_partition_failed_pe(void) { return library.partitions.failed_pe; }

int shmem_partition_id(const char *name)
{
    for (int i = 0; i < library.partitions.count; i++)
        if (strcmp(library.partitions.partition[i].definition.name, name) == 0)
            return library.partitions.partition[i].definition.id;
    return -1;
}

int shmem_partition_of(const void *pointer)
{
    const struct partition *partition = partition_containing(pointer);
    return partition ? partition->definition.id : -1;
}

int shmem_partition_count(void) { return library.partitions.count; }

int shmem_partition_id_at(int index)
{
    return index >= 0 && index < library.partitions.count ? library.partitions.partition[index].definition.id : -1;
}

static void copy_text(char *to, size_t size, const char *from)
{
    snprintf(to, size, "%s", from);
}

int shmem_partition_query(int partition_id, shmem_partition_info_t *info)
{
    const struct partition *partition = partition_with_id(partition_id);
    struct heap_figures figures;
    if (!partition || !partition->heap)
        return -1;
    const struct definition *definition = &partition->definition;
    memset(info, 0, sizeof *info);
    info->id = definition->id;
    copy_text(info->name, sizeof info->name, definition->name);
    kinds_text(definition->kinds, info->kind, sizeof info->kind);
    copy_text(info->policy, sizeof info->policy,
              definition->policy == POLICY_NONE ? "" : policy_name(definition->policy));
    copy_text(info->origin, sizeof info->origin, origin_name(definition->origin));
    if (nodeset_count(&partition->nodes) > 0)
        nodeset_text(&partition->nodes, info->nodes, sizeof info->nodes);
    heap_figures(partition->heap, &figures);
    info->fell_back = partition->fell_back;
    info->page_size = partition->page_size;
    info->huge_bytes = partition->huge_bytes;
    info->transparent = definition->transparent_huge && partition->huge_bytes > 0;
    info->size = figures.size;
    info->used = figures.used;
    info->peak = figures.peak;
    info->largest_free = figures.largest_free;
    info->live = figures.live;
    copy_text(info->fallback, sizeof info->fallback, definition->fallback);
    info->diverted = partition->diverted;
    info->base = partition->base;
    info->weighted = partition->weighted;
    info->placed_early = partition->early;
    if (partition->moved_to)
        kinds_text(partition->moved_to, info->moved_to, sizeof info->moved_to);
    return 0;
}

int shmem_partition_find(const void *pointer, void **start, size_t *size)
{
    const struct partition *partition = partition_containing(pointer);
    size_t offset;
    if (!partition || !partition->heap ||
        heap_find(partition->heap, (size_t)((const char *)pointer - partition->base), &offset, size) != HEAP_OK)
        return -1;
    *start = partition->base + offset;
    return 0;
}

int shmem_partition_placement(const void *address, size_t size, uint64_t *bytes, int nodes, uint64_t *absent)
{
    uint64_t count[NODESET_BITS];
    if (placement_count(address, size, count, absent, &library.partitions.message) != 0)
        return -1;
    for (int node = 0; node < nodes; node++)
        bytes[node] = node < NODESET_BITS ? count[node] : 0;
    return 0;
}

void shmem_partition_outlive(void *address, size_t size)
{
    if (library.partitions.phase == PHASE_STOPPED)
        placement_fill_hole(address, size);
}

const char *shmem_partition_platform(void)
{
    return library.partitions.table ? library.partitions.table->summary : "";
}

const char *shmem_partition_memory(int node)
{
    const struct memory_table *table = library.partitions.table;
    for (int i = 0; table && i < table->count; i++)
        if (table->node[i].number == node)
            return memory_name(table->node[i].memory);
    return "";
}
