/*
 * The nodes that a partition's pages belong on, for one PE: what the definition
 * asks for, or what a PREFERRED one falls back to.  Stands on the table of
 * memory; asked by a job that starts, and by one that is only planned.
 */
#ifndef SHMEM_PARTITION_CHOICE_H
#define SHMEM_PARTITION_CHOICE_H

#include "spec.h"
#include "topology.h"

struct choice {
    struct nodeset nodes; /* empty: not bound */
    bool fell_back;       /* PREFERRED, and the kind is absent */
    struct message why;   /* if it fell back */
    char consequence[KINDS_TEXT_SIZE + 32];
};

/* 0, or -1 with a message that shows the definition: its kind is absent, and nothing else will do. */
int choice_make(const struct memory_table *table, const struct definition *definition, const struct cpuset *cpus,
                struct choice *choice, struct message *message);

#endif
