/*
 * Once the engine runs: a block of its heap for every partition, the nodes that
 * the block belongs on, and the pages put there.  Stands on recognition and
 * placement, and on neighbours.c for what the PEs of a node want together.
 */
#define _GNU_SOURCE
#include "blocks.h"

#include "early.h"
#include "neighbours.h"
#include "pages.h"
#include "placement.h"
#include "registration.h"
#include "state.h"

#include <stdio.h>
#include <stdlib.h>

/* Blocks that start at different offsets on different PEs would not be symmetric. */
static int check_offsets(long *offset, long *largest, struct message *message)
{
    const struct partition_state *state = &library.partitions;
    for (int i = 0; i < state->count; i++) {
        offset[2 * i] = state->partition[i].base - (char *)library.engine.team_areas;
        offset[2 * i + 1] = -offset[2 * i];
    }
    shmem_barrier_all();
    engine_reduce(engine_team_world(), REDUCTION_MAX, ELEMENT_LONG, largest, offset, 2 * (size_t)state->count);
    for (int i = 0; i < state->count; i++)
        if (largest[2 * i] != -largest[2 * i + 1]) {
            message_set(message, "the heap of %s lies at addresses that differ between PEs by less than the page size of "
                                 "partition \"%s\"; ask for smaller pages", engine_vendor(),
                        state->partition[i].definition.name);
            return -1;
        }
    return 0;
}

/*
 * What is aligned on one PE is on all up to the lowest bit in which the
 * addresses of the block differ: any power of two on an engine with one address
 * for all, 1 GiB or less on others.
 */
static void find_alignments(long *address, long *common)
{
    struct partition_state *state = &library.partitions;
    for (int i = 0; i < state->count; i++) {
        address[2 * i] = (long)(uintptr_t)state->partition[i].base;
        address[2 * i + 1] = ~address[2 * i];
    }
    shmem_barrier_all();
    engine_reduce(engine_team_world(), REDUCTION_AND, ELEMENT_LONG, common, address, 2 * (size_t)state->count);
    for (int i = 0; i < state->count; i++) {
        size_t differing = ~(size_t)(common[2 * i] | common[2 * i + 1]); /* neither set on all PEs nor clear on all */
        state->partition[i].alignment = differing ? differing & -differing : SIZE_MAX / 2 + 1;
    }
}

static int compare_addresses(struct message *message)
{
    size_t words = 2 * (size_t)library.partitions.count;
    long *work = engine()->calloc(2 * words, sizeof *work);
    if (!work) {
        message_set(message, "the symmetric heap has no room to compare the places of partitions");
        return -1;
    }
    int status = check_offsets(work, work + words, message);
    if (status == 0) /* which all PEs find alike */
        find_alignments(work, work + words);
    engine()->free(work);
    return status;
}

int blocks_allocate(struct message *message)
{
    struct partition_state *state = &library.partitions;
    char size[32];
    registration_look();
    if (early_allocate())
        return compare_addresses(message);
    for (int i = 0; i < state->definitions.count; i++) {
        struct partition *partition = &state->partition[i];
        partition->base = engine()->align(partition->alignment, partition->block_bytes);
        if (!partition->base) {
            message_set(message,
                        "the symmetric heap of %s has no room for partition %d \"%s\" of %s; the heap was asked to "
                        "hold all partitions, so the address space or the shared memory is short (ulimit -v, "
                        "df /dev/shm)",
                        engine_vendor(), partition->definition.id, partition->definition.name,
                        message_size(size, partition->definition.size));
            return -1;
        }
        state->count = i + 1;
    }
    return compare_addresses(message);
}

void blocks_join_fallbacks(void)
{
    struct partition_state *state = &library.partitions;
    for (int i = 0; i < state->count; i++)
        for (int j = 0; j < state->count; j++)
            if (strcmp(state->partition[i].definition.fallback, state->partition[j].definition.name) == 0)
                state->partition[i].fallback = &state->partition[j];
}

/* Said once on every node. */
static void warn(const struct partition *partition, const char *reason, const char *consequence)
{
    if (neighbours_leader())
        fprintf(stderr, "shmem_partition: warning: partition \"%s\": %s; %s\n", partition->definition.name, reason,
                consequence);
}

/* Over several kinds whose bandwidths are known, the kernel's weights, which follow bandwidth, say who gets how many. */
static bool is_weighted(const struct partition *partition, const struct memory_table *table)
{
    if (partition->definition.policy != POLICY_INTERLEAVED || __builtin_popcount(partition->definition.kinds) < 2 ||
        !placement_has_weights())
        return false;
    for (int i = 0; i < table->count; i++)
        if (nodeset_has(&partition->nodes, table->node[i].number) && table->node[i].bandwidth == 0)
            return false;
    return true;
}

int blocks_choose(struct partition *partition, const struct memory_table *table, const struct cpuset *cpus,
                  struct choice *choice, struct message *message)
{
    if (choice_make(table, &partition->definition, cpus, choice, message) != 0)
        return -1;
    partition->nodes = choice->nodes;
    partition->fell_back = choice->fell_back;
    partition->weighted = is_weighted(partition, table);
    return 0;
}

int blocks_choose_nodes(struct message *message)
{
    struct cpuset cpus;
    struct choice choice;
    if (placement_allowed_cpus(&cpus, message) != 0)
        return -1;
    for (int i = 0; i < library.partitions.count; i++) {
        struct partition *partition = &library.partitions.partition[i];
        if (blocks_choose(partition, library.partitions.table, &cpus, &choice, message) != 0)
            return -1;
        if (choice.fell_back)
            warn(partition, choice.why.text, choice.consequence);
    }
    return 0;
}

/* What a registration has made present on the right nodes is no longer free there, and no longer wanted. */
static size_t bytes_there(const struct partition *partition, const struct nodeset *nodes)
{
    uint64_t bytes[NODESET_BITS], absent;
    struct message unused;
    size_t there = 0;
    if (!registration_seen() ||
        placement_count(partition->base, partition->block_bytes, bytes, &absent, &unused) != 0)
        return 0;
    for (int node = 0; node < NODESET_BITS; node++)
        if (nodeset_count(nodes) == 0 || nodeset_has(nodes, node))
            there += bytes[node];
    return there;
}

int blocks_check_capacity(struct message *message)
{
    struct demand demand[PARTITION_LIMIT];
    const struct partition_state *state = &library.partitions;
    for (int i = 0; i < state->count; i++) {
        const struct partition *partition = &state->partition[i];
        demand[i] = demand_for(&partition->definition, partition->block_bytes, placement_page_size(), &partition->nodes);
        size_t there = demand[i].bytes ? bytes_there(partition, &demand[i].nodes) : 0;
        demand[i].bytes -= there < demand[i].bytes ? there : demand[i].bytes;
    }
    return neighbours_check_capacity(demand, state->count, message);
}

enum binding blocks_final_binding(const struct partition *partition)
{
    switch (partition->definition.policy) {
    case POLICY_MANDATORY:
        return BIND_ONLY;
    case POLICY_INTERLEAVED:
        return partition->weighted ? BIND_WEIGHTED : BIND_INTERLEAVED;
    default:
        return BIND_PREFERRED;
    }
}

static uint64_t bytes_elsewhere(const struct partition *partition, const uint64_t *bytes)
{
    uint64_t elsewhere = 0;
    for (int node = 0; node < NODESET_BITS; node++)
        if (!nodeset_has(&partition->nodes, node))
            elsewhere += bytes[node];
    return elsewhere;
}

/* Over several nodes evenly, or nearly so: a node has at least half of its share (by weights, anything). */
static bool is_spread(const struct partition *partition, const uint64_t *bytes)
{
    uint64_t share = partition->block_bytes / placement_page_size() / (uint64_t)nodeset_count(&partition->nodes);
    for (int node = 0; node < NODESET_BITS; node++)
        if (nodeset_has(&partition->nodes, node) &&
            bytes[node] / placement_page_size() < (partition->weighted ? share > 0 : share / 2))
            return false;
    return true;
}

/* What a network has pinned, and where; the same for a warning. */
static void say_pinned(const struct partition *partition, uint64_t elsewhere, struct message *message)
{
    char list[256], stray[32];
    message_set(message,
                "%s of this PE's pages are not where they belong (NUMA node %s) and cannot be moved: the network "
                "registered the heap as %s started, which pins its pages; start the program with `pyshmem run --preload`, "
                "so that they are placed before that",
                elsewhere ? message_size(stray, elsewhere) : "some",
                nodeset_text(&partition->nodes, list, sizeof list), engine_vendor());
}

static int say_elsewhere(const struct partition *partition, uint64_t elsewhere, struct message *message)
{
    const struct definition *definition = &partition->definition;
    char list[256], size[32], stray[32];
    if (registration_seen() && !partition->early) {
        struct message pinned;
        say_pinned(partition, elsewhere, &pinned);
        message_set(message, "%s\npartition %d \"%s\": %s", definition->text, definition->id, definition->name,
                    pinned.text);
    } else {
        message_set(message,
                    "%s\npartition %d \"%s\" of %s does not fit into NUMA node %s: %s of this PE's pages went elsewhere, "
                    "with %d PE%s on the node; ask for less, start fewer PEs per node, or use policy=PREFERRED",
                    definition->text, definition->id, definition->name, message_size(size, definition->size),
                    nodeset_text(&partition->nodes, list, sizeof list), message_size(stray, elsewhere),
                    neighbours_count(), neighbours_count() == 1 ? "" : "s");
    }
    return -1;
}

enum binding blocks_first_binding(const struct partition *partition)
{
    return partition->definition.policy == POLICY_INTERLEAVED ? blocks_final_binding(partition) : BIND_PREFERRED;
}

/* Where the pages are, once those that lie elsewhere have been asked to move. */
static int move_and_count(struct partition *partition, uint64_t *bytes, struct message *message)
{
    uint64_t absent;
    if (placement_count(partition->base, partition->block_bytes, bytes, &absent, message) != 0)
        return -1;
    if (bytes_elsewhere(partition, bytes) == 0)
        return 0;
    placement_move(partition->base, partition->block_bytes, blocks_first_binding(partition), &partition->nodes);
    return placement_count(partition->base, partition->block_bytes, bytes, &absent, message);
}

/*
 * Filling a node under MPOL_BIND kills the process when it is full.  So pages
 * are first asked for as preferred, then looked for, and only bound when all of
 * them are where they must be.
 */
static int populate_mandatory(struct partition *partition, struct message *message)
{
    uint64_t bytes[NODESET_BITS];
    if (placement_bind(partition->base, partition->block_bytes, blocks_first_binding(partition), &partition->nodes,
                       message) != 0 ||
        placement_populate(partition->base, partition->block_bytes, message) != 0 ||
        move_and_count(partition, bytes, message) != 0)
        return -1;
    uint64_t elsewhere = bytes_elsewhere(partition, bytes);
    bool misplaced = elsewhere > 0 || (partition->definition.policy == POLICY_INTERLEAVED && registration_seen() &&
                                       !partition->early && !is_spread(partition, bytes));
    return misplaced ? say_elsewhere(partition, elsewhere, message) : 0;
}

/* A PREFERRED one may have pages elsewhere, but not because nobody could have done anything about it. */
static void warn_of_pinned(struct partition *partition)
{
    uint64_t bytes[NODESET_BITS];
    struct message reason;
    if (partition->early || !registration_seen() || move_and_count(partition, bytes, &reason) != 0 ||
        bytes_elsewhere(partition, bytes) == 0)
        return;
    say_pinned(partition, bytes_elsewhere(partition, bytes), &reason);
    warn(partition, reason.text, "being PREFERRED, it keeps them");
}

static bool populating(void)
{
    const char *text = getenv("PYSHMEM_POPULATE");
    return !text || strcmp(text, "0") != 0;
}

static int place(struct partition *partition, struct message *message)
{
    if (nodeset_count(&partition->nodes) == 0)
        return 0;
    bool mandatory = definition_is_mandatory(&partition->definition);
    if (mandatory && (populating() || registration_seen()) && populate_mandatory(partition, message) != 0)
        return -1;
    if (!mandatory)
        warn_of_pinned(partition);
    struct message reason;
    if (placement_bind(partition->base, partition->block_bytes, blocks_final_binding(partition), &partition->nodes,
                       &reason) == 0)
        return 0;
    if (mandatory) {
        message_set(message, "%s\npartition %d \"%s\": %s", partition->definition.text, partition->definition.id,
                    partition->definition.name, reason.text);
        return -1;
    }
    warn(partition, reason.text, "being PREFERRED, it stays where the system puts it");
    memset(&partition->nodes, 0, sizeof partition->nodes);
    return 0;
}

/* Transparent pages may have come by themselves, and anywhere. */
static bool came_early(const struct partition *partition)
{
    return !partition->definition.transparent_huge && pages_in_place(partition);
}

/* Every PE comes here for every partition that asks, whatever has failed before, since the PEs of a node meet. */
int blocks_change_pages(struct message *message)
{
    int status = 0;
    struct message reason;
    for (int i = 0; i < library.partitions.count; i++) {
        struct partition *partition = &library.partitions.partition[i];
        /* The engine's allocator may have written here before the block was one, perhaps into a huge page that
           reaches into the next block and could only be moved as a whole. */
        if (!registration_seen() && !came_early(partition))
            placement_discard(partition->base, partition->block_bytes);
        if (!pages_special(&partition->definition))
            continue;
        enum pages_result result = pages_put_under(partition, blocks_final_binding(partition), &reason);
        if (result == PAGES_DONE) {
            partition->page_size = pages_unit(&partition->definition);
            partition->huge_bytes = pages_huge_bytes(partition);
        } else if (result == PAGES_REFUSED && partition->definition.policy == POLICY_PREFERRED) {
            warn(partition, reason.text, "being PREFERRED, it has base pages");
        } else if (status == 0) {
            status = -1;
            message_set(message, "%s\npartition %d \"%s\": %s", partition->definition.text, partition->definition.id,
                        partition->definition.name, reason.text);
        }
    }
    return status;
}

int blocks_place(struct message *message)
{
    for (int i = 0; i < library.partitions.count; i++) {
        struct partition *partition = &library.partitions.partition[i];
        if (place(partition, message) != 0)
            return -1;
        partition->heap = heap_create(partition->definition.size, (uintptr_t)partition->base);
        if (!partition->heap) {
            message_set(message, "no memory for the records of partition \"%s\"", partition->definition.name);
            return -1;
        }
    }
    return 0;
}
