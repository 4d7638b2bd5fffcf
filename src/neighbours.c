/*
 * The PEs of one node find each other, share one look at its memory, and check
 * that it is enough for all.  Stands on engine/, topology and capacity.
 *
 * The meeting place of a node is a slot in the symmetric memory of the PE that
 * the node's key points to.  PEs put themselves at the head of the slot's list
 * by an atomic swap, each keeping the PE that was there before: a list through
 * the PEs themselves, from the last that came to the first, who leads.
 */
#define _GNU_SOURCE
#include "neighbours.h"

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

static int check_node(struct message *message)
{
    struct meeting *meeting = library.neighbours.meeting;
    struct tally *tally = tally_create();
    struct demand *demand = malloc(sizeof meeting->demand);
    struct supply supply;
    int status = -1;
    if (!tally || !demand) {
        message_set(message, "no memory to add up the demands of the node");
        goto out;
    }
    for (int pe = library.neighbours.last; pe >= 0; pe = (int)shmem_long_g(&meeting->before, pe) - 1) {
        int count = shmem_int_g(&meeting->demands, pe);
        shmem_getmem(demand, meeting->demand, (size_t)count * sizeof *demand, pe);
        tally_add(tally, demand, count);
    }
    supply_read(&supply, library.partitions.table);
    status = tally_check(tally, &supply, message);
out:
    free(demand);
    free(tally);
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
