/*
 * Rules for programs that nobody can edit: which partition an allocation goes
 * to, by its size or by the library that asks for it.
 *
 *     SHMEM_PARTITION_RULES="size>=64M:fast; size<4K,site=libfoo.so:default"
 *
 * Rules stand between semicolons; a rule is one or more conditions with commas
 * between them, which must all hold, a colon, and the name or ID of a partition,
 * or "default" for the default heap.  The first rule that holds wins; where none
 * does, all is as without rules.  A site is a file's base name, with or without
 * what follows ".so": addresses would differ between PEs.
 *
 * Stands on syntax.c for sizes and faults; knows nothing of OpenSHMEM.
 */
#ifndef SHMEM_PARTITION_RULES_H
#define SHMEM_PARTITION_RULES_H

#include "spec.h"

enum { RULE_LIMIT = 64, SITE_SIZE = 128, RULE_TEXT_SIZE = 192, RULE_DEFAULT_HEAP = 0 };

struct rule {
    size_t least, most; /* sizes for which it holds */
    char site[SITE_SIZE]; /* empty: any */
    int partition;      /* an ID, or RULE_DEFAULT_HEAP */
    size_t taken;       /* allocations so far that it decided on */
    char text[RULE_TEXT_SIZE]; /* as the user wrote it, for reports */
};

struct rules {
    int count;
    bool ask_site; /* some rule wants to know */
    struct rule entry[RULE_LIMIT];
};

/* Read the value of SHMEM_PARTITION_RULES (NULL: not set), for these definitions; 0, or -1 and a message. */
int rules_read(struct rules *rules, const char *value, const struct definitions *definitions, struct message *message);

/* The rule for an allocation from a file (a path or a name; NULL: not known), or NULL. */
struct rule *rules_find(struct rules *rules, size_t size, const char *site);

/* Texts that are equal if and only if the rules mean the same, a line each; to be freed.  NULL: no memory. */
char *rules_canonical(const struct rules *rules);

#endif
