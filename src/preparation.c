/*
 * Before the engine starts: all definitions read and checked, and the size that
 * the engine will read set to hold them.  Stands on spec.c, and on placement.c
 * for what the node has.
 */
#define _GNU_SOURCE
#include "preparation.h"

#include "huge.h"
#include "pages.h"
#include "placement.h"
#include "state.h"

#include <stdio.h>
#include <stdlib.h>

enum { LARGE_ALIGNMENT = 2 << 20, RESERVE = 1 << 20 };

extern char **environ;

static size_t round_up(size_t size, size_t to) { return (size + to - 1) / to * to; }

size_t preparation_alignment(const struct definition *definition)
{
    size_t page = pages_unit(definition);
    return definition->size >= LARGE_ALIGNMENT && page < LARGE_ALIGNMENT ? (size_t)LARGE_ALIGNMENT : page;
}

size_t preparation_block_bytes(const struct definition *definition)
{
    return round_up(definition->size, pages_unit(definition));
}

static int check_page_sizes(const struct definitions *definitions, struct message *message)
{
    for (int i = 0; i < definitions->count; i++)
        if (pages_exist(&definitions->entry[i], message) != 0)
            return -1;
    return 0;
}

static int read_definitions(struct message *message)
{
    struct partition_state *state = &library.partitions;
    if (definitions_read(&state->definitions, environ, engine_size_variable(), state->program, state->program_count,
                         message) != 0 ||
        rules_read(&state->rules, getenv("SHMEM_PARTITION_RULES"), &state->definitions, message) != 0)
        return -1;
    return check_page_sizes(&state->definitions, message);
}

static size_t largest_page(const struct definitions *definitions)
{
    size_t largest = placement_page_size();
    for (int i = 0; i < definitions->count; i++)
        if (pages_unit(&definitions->entry[i]) > largest)
            largest = pages_unit(&definitions->entry[i]);
    return largest;
}

/* What the engine's heap must hold: its own share and every block, with room to align them. */
static int heap_bytes(size_t *bytes, struct message *message)
{
    const struct definitions *definitions = &library.partitions.definitions;
    size_t total = definitions->default_heap ? definitions->default_heap : engine_default_heap();
    for (int i = 0; i < definitions->count; i++) {
        size_t alignment = preparation_alignment(&definitions->entry[i]);
        size_t block = preparation_block_bytes(&definitions->entry[i]);
        if (__builtin_add_overflow(block, 2 * alignment, &block) || __builtin_add_overflow(total, block, &total) ||
            total > (size_t)1 << 47) {
            message_set(message, "the partitions add up to more than an address space holds (128 TiB)");
            return -1;
        }
    }
    *bytes = round_up(total + (definitions->count ? RESERVE : 0), largest_page(definitions));
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
    if (largest_page(definitions) > placement_page_size())
        huge_align_what_follows(bytes, largest_page(definitions));
    return set_heap_size(bytes, saved, message);
}
