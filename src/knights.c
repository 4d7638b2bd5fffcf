/*
 * Knights Landing and Knights Mill, known by their processor: which memory-only
 * nodes are MCDRAM, and in which modes the machine runs.  Does without hwloc's
 * own knowledge of them, which newer versions have dropped; stands on nothing
 * but the table.
 */
#include "recognition.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { LOCAL_DISTANCE = 31 };

static const uint64_t gibibyte = UINT64_C(1) << 30;

static bool candidate(const struct memory_node *node)
{
    return !node->has_cpus && !node->capacity && node->memory == MEMORY_UNKNOWN && node->size > 0;
}

/* Each memory-only node is at 31 from one CPU node and farther from all others, and each CPU node has one. */
static bool distances(const struct memory_table *table)
{
    bool any = false, missing = false;
    for (int cpus = 0; cpus < table->count; cpus++)
        for (int memory = 0; memory < table->count; memory++)
            if (table->node[cpus].has_cpus && candidate(&table->node[memory])) {
                bool known = topology_distance(table, cpus, memory) > 0;
                any |= known;
                missing |= !known;
            }
    if (missing)
        return !any;
    for (int a = 0; a < table->count; a++) {
        bool is_cpus = table->node[a].has_cpus;
        if (!is_cpus && !candidate(&table->node[a]))
            continue;
        int local = 0;
        for (int b = 0; b < table->count; b++) {
            if (is_cpus ? !candidate(&table->node[b]) : !table->node[b].has_cpus)
                continue;
            uint16_t distance = is_cpus ? topology_distance(table, a, b) : topology_distance(table, b, a);
            if (distance < LOCAL_DISTANCE)
                return false;
            local += distance == LOCAL_DISTANCE;
        }
        if (local != 1)
            return false;
    }
    return true;
}

static bool shape(const struct memory_table *table)
{
    int with_cpus = 0, without = 0;
    uint64_t total = 0, smallest = UINT64_MAX, largest = 0;
    for (int i = 0; i < table->count; i++) {
        const struct memory_node *node = &table->node[i];
        with_cpus += node->has_cpus;
        if (!candidate(node))
            continue;
        without++;
        total = node->size > UINT64_MAX - total ? UINT64_MAX : total + node->size;
        smallest = node->size < smallest ? node->size : smallest;
        largest = node->size > largest ? node->size : largest;
    }
    bool clusters = with_cpus == 1 || with_cpus == 2 || with_cpus == 4;
    /* "Equal" leaves room for what the kernel keeps for itself. */
    return clusters && without == with_cpus && total <= 16 * gibibyte && largest - smallest <= largest / 8 &&
           distances(table);
}

static void apply_shape(struct memory_table *table)
{
    if (!shape(table))
        return;
    for (int i = 0; i < table->count; i++) {
        struct memory_node *node = &table->node[i];
        if (candidate(node)) {
            node->memory = MEMORY_MCDRAM;
            node->evidence = EVIDENCE_KNL;
        }
    }
}

/* ---- modes ---- */

/* The whole of the MCDRAM is 16 GiB: what is not in nodes is cache.  NULL: the sizes fit no mode. */
static const char *memory_mode(const struct memory_table *table, const struct platform *platform)
{
    if (platform->memory_mode[0])
        return platform->memory_mode;
    uint64_t total = 0;
    bool memory_only = false;
    for (int i = 0; i < table->count; i++) {
        memory_only |= !table->node[i].has_cpus;
        if (table->node[i].memory == MEMORY_MCDRAM)
            total += table->node[i].size;
    }
    if (!memory_only)
        return "Cache";
    uint64_t eighths = (total + gibibyte) / (2 * gibibyte);
    return eighths == 8 ? "Flat" : eighths == 6 ? "Hybrid25" : eighths == 4 ? "Hybrid50" : NULL;
}

static const char *cluster_mode(const struct memory_table *table, const struct platform *platform)
{
    static const struct word {
        const char *hwloc, *ours;
    } words[] = {{"All2All", "all-to-all"}, {"Quadrant", "quadrant"}, {"Hemisphere", "hemisphere"},
                 {"SNC2", "SNC-2"},         {"SNC4", "SNC-4"}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcasecmp(platform->cluster_mode, words[i].hwloc) == 0)
            return words[i].ours;
    int with_cpus = 0;
    for (int i = 0; i < table->count; i++)
        with_cpus += table->node[i].has_cpus;
    return with_cpus == 4 ? "SNC-4" : with_cpus == 2 ? "SNC-2" : with_cpus == 1 ? "all-to-all or quadrant" : NULL;
}

static const char *memory_mode_word(const char *mode)
{
    if (!mode)
        return NULL;
    return strcasecmp(mode, "Cache") == 0          ? "cache"
           : strcasecmp(mode, "Flat") == 0         ? "flat"
           : strcasecmp(mode, "Hybrid25") == 0     ? "hybrid (a quarter is cache)"
           : strcasecmp(mode, "Hybrid50") == 0     ? "hybrid (half is cache)"
           : strncasecmp(mode, "Hybrid", 6) == 0   ? "hybrid"
                                                   : NULL;
}

void knights_recognise(struct memory_table *table, const struct platform *platform)
{
    static const char *const name[] = {"", "Knights Landing", "Knights Mill", "Knights Landing or Mill"};
    if (platform->knights == KNIGHTS_NONE)
        return;
    apply_shape(table);
    const char *mode = memory_mode(table, platform);
    bool cache = mode && strcasecmp(mode, "Flat") != 0;
    for (int i = 0; i < table->count; i++) {
        struct memory_node *node = &table->node[i];
        node->memory_cache |= cache && node->memory == MEMORY_DRAM;
    }
    const char *cluster = cluster_mode(table, platform), *memory = memory_mode_word(mode);
    snprintf(table->summary, sizeof table->summary, "%s%s%s%s%s", name[platform->knights], cluster ? ", " : "",
             cluster ? cluster : "", memory ? ", " : "", memory ? memory : "");
}
