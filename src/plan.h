/*
 * What a set of definitions would do on a machine, without starting anything:
 * the same steps, by the same functions, as the start of a job takes.
 */
#ifndef SHMEM_PARTITION_PLAN_H
#define SHMEM_PARTITION_PLAN_H

#include "choice.h"
#include "supply.h"

struct plan {
    struct definitions definitions;
    size_t block_bytes[PARTITION_LIMIT]; /* of each definition, in whole pages */
    struct memory_table *table;
    struct supply supply;
    int places;           /* PE i is at place i % places */
    struct cpuset *place; /* the CPUs that its PEs may use */
    struct choice *choice; /* for each place, of each definition: [place * definitions.count + definition] */
    bool fails;            /* as init would, with this message, on this PE */
    int failed_pe;
    struct message message;
};

/*
 * Plan for `pes` PEs on this machine, or on a saved one (`xml`).  NULL with a
 * message: the machine cannot be looked at.
 */
__attribute__((visibility("default"))) struct plan *plan_make(const char *xml,
                                                              const struct program_definition *program,
                                                              int program_count, int pes, enum place place,
                                                              struct message *message);
__attribute__((visibility("default"))) void plan_destroy(struct plan *plan);

#endif
