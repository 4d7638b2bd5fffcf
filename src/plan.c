/*
 * A job's start on paper: definitions, heap, nodes and capacity in the order of
 * partition.c, for the places that a launcher would put the PEs on.
 */
#define _GNU_SOURCE
#include "plan.h"

#include "capacity.h"
#include "huge.h"
#include "pages.h"
#include "placement.h"
#include "preparation.h"

#include <stdlib.h>

/* A job that starts here can use no other CPUs than this process. */
static int keep_own_places(struct plan *plan, struct message *message)
{
    struct cpuset own;
    int kept = 0;
    if (placement_allowed_cpus(&own, message) != 0)
        return -1;
    for (int i = 0; i < plan->places; i++) {
        struct cpuset *place = &plan->place[kept];
        *place = plan->place[i];
        for (size_t word = 0; word < SET_WORDS(place); word++)
            place->word[word] &= own.word[word];
        kept += bits_count(place->word, SET_WORDS(place)) > 0;
    }
    plan->places = kept;
    if (kept > 0)
        return 0;
    message_set(message, "no CPU of this machine may be used");
    return -1;
}

/* The machine: its memory, what of it is free, and the places for PEs. */
static int look(struct plan *plan, const char *xml, enum place place, struct message *message)
{
    if (!(plan->table = topology_recognise(xml, message)) ||
        !(plan->place = topology_places(xml, place, &plan->places, message)))
        return -1;
    if (xml) {
        supply_total(&plan->supply, plan->table);
        return 0;
    }
    supply_read(&plan->supply, plan->table);
    return keep_own_places(plan, message);
}

/* Where every PE's pages belong; the first PE that has no such memory fails. */
static void choose(struct plan *plan)
{
    const struct definitions *definitions = &plan->definitions;
    for (int place = 0; place < plan->places; place++)
        for (int i = 0; i < definitions->count; i++) {
            struct message reason;
            struct choice *choice = &plan->choice[place * definitions->count + i];
            if (choice_make(plan->table, &definitions->entry[i], &plan->place[place], choice, &reason) == 0 ||
                plan->fails)
                continue;
            plan->fails = true;
            plan->failed_pe = place;
            plan->message = reason;
        }
}

static void add_up(struct plan *plan, struct tally *tally, int pes)
{
    const struct definitions *definitions = &plan->definitions;
    struct demand demand[PARTITION_LIMIT];
    for (int pe = 0; pe < pes; pe++) {
        const struct choice *choice = &plan->choice[pe % plan->places * definitions->count];
        for (int i = 0; i < definitions->count; i++)
            demand[i] = demand_for(&definitions->entry[i], plan->block_bytes[i], placement_page_size(),
                                   &choice[i].nodes);
        tally_add(tally, demand, definitions->count);
    }
}

/* Whether a partition's pages come from a pool of larger ones, and nothing else will do. */
static bool needs_pool(const struct definition *definition)
{
    return definition->page_size > placement_page_size() && definition->policy != POLICY_PREFERRED;
}

static bool is_within(const struct nodeset *inner, const struct nodeset *outer)
{
    return nodeset_count(outer) == 0 || (nodeset_count(inner) > 0 && nodeset_within(inner, outer));
}

/* What all PEs want of a pool, on these nodes and no others (empty: on any). */
static uint64_t wanted_of_pool(const struct plan *plan, int pes, size_t page, const struct nodeset *nodes)
{
    const struct definitions *definitions = &plan->definitions;
    uint64_t wanted = 0;
    for (int place = 0; place < plan->places; place++)
        for (int i = 0; i < definitions->count; i++) {
            size_t here = (size_t)(pes / plan->places + (place < pes % plan->places));
            const struct choice *choice = &plan->choice[place * definitions->count + i];
            if (needs_pool(&definitions->entry[i]) && definitions->entry[i].page_size == page &&
                is_within(&choice->nodes, nodes))
                wanted += here * plan->block_bytes[i];
        }
    return wanted;
}

/* The pools of this machine; the first partition that finds too little fails. */
static void check_pools(struct plan *plan, int pes)
{
    const struct definitions *definitions = &plan->definitions;
    for (int place = 0; place < plan->places; place++)
        for (int i = 0; i < definitions->count && !plan->fails; i++) {
            const struct definition *definition = &definitions->entry[i];
            const struct nodeset *nodes = &plan->choice[place * definitions->count + i].nodes;
            struct message reason;
            if (!needs_pool(definition) || wanted_of_pool(plan, pes, definition->page_size, nodes) <=
                                               huge_free_bytes(definition->page_size, nodes))
                continue;
            pages_complain_short(definition, plan->block_bytes[i], nodes, PAGES_TOO_FEW, &reason);
            plan->fails = true;
            plan->failed_pe = place;
            message_set(&plan->message, "%s\npartition %d \"%s\": %s", definition->text, definition->id,
                        definition->name, reason.text);
        }
}

static int decide(struct plan *plan, bool here, int pes, struct message *message)
{
    size_t unused;
    const struct definitions *definitions = &plan->definitions;
    if (preparation_check(definitions, &plan->supply.whole, here, &unused, &plan->message) != 0) {
        plan->fails = true;
        return 0;
    }
    plan->choice = calloc((size_t)plan->places * (size_t)(definitions->count + 1), sizeof *plan->choice);
    struct tally *tally = tally_create();
    if (!plan->choice || !tally) {
        message_set(message, "no memory for a plan of %d partitions at %d places", definitions->count, plan->places);
        free(tally);
        return -1;
    }
    for (int i = 0; i < definitions->count; i++)
        plan->block_bytes[i] = preparation_block_bytes(&definitions->entry[i]);
    choose(plan);
    add_up(plan, tally, pes);
    if (!plan->fails)
        plan->fails = tally_check(tally, &plan->supply, &plan->message) != 0;
    if (here)
        check_pools(plan, pes);
    free(tally);
    return 0;
}

struct plan *plan_make(const char *xml, const struct program_definition *program, int program_count, int pes,
                       enum place place, struct message *message)
{
    struct plan *plan = calloc(1, sizeof *plan);
    if (!plan) {
        message_set(message, "no memory for a plan");
        return NULL;
    }
    if (look(plan, xml, place, message) != 0) {
        plan_destroy(plan);
        return NULL;
    }
    if (plan->places > pes) /* the others stay empty */
        plan->places = pes;
    if (preparation_read(&plan->definitions, program, program_count, &plan->message) != 0) {
        plan->fails = true;
        plan->definitions.count = 0;
    } else if (decide(plan, !xml, pes, message) != 0) {
        plan_destroy(plan);
        return NULL;
    }
    return plan;
}

void plan_destroy(struct plan *plan)
{
    free(plan->table);
    free(plan->place);
    free(plan->choice);
    free(plan);
}
