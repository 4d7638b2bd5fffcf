/*
 * The PEs of one node find each other, share one look at its memory, and check
 * that it is enough for all.  Stands on engine/, topology and placement's
 * figures of free memory.
 *
 * The meeting place of a node is a slot in the symmetric memory of the PE that
 * the node's key points to.  PEs put themselves at the head of the slot's list
 * by an atomic swap, each keeping the PE that was there before: a list through
 * the PEs themselves, from the last that came to the first, who leads.
 */
#define _GNU_SOURCE
#include "neighbours.h"

#include "placement.h"
#include "state.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { SLOTS = 16 };

struct meeting {
    long key[SLOTS];    /* 0: free */
    long head[SLOTS];   /* the last PE that came, plus one */
    long leader[SLOTS]; /* the first that came, plus one */
    long count[SLOTS];
    long before; /* of this PE: the one that came before it, plus one; 0: none */
    long table_bytes, table_bytes_largest;
    int demands;
    struct demand demand[PARTITION_LIMIT];
};

unsigned long neighbours_node_key(void)
{
    char text[128] = "";
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (file) {
        if (!fgets(text, sizeof text, file))
            text[0] = '\0';
        fclose(file);
    }
    if (!text[0] && gethostname(text, sizeof text - 1) != 0)
        strcpy(text, "unnamed");
    unsigned long key = 14695981039346656037UL;
    for (const char *letter = text; *letter; letter++)
        key = (key ^ (unsigned char)*letter) * 1099511628211UL;
    return key;
}

/* Claim the node's slot, or find it claimed: at the PE that the key points to, or the next that has room. */
static int find_slot(struct meeting *meeting, long key, int *host)
{
    int n_pes = library.engine.n_pes;
    int first = (int)((unsigned long)key % (unsigned long)n_pes);
    for (int step = 0; step < n_pes; step++) {
        *host = (first + step) % n_pes;
        for (int slot = 0; slot < SLOTS; slot++) {
            long there = shmem_long_atomic_compare_swap(&meeting->key[slot], 0, key, *host);
            if (there == 0 || there == key)
                return slot;
        }
    }
    return -1;
}

int neighbours_meet(unsigned long key, struct message *message)
{
    struct meeting *meeting = engine()->calloc(1, sizeof *meeting);
    library.neighbours.meeting = meeting;
    if (!meeting) {
        message_set(message, "the symmetric heap has no room for the %zu bytes in which the PEs of a node meet",
                    sizeof *meeting);
        return -1;
    }
    shmem_barrier_all();
    int host = 0;
    int slot = find_slot(meeting, (long)(key | 1), &host);
    if (slot < 0) { /* cannot be: there are more slots than PEs */
        message_set(message, "the PEs of this node found no place to meet");
        shmem_barrier_all();
        return -1;
    }
    long me = library.engine.my_pe + 1;
    meeting->before = shmem_long_atomic_swap(&meeting->head[slot], me, host);
    if (meeting->before == 0)
        shmem_long_atomic_set(&meeting->leader[slot], me, host);
    shmem_long_atomic_inc(&meeting->count[slot], host);
    shmem_barrier_all();
    library.neighbours.leader = (int)shmem_long_atomic_fetch(&meeting->leader[slot], host) - 1;
    library.neighbours.last = (int)shmem_long_atomic_fetch(&meeting->head[slot], host) - 1;
    library.neighbours.count = (int)shmem_long_atomic_fetch(&meeting->count[slot], host);
    return 0;
}

void neighbours_part(void)
{
    if (library.neighbours.meeting)
        engine()->free(library.neighbours.meeting);
    library.neighbours.meeting = NULL;
}

bool neighbours_leader(void) { return library.neighbours.leader == library.engine.my_pe; }
int neighbours_count(void) { return library.neighbours.count; }

/* Copy the leader's table, which lies in symmetric memory as large as the largest of all nodes. */
static struct memory_table *copy_table(const struct memory_table *shared, long bytes)
{
    struct memory_table *table = malloc((size_t)bytes);
    if (table)
        shmem_getmem(table, shared, (size_t)bytes, library.neighbours.leader);
    return table;
}

int neighbours_recognise(struct memory_table **result, struct message *message)
{
    struct meeting *meeting = library.neighbours.meeting;
    struct memory_table *table = NULL;
    meeting->table_bytes = 0;
    if (neighbours_leader() && (table = topology_recognise(NULL, message)))
        meeting->table_bytes = (long)table->bytes;
    shmem_barrier_all();
    engine_reduce(engine_team_world(), REDUCTION_MAX, ELEMENT_LONG, &meeting->table_bytes_largest, &meeting->table_bytes, 1);
    void *shared = meeting->table_bytes_largest > 0 ? engine()->malloc((size_t)meeting->table_bytes_largest) : NULL;
    if (shared && table)
        memcpy(shared, table, table->bytes);
    shmem_barrier_all();
    long bytes = shmem_long_g(&meeting->table_bytes, library.neighbours.leader);
    if (!neighbours_leader() && shared && bytes > 0)
        table = copy_table(shared, bytes);
    shmem_barrier_all();
    if (shared)
        engine()->free(shared);
    *result = table;
    if (table || bytes == 0)
        return neighbours_leader() && !table ? -1 : 0;
    message_set(message, "no memory for what was recognised of this node (%ld bytes)", bytes);
    return -1;
}

struct group { /* demands for the same nodes */
    struct nodeset nodes;
    uint64_t bytes;
    size_t largest; /* of one PE for one partition */
    int id, pes;
};

static void add_to_group(struct group *group, int *groups, const struct demand *demand)
{
    int i = 0;
    while (i < *groups && memcmp(&group[i].nodes, &demand->nodes, sizeof demand->nodes) != 0)
        i++;
    if (i == PARTITION_LIMIT) /* more sets of nodes than can be told apart: the last takes the rest */
        i--;
    if (i == *groups)
        group[(*groups)++] = (struct group){.nodes = demand->nodes, .id = demand->id};
    group[i].bytes += demand->bytes;
    group[i].pes++;
    if (demand->bytes > group[i].largest) {
        group[i].largest = demand->bytes;
        group[i].id = demand->id;
    }
}

static uint64_t free_on(const struct nodeset *nodes)
{
    uint64_t bytes = 0;
    for (int node = 0; node < NODESET_BITS; node++)
        if (nodeset_has(nodes, node))
            bytes += placement_free_bytes(node);
    return bytes;
}

static void say_shortage(struct message *message, const struct group *group, uint64_t wanted)
{
    char size[32], total[32], free_text[32], list[256];
    message_set(message, "partition %d does not fit into NUMA node %s: %s wanted per PE, %s by the %d PE%s there",
                group->id, nodeset_text(&group->nodes, list, sizeof list), message_size(size, group->largest),
                message_size(total, wanted), group->pes, group->pes == 1 ? "" : "s");
    const char *separator = "; free: ";
    for (int node = 0; node < NODESET_BITS; node++)
        if (nodeset_has(&group->nodes, node)) {
            message_add(message, "%snode %d %s", separator, node, message_size(free_text, placement_free_bytes(node)));
            separator = ", ";
        }
    message_add(message, "; ask for less, start fewer PEs per node, or use policy=PREFERRED");
}

/* Each set of nodes must hold all demands that have nowhere else to go. */
static int check_groups(const struct group *group, int groups, struct message *message)
{
    for (int i = 0; i < groups; i++) {
        uint64_t wanted = 0;
        for (int j = 0; j < groups; j++)
            if (nodeset_within(&group[j].nodes, &group[i].nodes))
                wanted += group[j].bytes;
        if (wanted > free_on(&group[i].nodes)) {
            say_shortage(message, &group[i], wanted);
            return -1;
        }
    }
    return 0;
}

static int check_total(uint64_t total, int pes, struct message *message)
{
    const char *limit;
    uint64_t available = placement_available_bytes(&limit);
    if (available == 0 || total <= available)
        return 0;
    char size[32], available_text[32];
    message_set(message, "the partitions of the %d PE%s on this node add up to %s, and %s has %s left; ask for less or "
                         "start fewer PEs per node",
                pes, pes == 1 ? "" : "s", message_size(size, total), limit, message_size(available_text, available));
    return -1;
}

static int check_node(struct message *message)
{
    struct meeting *meeting = library.neighbours.meeting;
    struct group *group = calloc(PARTITION_LIMIT, sizeof *group);
    struct demand *demand = malloc(sizeof meeting->demand);
    int groups = 0, pes = 0, status = -1;
    uint64_t total = 0;
    if (!group || !demand) {
        message_set(message, "no memory to add up the demands of the node");
        goto out;
    }
    for (int pe = library.neighbours.last; pe >= 0; pe = (int)shmem_long_g(&meeting->before, pe) - 1, pes++) {
        int count = shmem_int_g(&meeting->demands, pe);
        shmem_getmem(demand, meeting->demand, (size_t)count * sizeof *demand, pe);
        for (int i = 0; i < count; i++) {
            total += demand[i].bytes;
            if (demand[i].bound)
                add_to_group(group, &groups, &demand[i]);
        }
    }
    status = check_groups(group, groups, message) == 0 ? check_total(total, pes, message) : -1;
out:
    free(demand);
    free(group);
    return status;
}

int neighbours_check_capacity(const struct demand *demand, int count, struct message *message)
{
    struct meeting *meeting = library.neighbours.meeting;
    meeting->demands = count;
    memcpy(meeting->demand, demand, (size_t)count * sizeof *demand);
    shmem_barrier_all();
    int status = neighbours_leader() ? check_node(message) : 0;
    shmem_barrier_all();
    return status;
}
