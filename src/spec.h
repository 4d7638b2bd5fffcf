/*
 * Definitions of partitions: from text to checked values.
 *
 * Knows the syntax and the merging rules of the contract (environment before
 * program, both spellings of the prefix, sizes of the default heap) and
 * nothing of OpenSHMEM, hwloc or the machine.
 */
#ifndef SHMEM_PARTITION_SPEC_H
#define SHMEM_PARTITION_SPEC_H

#include "bitset.h"
#include "message.h"

enum { PARTITION_LIMIT = 127, NAME_SIZE = 64, DEFINITION_TEXT_SIZE = 512, KINDS_TEXT_SIZE = 64 };

enum kind {
    KIND_DEFAULT,
    KIND_FASTMEM,
    KIND_DRAM, /* DDR and DRAM are one word */
    KIND_MCDRAM,
    KIND_HBM,
    KIND_CAPACITY,
    KIND_CXL,
    KIND_NVM,
    KIND_GPU,
    KIND_NODES,
    KIND_COUNT
};

enum policy { POLICY_NONE, POLICY_MANDATORY, POLICY_PREFERRED, POLICY_INTERLEAVED };

/* Which nodes of a kind: those local to a PE, or all; by default local ones, and all to interleave over. */
enum reach { REACH_DEFAULT, REACH_LOCAL, REACH_ALL };

enum origin {
    ORIGIN_PROGRAM,
    ORIGIN_ENVIRONMENT,
    ORIGIN_ENVIRONMENT_OVER_PROGRAM /* the environment replaced a definition of the program */
};

struct definition {
    int id; /* 1..PARTITION_LIMIT */
    char name[NAME_SIZE];
    size_t size; /* bytes per PE */
    unsigned kinds;       /* a bit for each: "FASTMEM+DDR" has two; KIND_DEFAULT and KIND_NODES stand alone */
    struct nodeset nodes; /* for KIND_NODES */
    enum policy policy;
    enum reach reach;
    size_t page_size; /* bytes; 0: the base page */
    bool transparent_huge;
    char fallback[NAME_SIZE]; /* the partition that takes what does not fit; empty: none */
    enum origin origin;
    char text[DEFINITION_TEXT_SIZE]; /* as the user wrote it, "VARIABLE=value" or "name=value" */
};

struct definitions {
    int count;                                   /* sorted by ID once read */
    struct definition entry[PARTITION_LIMIT];
    size_t default_heap;                         /* bytes; 0: nobody said, the engine's own default */
    char default_heap_variable[NAME_SIZE];       /* who said so */
};

/* One definition of the program: an ID (0: none given), a name (NULL: none given), and "size=...:kind=...". */
struct program_definition {
    int id;
    const char *name;
    const char *text;
};

/*
 * Read everything: the environment (`environment` as environ(7), never
 * modified) and the program's definitions, merged, IDs given out, defaults
 * filled in.  `engine_size_variable` is the engine's own spelling of the heap
 * size (NULL: none).  Returns 0, or -1 with one message for the first fault;
 * the message shows the text, marks the offending part on the next line and
 * says what would be right.
 */
int definitions_read(struct definitions *definitions, char *const *environment, const char *engine_size_variable,
                     const struct program_definition *program, int program_count, struct message *message);

/* A size as the contract writes it ("1.5g"); 0, or -1 with a message that quotes `label`. */
int spec_size(const char *text, const char *label, size_t *bytes, struct message *message);

/*
 * The definitions in one canonical text, a line each, equal on two PEs if and
 * only if they mean the same (origin and spelling do not count; the default
 * heap does).  Returns a malloc'ed string or NULL.
 */
char *definitions_canonical(const struct definitions *definitions);

static inline bool definition_is(const struct definition *definition, enum kind kind)
{
    return definition->kinds == 1u << kind;
}

/* Whether a PE's pages may be on nodes of the kind that are not local to it. */
static inline bool definition_reaches_all(const struct definition *definition)
{
    return definition->reach == REACH_ALL || (definition->reach == REACH_DEFAULT && definition->policy == POLICY_INTERLEAVED);
}

/* "FASTMEM+DDR"; `text` holds `size` bytes and is returned. */
__attribute__((visibility("default"))) const char *kinds_text(unsigned kinds, char *text, size_t size);

const char *kind_name(enum kind kind);
__attribute__((visibility("default"))) const char *policy_name(enum policy policy);
__attribute__((visibility("default"))) const char *reach_name(enum reach reach); /* "", ",local" or ",all" */
__attribute__((visibility("default"))) const char *origin_name(enum origin origin);

#endif
