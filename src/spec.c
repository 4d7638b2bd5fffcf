/*
 * All definitions of a job: from the environment and the program, merged by the
 * contract's rules.  Stands on syntax.c for what one definition says.
 */
#define _GNU_SOURCE
#include "spec.h"

#include "syntax.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const prefixes[] = {"SHMEM_SYMMETRIC_PARTITION", "SMA_SYMMETRIC_PARTITION"};
enum { PREFIXES = sizeof prefixes / sizeof *prefixes };

const char *kind_name(enum kind kind)
{
    static const char *const names[KIND_COUNT] = {"DEFAULT",  "FASTMEM", "DDR", "MCDRAM", "HBM",
                                                  "CAPACITY", "CXL",     "NVM", "GPU",    "NODES"};
    return names[kind];
}

const char *kinds_text(unsigned kinds, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (int kind = 0; kind < KIND_COUNT; kind++)
        if (kinds & 1u << kind && used < size)
            used += (size_t)snprintf(text + used, size - used, "%s%s", used ? "+" : "", kind_name((enum kind)kind));
    return text;
}

const char *reach_name(enum reach reach)
{
    static const char *const names[] = {"", ",local", ",all"};
    return names[reach];
}

const char *policy_name(enum policy policy)
{
    static const char *const names[] = {"none", "MANDATORY", "PREFERRED", "INTERLEAVED"};
    return names[policy];
}

const char *origin_name(enum origin origin)
{
    static const char *const names[] = {"program", "environment", "environment, over the program"};
    return names[origin];
}

int spec_size(const char *text, const char *label, size_t *bytes, struct message *message)
{
    struct written written = {label, text};
    size_t length = strlen(text);
    if (length == 0)
        return syntax_fault(message, written, 0, 1, "the size is empty; give one like 512M, or unset the variable.");
    return syntax_size(written, 0, length, bytes, message);
}

/* ---- the environment ----------------------------------------------------------------------------------------------- */

struct variable {
    char label[NAME_SIZE]; /* cut if longer, which only a wrong one can be */
    const char *name, *value;
    size_t name_length;
};

static bool read_variable(const char *entry, struct variable *variable)
{
    const char *equals = strchr(entry, '=');
    if (!equals)
        return false;
    variable->name = entry;
    variable->name_length = (size_t)(equals - entry);
    variable->value = equals + 1;
    snprintf(variable->label, sizeof variable->label, "%.*s", (int)(equals - entry > 63 ? 63 : equals - entry), entry);
    return true;
}

static bool is_named(const struct variable *variable, const char *name)
{
    return strlen(name) == variable->name_length && strncmp(variable->name, name, variable->name_length) == 0;
}

/* The ID in the name of a variable that defines a partition: 0 if it is another variable, -1 if it is no ID. */
static int variable_id(const struct variable *variable)
{
    for (int i = 0; i < PREFIXES; i++) {
        size_t length = strlen(prefixes[i]);
        if (variable->name_length < length || strncmp(variable->name, prefixes[i], length) != 0)
            continue;
        const char *digits = variable->name + length;
        size_t count = variable->name_length - length;
        int id = 0;
        if (count == 0 || count > 3 || digits[0] == '0')
            return -1;
        for (size_t j = 0; j < count; j++) {
            if (!isdigit((unsigned char)digits[j]))
                return -1;
            id = id * 10 + digits[j] - '0';
        }
        return id <= PARTITION_LIMIT ? id : -1;
    }
    return 0;
}

static struct definition *with_id(struct definitions *definitions, int id)
{
    for (int i = 0; i < definitions->count; i++)
        if (definitions->entry[i].id == id)
            return &definitions->entry[i];
    return NULL;
}

static struct definition *with_name(struct definitions *definitions, const char *name)
{
    for (int i = 0; i < definitions->count; i++)
        if (definitions->entry[i].name[0] && strcmp(definitions->entry[i].name, name) == 0)
            return &definitions->entry[i];
    return NULL;
}

static void keep_text(struct definition *definition, struct written written)
{
    struct message shown = {""};
    syntax_show(&shown, written);
    shown.text[strcspn(shown.text, "\n")] = '\0';
    snprintf(definition->text, sizeof definition->text, "%.*s", DEFINITION_TEXT_SIZE - 1, shown.text);
}

static int fault_of_two(struct message *message, const char *sentence, const char *one, const char *other)
{
    message_set(message, "%s\n%s\n%s", one, other, sentence);
    return -1;
}

static int add_variable(struct definitions *definitions, const struct variable *variable, int id,
                        struct message *message)
{
    struct written written = {variable->label, variable->value};
    struct definition *before = with_id(definitions, id);
    struct definition definition = {.id = id, .origin = ORIGIN_ENVIRONMENT};
    keep_text(&definition, written);
    if (before) {
        /* Both spellings of one variable may say the same, and only the same. */
        if (strcmp(strchr(before->text, '='), strchr(definition.text, '=')) == 0)
            return 0;
        return fault_of_two(message, "these are two spellings of one variable, and they differ: keep one of them.",
                            before->text, definition.text);
    }
    if (syntax_definition(&definition, written, message) != 0)
        return -1;
    definitions->entry[definitions->count++] = definition;
    return 0;
}

static size_t length_without_digits(const struct variable *variable)
{
    size_t length = variable->name_length;
    while (length > 0 && isdigit((unsigned char)variable->name[length - 1]))
        length--;
    return length;
}

/* A misspelt name says nothing to anybody, and would be passed over. */
static int check_spelling(const struct variable *variable, struct message *message)
{
    static const char *const words[] = {"SHMEM_SYMMETRIC_PARTITION", "SHMEM_PARTITION_RULES"};
    size_t length = length_without_digits(variable);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (is_named(variable, words[i]))
            return 0;
        if (syntax_is_nearly(variable->name, length, words[i])) {
            message_set(message, "%s", "");
            syntax_show_name(message, variable->label);
            message_add(message, "\nthere is no such variable; did you mean %s%.*s?", words[i],
                        (int)(variable->name_length - length), variable->name + length);
            return -1;
        }
    }
    return 0;
}

static int read_environment(struct definitions *definitions, char *const *environment, struct message *message)
{
    for (; environment && *environment; environment++) {
        struct variable variable;
        if (!read_variable(*environment, &variable))
            continue;
        int id = variable_id(&variable);
        if (id < 0) {
            message_set(message, "%s", "");
            syntax_show_name(message, variable.label);
            message_add(message, "\nthe name of this variable ends in no partition ID: those are the numbers 1 to %d, as "
                                 "in SHMEM_SYMMETRIC_PARTITION2", PARTITION_LIMIT);
            return -1;
        }
        if ((id > 0 ? add_variable(definitions, &variable, id, message) : check_spelling(&variable, message)) != 0)
            return -1;
    }
    return 0;
}

/* ---- the program ----------------------------------------------------------------------------------------------------- */

static int read_program(struct definition *definition, const struct program_definition *program, struct message *message)
{
    char label[NAME_SIZE + 16];
    if (program->name)
        snprintf(label, sizeof label, "%.63s", program->name);
    else
        snprintf(label, sizeof label, program->id ? "partition %d" : "a partition", program->id);
    struct written written = {label, program->text};
    *definition = (struct definition){.id = program->id, .origin = ORIGIN_PROGRAM};
    keep_text(definition, written);
    if (program->id < 0 || program->id > PARTITION_LIMIT) {
        message_set(message, "%s\npartition IDs are the numbers 1 to %d", definition->text, PARTITION_LIMIT);
        return -1;
    }
    if (syntax_definition(definition, written, message) != 0)
        return -1;
    if (!program->name)
        return 0;
    if (definition->name[0] && strcmp(definition->name, program->name) != 0) {
        message_set(message, "%s\nthis partition is called \"", definition->text);
        syntax_show_name(message, program->name);
        message_add(message, "\" by its key and \"%s\" by its definition", definition->name);
        return -1;
    }
    /* The name passes through the same check as one in a definition. */
    char text[NAME_SIZE + 16];
    struct definition named = {0};
    if (snprintf(text, sizeof text, "size=1:name=%s", program->name) >= (int)sizeof text ||
        strchr(program->name, ':') || syntax_definition(&named, (struct written){label, text}, message) != 0) {
        message_set(message, "%s\n\"", definition->text);
        syntax_show_name(message, program->name);
        message_add(message, "\" cannot be a name: it is a letter followed by letters, digits, _ or -, of at most %d "
                             "characters", NAME_SIZE - 1);
        return -1;
    }
    strcpy(definition->name, named.name);
    return 0;
}

/* The environment wins over a definition of the program with the same name or ID; 1 if it did, -1 and a message. */
static int overridden(struct definitions *definitions, const struct definition *program, struct message *message)
{
    struct definition *by_id = program->id ? with_id(definitions, program->id) : NULL;
    struct definition *by_name = program->name[0] ? with_name(definitions, program->name) : NULL;
    if (by_id && by_id->origin == ORIGIN_PROGRAM)
        return fault_of_two(message, "the program defines this ID twice.", by_id->text, program->text);
    if (by_name && by_name->origin == ORIGIN_PROGRAM)
        return fault_of_two(message, "the program defines this name twice.", by_name->text, program->text);
    if (by_id && by_name && by_id != by_name) {
        message_set(message,
                    "%s\n%s\n%s\nthe program's definition has the ID of one definition in the environment and the name "
                    "of another: it is not clear which of them should replace it",
                    program->text, by_id->text, by_name->text);
        return -1;
    }
    struct definition *winner = by_name ? by_name : by_id;
    if (!winner)
        return 0;
    if (winner->origin == ORIGIN_ENVIRONMENT_OVER_PROGRAM)
        return fault_of_two(message, "the environment would replace two definitions of the program by one.",
                            winner->text, program->text);
    winner->origin = ORIGIN_ENVIRONMENT_OVER_PROGRAM;
    if (!winner->name[0]) /* the program goes on calling it by its own name */
        strcpy(winner->name, program->name);
    return 1;
}

static int merge_program(struct definitions *definitions, const struct program_definition *program, int count,
                         struct message *message)
{
    for (int i = 0; i < count; i++) {
        struct definition definition;
        if (read_program(&definition, &program[i], message) != 0)
            return -1;
        int status = overridden(definitions, &definition, message);
        if (status < 0)
            return -1;
        if (status > 0)
            continue;
        if (definitions->count == PARTITION_LIMIT) {
            message_set(message, "%s\nthere are more than %d partitions", definition.text, PARTITION_LIMIT);
            return -1;
        }
        definitions->entry[definitions->count++] = definition;
    }
    return 0;
}

/* ---- the whole --------------------------------------------------------------------------------------------------------- */

static int give_ids(struct definitions *definitions, struct message *message)
{
    int next = 2; /* 1 is the default heap, which nobody gets by accident */
    for (int i = 0; i < definitions->count; i++) {
        struct definition *definition = &definitions->entry[i];
        if (definition->id)
            continue;
        while (next <= PARTITION_LIMIT && with_id(definitions, next))
            next++;
        if (next > PARTITION_LIMIT) {
            message_set(message, "%s\nno partition ID from 2 to %d is free for it", definition->text, PARTITION_LIMIT);
            return -1;
        }
        definition->id = next;
    }
    return 0;
}

static int give_names(struct definitions *definitions, struct message *message)
{
    for (int i = 0; i < definitions->count; i++) {
        struct definition *definition = &definitions->entry[i];
        if (!definition->name[0])
            snprintf(definition->name, sizeof definition->name, "partition%d", definition->id);
    }
    for (int i = 0; i < definitions->count; i++) {
        struct definition *first = with_name(definitions, definitions->entry[i].name);
        if (first != &definitions->entry[i]) {
            message_set(message, "%s\n%s\nboth partitions are called \"%s\"; a name may be given once", first->text,
                        definitions->entry[i].text, first->name);
            return -1;
        }
    }
    return 0;
}

/* Every fallback is a partition, and none leads back to where it began. */
static int check_fallbacks(struct definitions *definitions, struct message *message)
{
    for (int i = 0; i < definitions->count; i++) {
        const struct definition *first = &definitions->entry[i], *one = first;
        for (int steps = 0; one->fallback[0]; steps++) {
            const struct definition *next = with_name(definitions, one->fallback);
            if (!next) {
                message_set(message, "%s\nno partition is called \"%s\", which is to take what does not fit", one->text,
                            one->fallback);
                return -1;
            }
            if (next == first || steps > PARTITION_LIMIT)
                return fault_of_two(message, "the fallbacks of these partitions lead round in a circle.", first->text,
                                    one->text);
            one = next;
        }
    }
    return 0;
}

static int compare_ids(const void *a, const void *b)
{
    return ((const struct definition *)a)->id - ((const struct definition *)b)->id;
}

static int add_heap_size(struct definitions *definitions, const struct variable *variable, struct message *message)
{
    size_t bytes;
    if (spec_size(variable->value, variable->label, &bytes, message) != 0)
        return -1;
    if (definitions->default_heap && definitions->default_heap != bytes) {
        message_set(message,
                    "%s and %s=%.64s differ, and both are the size of the default heap: keep one of them",
                    definitions->default_heap_variable, variable->label, variable->value);
        return -1;
    }
    definitions->default_heap = bytes;
    snprintf(definitions->default_heap_variable, sizeof definitions->default_heap_variable, "%s", variable->label);
    return 0;
}

static int read_heap_size(struct definitions *definitions, char *const *environment, const char *engine_size_variable,
                          struct message *message)
{
    for (; environment && *environment; environment++) {
        struct variable variable;
        if (!read_variable(*environment, &variable))
            continue;
        bool ours = is_named(&variable, "SHMEM_SYMMETRIC_SIZE") || is_named(&variable, "SMA_SYMMETRIC_SIZE") ||
                    (engine_size_variable && is_named(&variable, engine_size_variable));
        if (ours && add_heap_size(definitions, &variable, message) != 0)
            return -1;
    }
    const struct definition *first = with_id(definitions, 1);
    if (!first || !definitions->default_heap)
        return 0;
    message_set(message,
                "%s\npartition 1 is the default heap, and %s gives the same heap a size: two sizes for one heap; unset "
                "%s, or define the partition with another ID",
                first->text, definitions->default_heap_variable, definitions->default_heap_variable);
    return -1;
}

int definitions_read(struct definitions *definitions, char *const *environment, const char *engine_size_variable,
                     const struct program_definition *program, int program_count, struct message *message)
{
    memset(definitions, 0, sizeof *definitions);
    if (read_environment(definitions, environment, message) != 0 ||
        merge_program(definitions, program, program_count, message) != 0 || give_ids(definitions, message) != 0 ||
        give_names(definitions, message) != 0 || check_fallbacks(definitions, message) != 0 ||
        read_heap_size(definitions, environment, engine_size_variable, message) != 0)
        return -1;
    qsort(definitions->entry, (size_t)definitions->count, sizeof *definitions->entry, compare_ids);
    return 0;
}

char *definitions_canonical(const struct definitions *definitions)
{
    enum { LINE = 4096 + 512 }; /* the longest list of nodes, and the rest */
    size_t room = ((size_t)definitions->count + 1) * LINE, used = 0;
    char *text = malloc(room);
    if (!text)
        return NULL;
    used += (size_t)snprintf(text, room, "default heap of %zu bytes\n", definitions->default_heap);
    for (int i = 0; i < definitions->count; i++) {
        const struct definition *definition = &definitions->entry[i];
        char nodes[4096] = "", kinds[KINDS_TEXT_SIZE];
        if (definition_is(definition, KIND_NODES))
            nodeset_text(&definition->nodes, nodes, sizeof nodes);
        used += (size_t)snprintf(text + used, room - used,
                                 "partition %d \"%s\": size=%zu:kind=%s%s%s%s:policy=%s%s:pgsize=%zu%s:fallback=%s\n",
                                 definition->id, definition->name, definition->size,
                                 kinds_text(definition->kinds, kinds, sizeof kinds), nodes[0] ? "(" : "", nodes,
                                 nodes[0] ? ")" : "", policy_name(definition->policy), reach_name(definition->reach),
                                 definition->page_size, definition->transparent_huge ? " THP" : "",
                                 definition->fallback[0] ? definition->fallback : "none");
    }
    return text;
}
