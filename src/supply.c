/* Figures of memory for the decision whether it is enough; stands on the table and on placement's figures. */
#include "supply.h"

void supply_read(struct supply *supply, const struct memory_table *table)
{
    *supply = (struct supply){.whole = placement_room()};
    for (int i = 0; i < table->count; i++)
        supply->node[table->node[i].number] = placement_free_bytes(table->node[i].number);
}

void supply_total(struct supply *supply, const struct memory_table *table)
{
    *supply = (struct supply){.whole = {0, "the node"}};
    for (int i = 0; i < table->count; i++) {
        const struct memory_node *node = &table->node[i];
        supply->node[node->number] = node->size;
        if (node->allowed)
            supply->whole.bytes += node->size;
    }
}
