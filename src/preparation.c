/*
 * Before the engine starts: all definitions read and checked, and the size that
 * the engine will read set to hold them.  Stands on spec.c, and on placement.c
 * for what the node has.
 */
#define _GNU_SOURCE
#include "preparation.h"

#include "placement.h"
#include "state.h"

#include <stdio.h>
#include <stdlib.h>

enum { LARGE_ALIGNMENT = 2 << 20, RESERVE = 1 << 20 };

extern char **environ;

static size_t round_up(size_t size, size_t to) { return (size + to - 1) / to * to; }

size_t preparation_alignment(const struct definition *definition)
{
    size_t page = placement_page_size();
    return definition->size >= LARGE_ALIGNMENT ? (size_t)LARGE_ALIGNMENT : page;
}

static int check_page_sizes(const struct definitions *definitions, struct message *message)
{
    char asked[32], base[32];
    size_t page = placement_page_size();
    for (int i = 0; i < definitions->count; i++) {
        const struct definition *definition = &definitions->entry[i];
        if (!definition->transparent_huge && (definition->page_size == 0 || definition->page_size == page))
            continue;
        message_set(message,
                    "%s\npartition \"%s\" asks for pages of %s, and this version works with the base page of %s only; "
                    "leave pgsize out",
                    definition->text, definition->name,
                    definition->transparent_huge ? "THP" : message_size(asked, definition->page_size),
                    message_size(base, page));
        return -1;
    }
    return 0;
}

static int read_definitions(struct message *message)
{
    struct partition_state *state = &library.partitions;
    if (definitions_read(&state->definitions, environ, engine_size_variable(), state->program, state->program_count,
                         message) != 0)
        return -1;
    return check_page_sizes(&state->definitions, message);
}

/* What the engine's heap must hold: its own share and every block, with room to align them. */
static int heap_bytes(size_t *bytes, struct message *message)
{
    const struct definitions *definitions = &library.partitions.definitions;
    size_t total = definitions->default_heap ? definitions->default_heap : engine_default_heap();
    for (int i = 0; i < definitions->count; i++) {
        size_t alignment = preparation_alignment(&definitions->entry[i]);
        size_t block = definitions->entry[i].size;
        if (__builtin_add_overflow(block, 2 * alignment, &block) || __builtin_add_overflow(total, block, &total) ||
            total > (size_t)1 << 47) {
            message_set(message, "the partitions add up to more than an address space holds (128 TiB)");
            return -1;
        }
    }
    *bytes = round_up(total + (definitions->count ? RESERVE : 0), placement_page_size());
    return 0;
}

/*
 * A heap larger than the machine must never reach the engine: UCX then fills
 * shared memory page by page until the kernel kills somebody.
 */
static int check_heap_here(size_t bytes, struct message *message)
{
    const struct definitions *definitions = &library.partitions.definitions;
    uint64_t available = placement_available_bytes();
    const struct definition *largest = NULL;
    char whole[32], here[32], size[32];
    if (available == 0 || bytes <= available)
        return 0;
    for (int i = 0; i < definitions->count; i++)
        if (!largest || definitions->entry[i].size > largest->size)
            largest = &definitions->entry[i];
    if (!largest)
        message_set(message, "%s asks for a heap of %s per PE, and the node has %s free",
                    definitions->default_heap_variable, message_size(whole, bytes), message_size(here, available));
    else
        message_set(message,
                    "%s\nthe symmetric heap does not fit into the node: %s wanted per PE for all partitions (partition %d "
                    "\"%s\": %s), %s free on the whole node; ask for less",
                    largest->text, message_size(whole, bytes), largest->id, largest->name,
                    message_size(size, largest->size), message_size(here, available));
    return -1;
}

/* The engine finds one size under one name; the user's own variables come back after the start, for child processes. */
static int set_heap_size(size_t bytes, struct saved_environment *saved, struct message *message)
{
    char text[32];
    snprintf(text, sizeof text, "%zu", bytes);
    saved->changed = true;
    for (int i = 0; engine_size_variables[i]; i++) {
        const char *value = getenv(engine_size_variables[i]);
        saved->value[i] = value ? strdup(value) : NULL;
        if ((value && !saved->value[i]) || unsetenv(engine_size_variables[i]) != 0) {
            message_set(message, "no memory to set aside %s", engine_size_variables[i]);
            return -1;
        }
    }
    if (setenv(engine_size_variable_read(), text, 1) == 0)
        return 0;
    message_set(message, "no memory to set %s", engine_size_variable_read());
    return -1;
}

void preparation_undo(struct saved_environment *saved)
{
    for (int i = 0; saved->changed && engine_size_variables[i]; i++) {
        if (saved->value[i])
            (void)setenv(engine_size_variables[i], saved->value[i], 1);
        else
            (void)unsetenv(engine_size_variables[i]);
        free(saved->value[i]);
    }
}

int preparation_do(struct saved_environment *saved, struct message *message)
{
    size_t bytes;
    if (read_definitions(message) != 0 || heap_bytes(&bytes, message) != 0)
        return -1;
    const struct definitions *definitions = &library.partitions.definitions;
    if (definitions->count == 0 && definitions->default_heap == 0)
        return 0; /* nothing was asked for: the engine's own default */
    if (check_heap_here(bytes, message) != 0)
        return -1;
    return set_heap_size(bytes, saved, message);
}
