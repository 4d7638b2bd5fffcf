// sources: capacity.c message.c bitset.c
/* Is there room?  Against sums made by hand, at the last byte, and with more sets of nodes than can be told apart. */
#include "capacity.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

enum { GIB = 1 << 30 };

static struct nodeset nodes(int first, int last)
{
    struct nodeset set = {0};
    for (int node = first; node <= last; node++)
        nodeset_add(&set, node);
    return set;
}

static struct demand bound(size_t bytes, int id, int first, int last)
{
    return (struct demand){.bytes = bytes, .bound = true, .id = id, .nodes = nodes(first, last)};
}

/* Two PEs on node 0, one of which wants as much again of nodes 0 and 1 together: 4 GiB there, and 2 of them on 0. */
static int two_pes(uint64_t on_0, uint64_t on_1, uint64_t whole, struct message *message)
{
    static struct supply supply;
    supply = (struct supply){.whole = {whole, "the node"}, .node = {on_0, on_1}};
    struct demand first[] = {bound(GIB, 2, 0, 0), bound((size_t)2 * GIB, 3, 0, 1)}, second[] = {bound(GIB, 2, 0, 0)};
    struct tally *tally = tally_create();
    assert(tally);
    tally_add(tally, first, 2);
    tally_add(tally, second, 1);
    int status = tally_check(tally, &supply, message);
    free(tally);
    return status;
}

static void check_two_pes(void)
{
    struct message message = {""};
    const uint64_t gib = GIB;
    assert(two_pes(2 * gib, 2 * gib, 0, &message) == 0);
    assert(two_pes(2 * gib, 2 * gib, 4 * gib, &message) == 0 && message.text[0] == '\0');
    assert(two_pes(2 * gib - 1, 8 * gib, 0, &message) == -1);
    assert(strstr(message.text, "partition 2 does not fit into NUMA node 0: 1 GiB wanted per PE, 2 GiB by the 2 PEs"));
    assert(two_pes(2 * gib, 2 * gib - 1, 0, &message) == -1);
    assert(strstr(message.text, "partition 3 does not fit into NUMA node 0-1: 2 GiB wanted per PE, 4 GiB by all part"));
    assert(two_pes(2 * gib, 2 * gib, 4 * gib - 1, &message) == -1);
    assert(strstr(message.text, "of the 2 PEs on this node add up to 4 GiB"));
}

static void check_many_sets(void)
{
    static struct supply supply;
    struct message message;
    struct tally *tally = tally_create();
    assert(tally);
    for (int node = 0; node < NODESET_BITS; node++) {
        struct demand one = bound(1, 1 + node % PARTITION_LIMIT, node, node);
        supply.node[node] = 1 << 20;
        tally_add(tally, &one, 1);
    }
    assert(tally_check(tally, &supply, &message) == 0);
    free(tally);
}

static void check_demands(void)
{
    struct nodeset set = nodes(4, 7);
    struct definition definition = {.id = 9, .policy = POLICY_INTERLEAVED, .page_size = 2 << 20};
    struct demand huge = demand_for(&definition, 4 << 20, 4096, &set);
    assert(huge.bytes == 0 && huge.bound && huge.id == 9 && nodeset_count(&huge.nodes) == 4);
    definition = (struct definition){.policy = POLICY_PREFERRED};
    struct demand preferred = demand_for(&definition, 4 << 20, 4096, &set);
    assert(preferred.bytes == 4 << 20 && !preferred.bound);
}

int main(void)
{
    check_two_pes();
    check_many_sets();
    check_demands();
    puts("all well");
    return 0;
}
