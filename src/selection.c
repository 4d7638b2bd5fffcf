/*
 * Selection: which nodes serve a PE that asks for a kind of memory, and what to
 * say if there are none.  Stands on the table alone; knows nothing of hwloc, so
 * that a PE can select from a table that another has made.
 */
#include "topology.h"

/* The technology that a kind names; MEMORY_UNKNOWN: it names a class, or no memory at all. */
static enum memory technology(enum kind kind)
{
    switch (kind) {
    case KIND_DRAM:
        return MEMORY_DRAM;
    case KIND_MCDRAM:
        return MEMORY_MCDRAM;
    case KIND_HBM:
        return MEMORY_HBM;
    case KIND_CXL:
        return MEMORY_CXL;
    case KIND_NVM:
        return MEMORY_NVM;
    case KIND_GPU:
        return MEMORY_GPU;
    default:
        return MEMORY_UNKNOWN;
    }
}

static const char *word_for(enum kind kind)
{
    return kind == KIND_FASTMEM ? "FASTMEM" : kind == KIND_CAPACITY ? "CAPACITY" : memory_name(technology(kind));
}

static bool is_of_kind(const struct memory_node *node, enum kind kind)
{
    if (kind == KIND_FASTMEM)
        return node->fast;
    if (kind == KIND_CAPACITY)
        return node->capacity;
    enum memory memory = technology(kind);
    return memory != MEMORY_UNKNOWN && node->memory == memory;
}

static bool is_candidate(const struct memory_node *node, enum kind kind)
{
    return node->allowed && is_of_kind(node, kind);
}

uint16_t topology_distance(const struct memory_table *table, int from, int to)
{
    const uint16_t *distance = (const uint16_t *)(const void *)(table->node + table->count);
    return distance[(size_t)from * (size_t)table->count + (size_t)to];
}

/* ---- nearest ---- */

/* The nodes that distances of a PE are measured from: those whose CPUs it may use, or else whatever is local to it. */
static void find_origins(const struct memory_table *table, const struct cpuset *cpus, struct nodeset *origins)
{
    for (int own_cpus = 1; own_cpus >= 0; own_cpus--) {
        for (int i = 0; i < table->count; i++)
            if (table->node[i].has_cpus >= own_cpus && cpuset_intersects(&table->node[i].cpus, cpus))
                nodeset_add(origins, table->node[i].number);
        if (nodeset_count(origins) > 0)
            return;
    }
}

/* The smallest known distance from any of `origins` to node[to]; 0: none is known. */
static uint16_t distance_from(const struct memory_table *table, const struct nodeset *origins, int to)
{
    uint16_t smallest = 0;
    for (int from = 0; from < table->count; from++) {
        uint16_t distance = topology_distance(table, from, to);
        if (distance && nodeset_has(origins, table->node[from].number) && (!smallest || distance < smallest))
            smallest = distance;
    }
    return smallest;
}

/* All that tie for the smallest distance; where no distance is known, all of the kind. */
static void select_nearest(const struct memory_table *table, enum kind kind, const struct cpuset *cpus,
                           struct nodeset *nodes)
{
    struct nodeset origins = {0};
    find_origins(table, cpus, &origins);
    uint16_t smallest = 0;
    for (int i = 0; i < table->count; i++) {
        uint16_t distance = is_candidate(&table->node[i], kind) ? distance_from(table, &origins, i) : 0;
        if (distance && (!smallest || distance < smallest))
            smallest = distance;
    }
    for (int i = 0; i < table->count; i++)
        if (is_candidate(&table->node[i], kind) &&
            (!smallest || distance_from(table, &origins, i) == smallest))
            nodeset_add(nodes, table->node[i].number);
}

/* ---- what to say ---- */

enum { NODES_NAMED = 12 };

static void name_node(const struct memory_node *node, struct message *message)
{
    char size[32];
    message_add(message, "node %d (%s%s, %s)", node->number, memory_name(node->memory),
                node->memory != MEMORY_UNKNOWN ? ""
                : node->fast                   ? " but fast"
                : node->capacity               ? " but slow"
                                               : "",
                message_size(size, node->size));
}

/* "node 0 (DRAM, 48 GiB), node 1 (...)" for the nodes in `which`; returns how many there are. */
static int name_nodes(const struct memory_table *table, const struct nodeset *which, struct message *message)
{
    int count = 0;
    for (int i = 0; i < table->count; i++) {
        if (!nodeset_has(which, table->node[i].number) || count++ >= NODES_NAMED)
            continue;
        message_add(message, "%s", count > 1 ? ", " : "");
        name_node(&table->node[i], message);
    }
    if (count > NODES_NAMED)
        message_add(message, " and %d more", count - NODES_NAMED);
    return count;
}

static int complain_not_allowed(const struct memory_table *table, const struct nodeset *which, struct message *message)
{
    int count = name_nodes(table, which, message);
    message_add(message,
                " %s but %s not allowed to this process (cpuset.mems: see Mems_allowed_list in /proc/self/status)",
                count == 1 ? "exists" : "exist", count == 1 ? "is" : "are");
    return -1;
}

/* Memory that the user may have meant, and why it is not of the kind. */
static void add_hints(const struct memory_table *table, enum kind kind, struct message *message)
{
    struct nodeset unknown = {0};
    bool fast = false;
    int cache = -1;
    for (int i = 0; i < table->count; i++) {
        const struct memory_node *node = &table->node[i];
        if (node->memory == MEMORY_UNKNOWN && !node->has_cpus && node->evidence == EVIDENCE_NONE)
            nodeset_add(&unknown, node->number);
        if (node->memory_cache && cache < 0)
            cache = node->number;
        fast |= node->fast;
    }
    if ((kind == KIND_FASTMEM || kind == KIND_MCDRAM || kind == KIND_HBM) && !fast && cache >= 0)
        message_add(message, "; node %d is behind a memory-side cache, and a cache is not a node of its own", cache);
    if (nodeset_count(&unknown) > 0) {
        message_add(message, "; nothing tells what ");
        int count = name_nodes(table, &unknown, message);
        message_add(message, " %s: kind=NODES(...) uses %s all the same", count == 1 ? "is" : "are",
                    count == 1 ? "it" : "them");
    }
    if (kind == KIND_GPU)
        message_add(message, "; hwloc hides the nodes of some GPUs unless HWLOC_KEEP_NVIDIA_GPU_NUMA_NODES=1 is set");
}

static int complain_absent(const struct memory_table *table, enum kind kind, struct message *message)
{
    struct nodeset all = {0}, forbidden = {0};
    for (int i = 0; i < table->count; i++) {
        nodeset_add(&all, table->node[i].number);
        if (is_of_kind(&table->node[i], kind))
            nodeset_add(&forbidden, table->node[i].number);
    }
    message_set(message, "no node of kind %s here: ", word_for(kind));
    if (nodeset_count(&forbidden) > 0) {
        complain_not_allowed(table, &forbidden, message);
    } else {
        message_add(message, "the machine has ");
        name_nodes(table, &all, message);
        add_hints(table, kind, message);
    }
    return -1;
}

/* ---- the nodes that the user names ---- */

static int complain_missing(const struct memory_table *table, const struct nodeset *missing, struct message *message)
{
    struct nodeset all = {0};
    int count = 0, total = nodeset_count(missing);
    for (int i = 0; i < table->count; i++)
        nodeset_add(&all, table->node[i].number);
    message_set(message, "%s ", total == 1 ? "node" : "nodes");
    for (int number = 0; number < NODESET_BITS && count < NODES_NAMED; number++)
        if (nodeset_has(missing, number))
            message_add(message, "%s%d", count++ ? ", " : "", number);
    if (total > count)
        message_add(message, " and %d more", total - count);
    message_add(message, " %s not exist here: the machine has ", total == 1 ? "does" : "do");
    name_nodes(table, &all, message);
    return -1;
}

static int select_named(const struct memory_table *table, const struct nodeset *wanted, struct nodeset *nodes,
                        struct message *message)
{
    if (!wanted || nodeset_count(wanted) == 0) {
        message_set(message, "NODES() names no node");
        return -1;
    }
    struct nodeset missing = *wanted, forbidden = {0};
    for (int i = 0; i < table->count; i++) {
        int number = table->node[i].number;
        if (!nodeset_has(wanted, number))
            continue;
        missing.word[number / BITS_PER_WORD] &= ~(1UL << (number % BITS_PER_WORD));
        if (!table->node[i].allowed)
            nodeset_add(&forbidden, number);
    }
    if (nodeset_count(&missing) > 0)
        return complain_missing(table, &missing, message);
    if (nodeset_count(&forbidden) > 0) {
        message_set(message, "%s", "");
        return complain_not_allowed(table, &forbidden, message);
    }
    *nodes = *wanted;
    return 0;
}

/* The nodes of one kind, added to `nodes`. */
static int select_kind(const struct memory_table *table, enum kind kind, const struct cpuset *cpus, bool everywhere,
                       struct nodeset *nodes, struct message *message)
{
    bool any = false, local = false;
    for (int i = 0; i < table->count; i++) {
        const struct memory_node *node = &table->node[i];
        if (!is_candidate(node, kind))
            continue;
        any = true;
        if (!everywhere && !cpuset_intersects(&node->cpus, cpus))
            continue;
        nodeset_add(nodes, node->number);
        local = true;
    }
    if (!any)
        return complain_absent(table, kind, message);
    if (!local)
        select_nearest(table, kind, cpus, nodes);
    return 0;
}

int topology_select(const struct memory_table *table, unsigned kinds, const struct nodeset *wanted,
                    const struct cpuset *cpus, bool everywhere, struct nodeset *nodes, struct message *message)
{
    *nodes = (struct nodeset){0};
    if (kinds == 1u << KIND_DEFAULT)
        return 0;
    if (kinds == 1u << KIND_NODES)
        return select_named(table, wanted, nodes, message);
    everywhere |= !cpus || bits_count(cpus->word, SET_WORDS(cpus)) == 0;
    for (int kind = 0; kind < KIND_COUNT; kind++)
        if (kinds & 1u << kind && select_kind(table, (enum kind)kind, cpus, everywhere, nodes, message) != 0) {
            *nodes = (struct nodeset){0};
            return -1;
        }
    return 0;
}
