/*
 * From evidence to kinds, the strongest first: names, then figures, then KNL's
 * known shapes, and nothing else.  Stands on nothing but the table.
 *
 * The order of the steps matters: names say which nodes cannot have CPUs, nodes
 * with CPUs are the measure for the figures of the others, and KNL's shapes are
 * tried only on what is still unknown.
 */
#include "recognition.h"

#include <string.h>
#include <strings.h>

/* "Clearly" faster or slower than ordinary memory: by half. */
static bool clearly_above(uint64_t value, uint64_t other)
{
    return value > other && value - other >= other / 2 + other % 2;
}

/* ---- names ---- */

static const struct name {
    const char *subtype;
    enum memory memory;
} names[] = {
    {"DRAM", MEMORY_DRAM},
    {"MCDRAM", MEMORY_MCDRAM},
    {"HBM", MEMORY_HBM},
    {"GPUMemory", MEMORY_GPU},
    {"NVM", MEMORY_NVM},
    {"CXL-DRAM", MEMORY_CXL},
    {"CXL-HBM", MEMORY_CXL},
    {"CXL-SPM", MEMORY_CXL},
    {"CXL-NVM", MEMORY_NVM},
    {"CXL-GPUMemory", MEMORY_GPU},
};

static enum memory memory_of_subtype(const char *subtype)
{
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcasecmp(subtype, names[i].subtype) == 0)
            return names[i].memory;
    return MEMORY_UNKNOWN;
}

static enum memory memory_of_clue(const struct clue *clue)
{
    enum memory memory = memory_of_subtype(clue->subtype);
    if (memory != MEMORY_UNKNOWN)
        return memory;
    /* A bridge to NVM comes before CXL: persistent memory behind CXL shows both in its path. */
    if (strcasecmp(clue->dax_type, "NVM") == 0 || strstr(clue->dax_parent, "ndbus"))
        return MEMORY_NVM;
    if (clue->cxl_device || strstr(clue->dax_parent, "ACPI0017"))
        return MEMORY_CXL;
    return MEMORY_UNKNOWN;
}

static void apply_names(struct memory_table *table, const struct clue *clue)
{
    for (int i = 0; i < table->count; i++) {
        struct memory_node *node = &table->node[i];
        node->memory = memory_of_clue(&clue[i]);
        node->evidence = node->memory == MEMORY_UNKNOWN ? EVIDENCE_NONE : EVIDENCE_SUBTYPE;
    }
}

/* ---- nodes with CPUs of their own ---- */

/* These technologies never have CPUs of their own. */
static bool is_cpuless(enum memory memory)
{
    return memory == MEMORY_MCDRAM || memory == MEMORY_CXL || memory == MEMORY_NVM || memory == MEMORY_GPU;
}

static bool more_likely_cpus(const struct memory_node *a, const struct memory_node *b)
{
    int cpus_a = bits_count(a->cpus.word, SET_WORDS(&a->cpus)), cpus_b = bits_count(b->cpus.word, SET_WORDS(&b->cpus));
    return cpus_a != cpus_b ? cpus_a < cpus_b : a->number < b->number;
}

static void cpuset_merge(struct cpuset *into, const struct cpuset *from)
{
    for (size_t i = 0; i < SET_WORDS(into); i++)
        into->word[i] |= from->word[i];
}

/*
 * hwloc gives a memory-only node the CPUs that it is near to, so that it looks
 * like any other.  But a CPU belongs to one node: of those that share CPUs, the
 * one with the fewest has them, or the first: Linux numbers such nodes first.
 */
static void find_cpu_nodes(struct memory_table *table)
{
    struct cpuset taken = {0};
    for (int i = 0; i < table->count; i++)
        table->node[i].has_cpus = false;
    for (;;) {
        struct memory_node *best = NULL;
        for (int i = 0; i < table->count; i++) {
            struct memory_node *node = &table->node[i];
            if (node->has_cpus || is_cpuless(node->memory) || cpuset_intersects(&node->cpus, &taken) ||
                bits_count(node->cpus.word, SET_WORDS(&node->cpus)) == 0)
                continue;
            if (!best || more_likely_cpus(node, best))
                best = node;
        }
        if (!best)
            return;
        best->has_cpus = true;
        cpuset_merge(&taken, &best->cpus);
    }
}

/*
 * hwloc names two classes of bandwidth HBM and DRAM, the faster one HBM.  On a
 * machine of ordinary memory with a slow expander that is wrong: there "HBM"
 * has the CPUs and "DRAM" has none.  Such names, made from figures, count for
 * nothing.
 */
static bool names_are_swapped(const struct memory_table *table)
{
    bool hbm_with_cpus = false, dram_without = false;
    for (int i = 0; i < table->count; i++) {
        const struct memory_node *node = &table->node[i];
        bool dram = node->memory == MEMORY_DRAM, hbm = node->memory == MEMORY_HBM;
        if ((dram && node->has_cpus) || ((dram || hbm) && node->bandwidth == 0))
            return false;
        dram_without |= dram;
        hbm_with_cpus |= hbm && node->has_cpus;
    }
    return hbm_with_cpus && dram_without;
}

static void drop_swapped_names(struct memory_table *table)
{
    if (!names_are_swapped(table))
        return;
    for (int i = 0; i < table->count; i++) {
        struct memory_node *node = &table->node[i];
        if (node->memory == MEMORY_DRAM || node->memory == MEMORY_HBM) {
            node->memory = MEMORY_UNKNOWN;
            node->evidence = EVIDENCE_NONE;
        }
    }
}

static void apply_cpus(struct memory_table *table)
{
    for (int i = 0; i < table->count; i++) {
        struct memory_node *node = &table->node[i];
        if (node->memory == MEMORY_UNKNOWN && (node->has_cpus || table->count == 1) && node->size > 0) {
            node->memory = MEMORY_DRAM;
            node->evidence = table->count == 1 ? EVIDENCE_ONLY : EVIDENCE_CPUS;
        }
    }
}

/* ---- locality of memory-only nodes ---- */

/*
 * Where hwloc knows no better than "the whole machine", the distances may: a
 * node's memory is local to the CPU nodes that are nearest to it.
 */
static void localise_by_distance(struct memory_table *table)
{
    struct cpuset all = {0};
    for (int i = 0; i < table->count; i++)
        if (table->node[i].has_cpus)
            cpuset_merge(&all, &table->node[i].cpus);
    for (int i = 0; i < table->count; i++) {
        struct memory_node *node = &table->node[i];
        bool vague = bits_within(all.word, node->cpus.word, SET_WORDS(&all)) ||
                     bits_count(node->cpus.word, SET_WORDS(&node->cpus)) == 0;
        if (node->has_cpus || !vague)
            continue;
        uint16_t nearest = 0;
        struct cpuset cpus = {0};
        for (int from = 0; from < table->count; from++) {
            uint16_t distance = topology_distance(table, from, i);
            if (!table->node[from].has_cpus || distance == 0 || (nearest && distance > nearest))
                continue;
            if (distance != nearest)
                cpus = (struct cpuset){0};
            nearest = distance;
            cpuset_merge(&cpus, &table->node[from].cpus);
        }
        if (nearest)
            node->cpus = cpus;
    }
}

/* ---- figures ---- */

struct range {
    uint64_t low, high; /* 0: not known */
};

static void widen(struct range *range, uint64_t value)
{
    if (value == 0)
        return;
    if (range->low == 0 || value < range->low)
        range->low = value;
    if (value > range->high)
        range->high = value;
}

static void ordinary_figures(const struct memory_table *table, struct range *bandwidth, struct range *latency)
{
    *bandwidth = *latency = (struct range){0, 0};
    for (int i = 0; i < table->count; i++)
        if (table->node[i].memory == MEMORY_DRAM) {
            widen(bandwidth, table->node[i].bandwidth);
            widen(latency, table->node[i].latency);
        }
}

static void apply_figures(struct memory_table *table)
{
    struct range bandwidth, latency;
    ordinary_figures(table, &bandwidth, &latency);
    /* Among nodes with CPUs only a factor above two counts: a half-filled socket has half the bandwidth. */
    for (int i = 0; i < table->count; i++) {
        struct memory_node *node = &table->node[i];
        if (node->evidence == EVIDENCE_CPUS && bandwidth.low > 0 && node->bandwidth / 2 > bandwidth.low) {
            node->memory = MEMORY_UNKNOWN;
            node->evidence = EVIDENCE_BANDWIDTH;
            node->fast = true;
        }
    }
    ordinary_figures(table, &bandwidth, &latency);
    for (int i = 0; i < table->count; i++) {
        struct memory_node *node = &table->node[i];
        if (node->memory != MEMORY_UNKNOWN || node->has_cpus || node->size == 0)
            continue;
        node->fast = bandwidth.high > 0 && clearly_above(node->bandwidth, bandwidth.high);
        node->capacity = !node->fast && ((node->bandwidth > 0 && clearly_above(bandwidth.low, node->bandwidth)) ||
                                         (latency.high > 0 && clearly_above(node->latency, latency.high)));
        if (node->fast || node->capacity)
            node->evidence = EVIDENCE_BANDWIDTH;
    }
}

/* ---- all together ---- */

static void mark_technologies(struct memory_table *table)
{
    for (int i = 0; i < table->count; i++) {
        struct memory_node *node = &table->node[i];
        node->fast |= node->memory == MEMORY_MCDRAM || node->memory == MEMORY_HBM;
        node->capacity |= node->memory == MEMORY_CXL || node->memory == MEMORY_NVM;
    }
}

/* Of several technologies that are fast, FASTMEM is the fastest. */
static void keep_fastest(struct memory_table *table)
{
    const struct memory_node *fastest = NULL;
    for (int i = 0; i < table->count; i++) {
        const struct memory_node *node = &table->node[i];
        if (node->fast && node->bandwidth > 0 && (!fastest || node->bandwidth > fastest->bandwidth))
            fastest = node;
    }
    if (!fastest)
        return;
    for (int i = 0; i < table->count; i++) {
        struct memory_node *node = &table->node[i];
        bool same = node->memory == fastest->memory && node->memory != MEMORY_UNKNOWN;
        if (node->fast && !same && node->bandwidth > 0 && clearly_above(fastest->bandwidth, node->bandwidth))
            node->fast = false;
    }
}

static void mark_side_caches(struct memory_table *table, const struct cpuset *side_cache)
{
    for (int i = 0; i < table->count; i++) {
        struct memory_node *node = &table->node[i];
        node->memory_cache |= node->memory == MEMORY_DRAM && cpuset_intersects(&node->cpus, side_cache);
    }
}

void recognise(struct memory_table *table, const struct clue *clue, const struct platform *platform)
{
    apply_names(table, clue);
    if (!platform->has_cpus_known)
        find_cpu_nodes(table);
    drop_swapped_names(table);
    localise_by_distance(table);
    apply_cpus(table);
    apply_figures(table);
    knights_recognise(table, platform);
    mark_technologies(table);
    keep_fastest(table);
    mark_side_caches(table, &platform->side_cache);
}

const char *memory_name(enum memory memory)
{
    static const char *const name[MEMORY_COUNT] = {"UNKNOWN", "DRAM", "MCDRAM", "HBM", "CXL", "NVM", "GPU"};
    return (unsigned)memory < MEMORY_COUNT ? name[memory] : "UNKNOWN";
}

const char *evidence_name(enum evidence evidence)
{
    static const char *const name[] = {"none",         "named by hwloc", "bandwidth and latency",
                                       "KNL's shape", "has CPUs",       "only node"};
    return (unsigned)evidence < sizeof name / sizeof name[0] ? name[evidence] : "none";
}
