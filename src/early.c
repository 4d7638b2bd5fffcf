/*
 * Early placement.  Partitions lie one after another at a fixed distance from the
 * start of the engine's heap: far enough for what the engine allocates first, so
 * that a block that it gives out later, with as much to spare, contains them.
 *
 * What is bound is only preferred, as the PEs cannot yet add up what they want of
 * a node, and filling it under a strict policy would kill them.  All that late
 * placement does and checks (blocks.c) follows; it then finds the pages in place.
 *
 * Stands on blocks.c for the nodes and their policy, and on the preload library
 * for the heap's mapping.
 */
#define _GNU_SOURCE
#include "early.h"

#include "agreement.h"
#include "blocks.h"
#include "pages.h"
#include "placement.h"
#include "preload/mappings.h"
#include "state.h"

#include <dlfcn.h>
#include <stdlib.h>

enum { BEFORE_PARTITIONS = 8 << 20 }; /* more than any engine allocates for itself at the start of its heap */

static uintptr_t round_up(uintptr_t address, size_t to) { return (address + to - 1) / to * to; }

static watch_mappings_function *find_watch(void)
{
    watch_mappings_function *watch;
    void *symbol = dlsym(RTLD_DEFAULT, WATCH_MAPPINGS);
    memcpy(&watch, &symbol, sizeof symbol);
    return watch;
}

bool early_is_possible(void)
{
    const char *text = getenv("PYSHMEM_EARLY");
    return library.partitions.definitions.count > 0 && (!text || strcmp(text, "0") != 0) && find_watch();
}

static size_t largest_alignment(void)
{
    size_t largest = placement_page_size();
    for (int i = 0; i < library.partitions.definitions.count; i++)
        if (library.partitions.partition[i].alignment > largest)
            largest = library.partitions.partition[i].alignment;
    return largest;
}

/* Partitions begin at the next multiple of the largest alignment, for which heap_bytes (preparation.c) has room. */
size_t early_room(void) { return round_up(BEFORE_PARTITIONS, largest_alignment()); }

/* Where the partitions are to lie in a heap; the end of the last. */
static char *lay_out(char *heap)
{
    uintptr_t end = round_up((uintptr_t)heap + BEFORE_PARTITIONS, largest_alignment());
    for (int i = 0; i < library.partitions.definitions.count; i++) {
        struct partition *partition = &library.partitions.partition[i];
        uintptr_t base = round_up(end, partition->alignment);
        partition->base = (char *)base;
        end = base + partition->block_bytes;
    }
    return (char *)end;
}

/* ---- while the engine starts ------------------------------------------------------------------------------------- */

static void place(struct partition *partition)
{
    struct message unused;
    if (nodeset_count(&partition->nodes) == 0)
        return;
    pages_put_under_early(partition, blocks_final_binding(partition));
    partition->early = placement_bind(partition->base, partition->block_bytes, blocks_first_binding(partition),
                                      &partition->nodes, &unused) == 0;
}

/* Whatever goes wrong here is tried again, and told, when the engine has started. */
static void place_in_heap(void *address, size_t bytes)
{
    library.early = (struct early_state){.heap = address, .bytes = bytes};
    if (lay_out(address) > (char *)address + bytes)
        return;
    for (int i = 0; i < library.partitions.definitions.count; i++)
        place(&library.partitions.partition[i]);
}

static void choose_nodes(const struct memory_table *table)
{
    struct cpuset cpus;
    struct choice unused_choice;
    struct message unused;
    if (placement_allowed_cpus(&cpus, &unused) != 0)
        return;
    for (int i = 0; i < library.partitions.definitions.count; i++)
        (void)blocks_choose(&library.partitions.partition[i], table, &cpus, &unused_choice, &unused);
}

void early_watch(void)
{
    struct message unused;
    struct memory_table *table = topology_recognise(NULL, &unused);
    if (table)
        choose_nodes(table);
    free(table);
    find_watch()(library.partitions.heap_bytes, place_in_heap);
}

void early_watch_no_more(void)
{
    watch_mappings_function *watch = find_watch();
    if (watch)
        watch(0, NULL);
}

/* ---- when it has started ----------------------------------------------------------------------------------------- */

static void take_back(void)
{
    for (int i = 0; i < library.partitions.definitions.count; i++) {
        struct partition *partition = &library.partitions.partition[i];
        if (partition->early)
            placement_unbind(partition->base, partition->block_bytes);
        partition->early = false;
    }
}

/* From wherever the engine begins it, as far as the end of the last partition, wherever the heap's start is. */
static size_t block_bytes(void)
{
    size_t bytes = BEFORE_PARTITIONS + largest_alignment();
    for (int i = 0; i < library.partitions.definitions.count; i++)
        bytes += library.partitions.partition[i].block_bytes + library.partitions.partition[i].alignment;
    return bytes;
}

bool early_allocate(void)
{
    struct partition_state *state = &library.partitions;
    if (!agreement_all(library.early.heap != NULL)) {
        take_back();
        return false;
    }
    size_t bytes = block_bytes();
    char *block = engine()->align(placement_page_size(), bytes), *end = lay_out(library.early.heap);
    if (agreement_all(block && block <= state->partition[0].base && end <= block + bytes)) {
        state->count = state->definitions.count;
        return true;
    }
    if (block)
        engine()->free(block);
    take_back();
    return false;
}
