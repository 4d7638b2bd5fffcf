/*
 * Recognition: which kinds of memory this node has, where, and on what evidence.
 *
 * hwloc is asked once; what comes out is a table of plain data (no pointers)
 * that can be sent to the other PEs of the node, and from which every PE
 * selects its own nodes.  Knows nothing of OpenSHMEM.
 */
#ifndef SHMEM_PARTITION_TOPOLOGY_H
#define SHMEM_PARTITION_TOPOLOGY_H

#include "bitset.h"
#include "message.h"
#include "spec.h"

#include <stdint.h>

enum memory {
    MEMORY_UNKNOWN, /* a memory-only node that no evidence describes */
    MEMORY_DRAM,
    MEMORY_MCDRAM,
    MEMORY_HBM,
    MEMORY_CXL,
    MEMORY_NVM,
    MEMORY_GPU,
    MEMORY_COUNT
};

enum evidence {
    EVIDENCE_NONE,
    EVIDENCE_SUBTYPE,   /* hwloc names the node: subtype, memory tier */
    EVIDENCE_BANDWIDTH, /* the platform's figures: HMAT through hwloc's memory attributes */
    EVIDENCE_KNL,       /* the known shapes of Knights Landing and Knights Mill */
    EVIDENCE_CPUS,      /* the node has CPUs, and nothing says that it is special */
    EVIDENCE_ONLY       /* the machine has one node and nothing says that it is special */
};

struct memory_node {
    int number; /* the operating system's NUMA node number */
    enum memory memory;
    enum evidence evidence;
    bool fast;         /* belongs to FASTMEM: of the highest bandwidth, and not ordinary memory */
    bool capacity;     /* belongs to CAPACITY: slowest and largest tier beside DRAM */
    bool allowed;      /* this process may allocate there (cpuset.mems and the like) */
    bool has_cpus;     /* a node with CPUs of its own, not memory only */
    bool memory_cache; /* behind a memory-side cache (KNL cache mode, NVM in memory mode) */
    uint64_t size;     /* bytes in all */
    uint64_t bandwidth; /* MB/s from its local CPUs; 0: not known */
    uint64_t latency;   /* ns; 0: not known */
    struct cpuset cpus; /* the CPUs that this memory is local to; empty if not known */
};

struct memory_table {
    size_t bytes; /* of the whole table: node[] and the distances behind it */
    int count;
    char summary[128]; /* of the platform, for people: "Knights Landing, SNC-4, flat"; empty if nothing is known */
    struct memory_node node[]; /* sorted by number; then count*count uint16_t distances, [from * count + to], 0: not known */
};

/*
 * Recognise this machine, or the saved topology of `xml` (a file in hwloc's
 * XML format; NULL: this machine).  Returns a table to be given to free(), or
 * NULL with a message.
 */
__attribute__((visibility("default"))) struct memory_table *topology_recognise(const char *xml,
                                                                               struct message *message);

uint16_t topology_distance(const struct memory_table *table, int from, int to); /* indices into node[]; 0: not known */

/*
 * The nodes of one or several kinds (a bit for each) for a PE that may run on
 * `cpus` (empty or NULL: all).  `everywhere`: all nodes of the kinds, not only
 * the local ones.  A PE whose locality lacks a kind gets the nearest node(s) of
 * it.  Nodes that are not allowed do not count.  For KIND_NODES, which stands
 * alone, `wanted` holds the numbers.  Returns 0,
 * or -1 with a message: the kind is absent (and what is there instead), or it
 * exists but is not allowed, or a number does not exist.
 */
int topology_select(const struct memory_table *table, unsigned kinds, const struct nodeset *wanted,
                    const struct cpuset *cpus, bool everywhere, struct nodeset *nodes, struct message *message);

/* What a launcher binds a PE to; PLACE_MACHINE: to nothing. */
enum place { PLACE_MACHINE, PLACE_SOCKET, PLACE_CORE };

/*
 * The CPUs of every such place of this machine (or of a saved one), in hwloc's
 * order, as far as they may be used.  An array to be given to free(), or NULL
 * with a message.
 */
struct cpuset *topology_places(const char *xml, enum place place, int *count, struct message *message);

__attribute__((visibility("default"))) const char *memory_name(enum memory memory);
__attribute__((visibility("default"))) const char *evidence_name(enum evidence evidence);

#endif
