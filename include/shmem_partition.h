/*
 * Symmetric memory partitions for OpenSHMEM.
 *
 * A partition is a symmetric heap of its own, in a kind of memory that the user
 * chose.  Partitions are defined in the environment,
 *
 *     SHMEM_SYMMETRIC_PARTITION<ID>=size=<size>[:kind=<kind>[+<kind>...]][:policy=<policy>[,local|,all]]
 *                                   [:pgsize=<size>|THP][:name=<name>][:fallback=<name>]
 *
 * or by shmem_partition_define() before shmem_init(), and come up with
 * shmem_init() or shmem_init_thread().  Link with the flags of
 * `pkg-config --libs shmem_partition` before the OpenSHMEM library.
 *
 * The allocating and freeing functions are collective over all PEs, in the same
 * order with the same arguments, as in OpenSHMEM itself.
 */
#ifndef SHMEM_PARTITION_H
#define SHMEM_PARTITION_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

#define SHMEM_PARTITION_VERSION_MAJOR 1
#define SHMEM_PARTITION_VERSION_MINOR 0

#define SHMEM_PARTITION_MAX_ID 127
#define SHMEM_PARTITION_NAME_SIZE 64

/* For shmem_malloc_with_hints(): allocate from the first FASTMEM partition, if there is one. */
#define SHMEM_PARTITION_HINT_HIGH_BANDWIDTH (1L << 16)

/* ---- definition ---------------------------------------------------------------------------------------------- */

/*
 * Define a partition in the program, before shmem_init(), on all PEs alike.
 * `id` is 1..127, or 0 for the lowest free one from 2 up; `name` may be NULL;
 * `definition` is what the environment variable would hold.  The strings must
 * live until shmem_init() returns.  A definition in the environment with the
 * same ID or name wins.  Returns 0, or -1 if OpenSHMEM has started already or
 * 127 partitions are defined.
 */
int shmem_partition_define(int id, const char *name, const char *definition);

/*
 * shmem_init_thread() for programs that want to handle a failure themselves:
 * returns 0, or -1 on all PEs alike, and shmem_partition_error() then says why.
 * (shmem_init() and shmem_init_thread() end the job with that message.)
 */
int shmem_partition_init_thread(int requested, int *provided);

/*
 * From now on a process that exits with status 0 finalises first, collectively,
 * and one that exits with another status ends the job with it.
 */
void shmem_partition_finalize_at_exit(void);

/* The message of the last failure on this PE; for a failed start the same on all PEs, naming the first that failed. */
const char *shmem_partition_error(void);

/* The PE that the message of a failed start is about; -1 if none. */
int shmem_partition_failed_pe(void);

/* ---- allocation ---------------------------------------------------------------------------------------------- */

/* NULL for size 0 (without a barrier) and, on all PEs alike, if the partition is full. */
void *shmem_partition_malloc(size_t size, int partition_id);
void *shmem_partition_align(size_t alignment, size_t size, int partition_id);
void *shmem_partition_calloc(size_t count, size_t size, int partition_id);

/* Stays in the partition it is in (or goes to its fallback, if it is full); on NULL the old memory is untouched. */
void *shmem_partition_realloc(void *ptr, size_t size);

/* NULL is ignored; what is not the start of a live allocation is reported, and nothing changes. */
void shmem_partition_free(void *ptr);

/* Cray's names for the first two. */
void *shmemx_kind_malloc(size_t size, int partition_id);
void *shmemx_kind_align(size_t alignment, size_t size, int partition_id);

/*
 * shmem_partition_align() without its barrier, for callers that fill the memory
 * first; they must call shmem_barrier_all() before any PE may use it.
 */
void *shmem_partition_reserve(size_t alignment, size_t size, int partition_id);

/* shmem_partition_free() with a status: 0, or -1 with shmem_partition_error(), and nothing is printed. */
int shmem_partition_release(void *ptr);

/* The same without its barrier, for callers whose PEs have met since any of them used the memory. */
int shmem_partition_discard(void *ptr);

/* ---- query (local) ------------------------------------------------------------------------------------------- */

typedef struct shmem_partition_info {
    int id;
    char name[SHMEM_PARTITION_NAME_SIZE];
    char kind[64];     /* "FASTMEM", or a sum: "FASTMEM+DDR" */
    char policy[16];   /* "MANDATORY"; empty: no binding */
    char origin[40];   /* who defined it: "environment", "program", ... */
    char nodes[256];   /* the NUMA nodes that it is bound to on this PE: "4-7"; empty: not bound */
    int fell_back;     /* PREFERRED, and the kind is absent on this node */
    size_t page_size;  /* bytes, of the pages that are there */
    size_t huge_bytes; /* in huge pages of any sort, as the kernel said at init */
    int transparent;   /* and they are transparent ones */
    size_t size;       /* bytes per PE, as defined */
    size_t used;       /* in live allocations, rounded up to the allocator's grain */
    size_t peak;       /* the largest `used` so far */
    size_t largest_free;
    size_t live;       /* number of live allocations */
    char fallback[SHMEM_PARTITION_NAME_SIZE]; /* the partition that takes what does not fit; empty: none */
    size_t diverted;   /* how many allocations it took so far */
    void *base;        /* on this PE */
    char moved_to[64]; /* the kind that shmem_partition_migrate() moved it to on this PE; empty: it did not */
    int weighted;      /* INTERLEAVED by the kernel's weights of the nodes, not evenly */
    int placed_early;  /* its nodes were set as the engine mapped the heap, not only after the engine's start */
} shmem_partition_info_t;

int shmem_partition_id(const char *name);      /* -1: no partition has this name */
int shmem_partition_of(const void *ptr);       /* the partition that contains the address; -1: none */
int shmem_partition_count(void);
int shmem_partition_id_at(int index);          /* the IDs in ascending order, index from 0; -1: out of range */
int shmem_partition_query(int partition_id, shmem_partition_info_t *info); /* 0, or -1: no such partition */

/* The live allocation that contains an address of a partition: 0 with its start and size; -1: none. */
int shmem_partition_find(const void *ptr, void **start, size_t *size);

/*
 * Where memory of this PE is, as the kernel reports it.  `bytes[n]` is set to
 * the bytes on NUMA node n, for n < nodes, and `*absent` to those not yet
 * present anywhere.  0, or -1 with shmem_partition_error().
 */
int shmem_partition_placement(const void *address, size_t size, uint64_t *bytes, int nodes, uint64_t *absent);

/* ---- moving (local) ------------------------------------------------------------------------------------------ */

typedef struct shmem_partition_migration { /* bytes, in whole pages */
    uint64_t moved;
    uint64_t there;  /* lay on such a node already */
    uint64_t absent; /* not present yet: they will come there */
    uint64_t shared; /* stayed: other processes have mapped them, and only with CAP_SYS_NICE can such pages be moved */
    uint64_t full;   /* stayed: the nodes are full */
    uint64_t pinned; /* stayed: the kernel or a network (registered memory) holds on to them */
    char nodes[256]; /* where to: "4-7" */
} shmem_partition_migration_t;

/*
 * Move the pages of a partition, of this PE, to memory of another kind
 * ("MCDRAM", "FASTMEM+DDR", "NODES(1)"), or those of a range of memory, to its
 * outer pages.  Contents stay, and others may go on using them.  What is not
 * present yet will come there, or elsewhere when the nodes are full.  0 and the
 * figures, or -1 with shmem_partition_error(): no such kind here, or the kernel
 * moves nothing.
 */
int shmem_partition_migrate(int partition_id, const char *kind, shmem_partition_migration_t *result);
int shmem_partition_migrate_range(void *address, size_t size, const char *kind, shmem_partition_migration_t *result);

/* ---- the rest ------------------------------------------------------------------------------------------------ */

/*
 * After the last shmem_finalize(): make memory that was symmetric readable
 * again, as zeros, for programs that cannot be sure to have forgotten it.
 */
void shmem_partition_outlive(void *address, size_t size);

/* One line on what hwloc says of this node ("Knights Landing, SNC-4, flat"); empty if nothing is known. */
const char *shmem_partition_platform(void);

/* The kind of memory of a NUMA node ("MCDRAM"), "" if there is no such node or no partition was defined. */
const char *shmem_partition_memory(int node);

/* The library provides it also where the engine's shmem.h, being of 1.4, does not declare it. */
void *shmem_malloc_with_hints(size_t size, long hints);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
