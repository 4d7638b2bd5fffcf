/* Which nodes serve a definition, and what serves it instead; stands on selection.c. */
#include "choice.h"

#include <stdio.h>

/* Of a sum, the kinds that are there: a bit for each. */
static unsigned kinds_present(const struct memory_table *table, const struct definition *definition,
                              const struct cpuset *cpus)
{
    struct nodeset nodes;
    struct message unused;
    unsigned present = 0;
    for (unsigned kind = 1; kind <= definition->kinds; kind <<= 1)
        if (definition->kinds & kind &&
            topology_select(table, kind, &definition->nodes, cpus, true, &nodes, &unused) == 0)
            present |= kind;
    return present;
}

/* The kinds that are there, or else ordinary memory, or on a node without that, anything. */
static void fall_back(const struct memory_table *table, const struct definition *definition, const struct cpuset *cpus,
                      struct choice *choice)
{
    struct message unused;
    unsigned present = kinds_present(table, definition, cpus);
    char rest[KINDS_TEXT_SIZE];
    choice->fell_back = true;
    snprintf(choice->consequence, sizeof choice->consequence, "PREFERRED falls back to %s",
             present ? kinds_text(present, rest, sizeof rest) : "DRAM");
    if (topology_select(table, present ? present : 1u << KIND_DRAM, &definition->nodes, cpus,
                        definition_reaches_all(definition), &choice->nodes, &unused) != 0)
        choice->nodes = (struct nodeset){0};
}

int choice_make(const struct memory_table *table, const struct definition *definition, const struct cpuset *cpus,
                struct choice *choice, struct message *message)
{
    choice->fell_back = false;
    if (topology_select(table, definition->kinds, &definition->nodes, cpus, definition_reaches_all(definition),
                        &choice->nodes, &choice->why) == 0)
        return 0;
    if (definition->policy == POLICY_PREFERRED) {
        fall_back(table, definition, cpus, choice);
        return 0;
    }
    message_set(message, "%s\npartition %d \"%s\": %s; with policy=PREFERRED it would fall back to DRAM",
                definition->text, definition->id, definition->name, choice->why.text);
    return -1;
}
