/* How one definition is written, for spec.c: texts to values, with the place of a fault. */
#ifndef SHMEM_PARTITION_SYNTAX_H
#define SHMEM_PARTITION_SYNTAX_H

#include "spec.h"

/* A text that the user wrote, and under which name. */
struct written {
    const char *label; /* "SHMEM_SYMMETRIC_PARTITION2" */
    const char *value;
};

/* Add a text that may hold anything to a message: control characters and bytes that are no ASCII escaped, cut if long. */
void syntax_show_name(struct message *message, const char *name);

/* Is it the word, or does it look like a misspelling of it?  Case does not count. */
bool syntax_is_nearly(const char *text, size_t length, const char *word);

/* A fault in `length` characters of the value from `from` on: the text, a line that marks them, and a sentence. */
int syntax_fault(struct message *message, struct written written, size_t from, size_t length, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* The text alone, control characters escaped and shortened around `from`: for messages about a whole definition. */
void syntax_show(struct message *message, struct written written);

/* What one definition says; `name` is empty and the policy POLICY_NONE where it says nothing.  0, or -1 and a message. */
int syntax_definition(struct definition *definition, struct written written, struct message *message);

/* The whole value as kinds, "FASTMEM+DDR" or "NODES(4-7)", into `definition`. */
int syntax_kinds(struct definition *definition, struct written written, struct message *message);

/* A size that begins at `from` and is `length` long. */
int syntax_size(struct written written, size_t from, size_t length, size_t *bytes, struct message *message);

#endif
