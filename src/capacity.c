/* Adds up what the PEs of a node want and holds it against what is free; stands on nothing but figures. */
#include "capacity.h"

#include <stdlib.h>

struct group { /* demands for the same nodes */
    struct nodeset nodes;
    uint64_t bytes;
    size_t largest; /* of one PE for one partition */
    int id, pes, last_pe;
};

struct tally {
    uint64_t total;
    int pes, groups;
    struct group group[PARTITION_LIMIT];
};

bool definition_is_mandatory(const struct definition *definition)
{
    return definition->policy == POLICY_MANDATORY || definition->policy == POLICY_INTERLEAVED;
}

struct demand demand_for(const struct definition *definition, size_t block_bytes, size_t page_size,
                         const struct nodeset *nodes)
{
    return (struct demand){.bytes = definition->page_size > page_size ? 0 : block_bytes,
                           .bound = definition_is_mandatory(definition),
                           .id = definition->id,
                           .nodes = *nodes};
}

struct tally *tally_create(void) { return calloc(1, sizeof(struct tally)); }

static void add_to_group(struct tally *tally, const struct demand *demand)
{
    struct group *group = tally->group;
    int i = 0;
    while (i < tally->groups && memcmp(&group[i].nodes, &demand->nodes, sizeof demand->nodes) != 0)
        i++;
    if (i == PARTITION_LIMIT) /* more sets of nodes than can be told apart: the last takes the rest */
        i--;
    if (i == tally->groups)
        group[tally->groups++] = (struct group){.nodes = demand->nodes, .id = demand->id};
    group[i].bytes += demand->bytes;
    group[i].pes += group[i].last_pe != tally->pes; /* once, however many partitions it wants there */
    group[i].last_pe = tally->pes;
    if (demand->bytes > group[i].largest) {
        group[i].largest = demand->bytes;
        group[i].id = demand->id;
    }
}

void tally_add(struct tally *tally, const struct demand *demand, int count)
{
    tally->pes++;
    for (int i = 0; i < count; i++) {
        tally->total += demand[i].bytes;
        if (demand[i].bound)
            add_to_group(tally, &demand[i]);
    }
}

static uint64_t free_on(const struct nodeset *nodes, const struct supply *supply)
{
    uint64_t bytes = 0;
    for (int node = 0; node < NODESET_BITS; node++)
        if (nodeset_has(nodes, node))
            bytes += supply->node[node];
    return bytes;
}

/* `alone`: nobody wants a part of these nodes only. */
static void say_shortage(const struct group *group, uint64_t wanted, bool alone, const struct supply *supply,
                         struct message *message)
{
    char size[32], total[32], free_text[32], list[256];
    message_set(message, "partition %d does not fit into NUMA node %s: %s wanted per PE, %s by ", group->id,
                nodeset_text(&group->nodes, list, sizeof list), message_size(size, group->largest),
                message_size(total, wanted));
    if (alone)
        message_add(message, "the %d PE%s there", group->pes, group->pes == 1 ? "" : "s");
    else
        message_add(message, "all partitions there");
    const char *separator = "; free: ";
    for (int node = 0; node < NODESET_BITS; node++)
        if (nodeset_has(&group->nodes, node)) {
            message_add(message, "%snode %d %s", separator, node, message_size(free_text, supply->node[node]));
            separator = ", ";
        }
    message_add(message, "; ask for less, start fewer PEs per node, or use policy=PREFERRED");
}

/* Each set of nodes must hold all demands that have nowhere else to go. */
static int check_groups(const struct tally *tally, const struct supply *supply, struct message *message)
{
    const struct group *group = tally->group;
    for (int i = 0; i < tally->groups; i++) {
        uint64_t wanted = 0;
        for (int j = 0; j < tally->groups; j++)
            if (nodeset_within(&group[j].nodes, &group[i].nodes))
                wanted += group[j].bytes;
        if (wanted > free_on(&group[i].nodes, supply)) {
            say_shortage(&group[i], wanted, wanted == group[i].bytes, supply, message);
            return -1;
        }
    }
    return 0;
}

int tally_check(const struct tally *tally, const struct supply *supply, struct message *message)
{
    if (check_groups(tally, supply, message) != 0)
        return -1;
    if (supply->whole.bytes == 0 || tally->total <= supply->whole.bytes)
        return 0;
    char size[32], there[32];
    message_set(message, "the partitions of the %d PE%s on this node add up to %s, and %s has %s left; ask for less or "
                         "start fewer PEs per node",
                tally->pes, tally->pes == 1 ? "" : "s", message_size(size, tally->total), supply->whole.limit,
                message_size(there, supply->whole.bytes));
    return -1;
}
