/*
 * From evidence to kinds: the part of recognition that needs no hwloc.
 *
 * topology.c gathers what the platform says of each node; recognition.c draws
 * the conclusions, as a pure function over plain data, so that every machine
 * can be tried as a table.  Internal to recognition.
 */
#ifndef SHMEM_PARTITION_RECOGNITION_H
#define SHMEM_PARTITION_RECOGNITION_H

#include "topology.h"

/* What hwloc writes beside a node; empty strings where it writes nothing. */
struct clue {
    char subtype[32];     /* "MCDRAM", "HBM", "GPUMemory", "CXL-DRAM", ... */
    char dax_type[32];    /* "NVM", or "SPM": memory for a special purpose, which may be of any technology */
    char dax_parent[256]; /* the device in sysfs that the memory was made from */
    bool cxl_device;      /* a CXL device is named */
};

enum knights { KNIGHTS_NONE, KNIGHTS_LANDING, KNIGHTS_MILL, KNIGHTS_EITHER };

/* What is known of the machine as a whole. */
struct platform {
    enum knights knights;
    char cluster_mode[16]; /* hwloc's own word for KNL's: "SNC4"; empty if it says nothing */
    char memory_mode[16];  /* "Flat", "Cache", "Hybrid50" */
    bool has_cpus_known;   /* has_cpus is filled in; otherwise it is worked out */
    struct cpuset side_cache; /* CPUs whose memory goes through a cache that hwloc shows on the side of the CPUs */
};

/*
 * Fill in memory, evidence, fast, capacity, has_cpus, memory_cache, cpus and
 * the summary.  The nodes are sorted; number, allowed, size, bandwidth,
 * latency, hwloc's cpus and memory_cache, and the distances are there already.
 * clue[i] belongs to node[i].
 */
void recognise(struct memory_table *table, const struct clue *clue, const struct platform *platform);

/* The part of it that is Knights Landing's and Knights Mill's: MCDRAM, modes, summary. */
void knights_recognise(struct memory_table *table, const struct platform *platform);

#endif
