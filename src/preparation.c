/*
 * Before the engine starts: all definitions read and checked, and the size that
 * the engine will read set to hold them.  Stands on spec.c, and on placement.c
 * for what the node has.
 */
#define _GNU_SOURCE
#include "preparation.h"

#include "early.h"
#include "huge.h"
#include "pages.h"
#include "placement.h"
#include "state.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

enum { LARGE_ALIGNMENT = 2 << 20, RESERVE = 1 << 20, REFUSED_HEAP = 16 << 20 };

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

int preparation_read(struct definitions *definitions, const struct program_definition *program, int program_count,
                     struct message *message)
{
    return definitions_read(definitions, environ, engine_size_variable(), program, program_count, message);
}

static size_t largest_page(const struct definitions *definitions)
{
    size_t largest = placement_page_size();
    for (int i = 0; i < definitions->count; i++)
        if (pages_unit(&definitions->entry[i]) > largest)
            largest = pages_unit(&definitions->entry[i]);
    return largest;
}

/* More than there are addresses?  `which`: the definition, or the name of the variable, that asks for so much. */
static int check_addresses(size_t total, const char *which, struct message *message)
{
    if (total <= (size_t)1 << 47)
        return 0;
    message_set(message, "%s\nwith this the symmetric heap is larger than an address space (128 TiB); ask for less", which);
    return -1;
}

/* What the engine's heap must hold: its own share and every block, with room to align them. */
static int heap_bytes(const struct definitions *definitions, size_t *bytes, struct message *message)
{
    size_t total = definitions->default_heap ? definitions->default_heap : engine_default_heap();
    if (check_addresses(total, definitions->default_heap_variable, message) != 0)
        return -1;
    for (int i = 0; i < definitions->count; i++) {
        const struct definition *definition = &definitions->entry[i];
        if (check_addresses(definition->size, definition->text, message) != 0)
            return -1;
        total += preparation_block_bytes(definition) + 2 * preparation_alignment(definition);
        if (check_addresses(total, definition->text, message) != 0)
            return -1;
    }
    /* What the engine maps, its own part included, is a multiple of the page: heaps one beside the other stay aligned. */
    total += (definitions->count ? RESERVE : 0) + engine_heap_addition();
    *bytes = round_up(total, largest_page(definitions)) - engine_heap_addition();
    return 0;
}

/*
 * A heap larger than the machine must never reach the engine: UCX then fills
 * shared memory page by page until the kernel kills somebody.
 */
static int check_heap(const struct definitions *definitions, size_t bytes, const struct room *room,
                      struct message *message)
{
    const struct definition *largest = NULL;
    char whole[32], here[32], size[32];
    if (room->bytes == 0 || bytes <= room->bytes)
        return 0;
    for (int i = 0; i < definitions->count; i++)
        if (!largest || definitions->entry[i].size > largest->size)
            largest = &definitions->entry[i];
    if (!largest)
        message_set(message, "%s asks for a heap of %s per PE, and %s has %s left",
                    definitions->default_heap_variable, message_size(whole, bytes), room->limit,
                    message_size(here, room->bytes));
    else
        message_set(message,
                    "%s\nthe symmetric heap does not fit into the node: %s wanted per PE for all partitions (partition %d "
                    "\"%s\": %s), and %s has %s left in all; ask for less",
                    largest->text, message_size(whole, bytes), largest->id, largest->name,
                    message_size(size, largest->size), room->limit, message_size(here, room->bytes));
    return -1;
}

/* Bytes of addresses that `ulimit -v` leaves to this process; SIZE_MAX: it sets no limit, or the use is not known. */
static size_t address_space_left(void)
{
    struct rlimit limit;
    size_t pages = 0;
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return SIZE_MAX;
    FILE *file = fopen("/proc/self/statm", "re");
    if (!file)
        return SIZE_MAX;
    bool known = fscanf(file, "%zu", &pages) == 1;
    fclose(file);
    size_t used = pages * placement_page_size();
    return !known ? SIZE_MAX : used < limit.rlim_cur ? (size_t)limit.rlim_cur - used : 0;
}

static int check_address_space(size_t bytes, struct message *message)
{
    size_t left = address_space_left(), views = engine_heap_views();
    char whole[32], here[32];
    if (bytes <= left / views)
        return 0;
    message_set(message, "a symmetric heap of %s needs addresses for %zu such on every PE, and the limit on the address "
                         "space leaves %s here; raise it (ulimit -v unlimited), ask for less or start fewer PEs per node",
                message_size(whole, bytes), views, message_size(here, left));
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

void preparation_refuse(struct saved_environment *saved)
{
    struct message unused;
    if (!saved->changed)
        (void)set_heap_size(REFUSED_HEAP, saved, &unused);
}

int preparation_check(const struct definitions *definitions, const struct room *room, bool here, size_t *bytes,
                      struct message *message)
{
    *bytes = 0;
    if ((here && check_page_sizes(definitions, message) != 0) || heap_bytes(definitions, bytes, message) != 0)
        return -1;
    if (definitions->count == 0 && definitions->default_heap == 0) {
        *bytes = 0; /* nothing was asked for: the engine's own default */
        return 0;
    }
    return check_heap(definitions, *bytes, room, message);
}

bool preparation_base_pages_only(const struct definitions *definitions)
{
    return definitions->count > 0 && largest_page(definitions) == placement_page_size();
}

/* A variable that is 0 or 1; `meaning` says what these mean. */
static int check_switch(const char *name, const char *meaning, struct message *message)
{
    const char *text = getenv(name);
    if (!text || strcmp(text, "") == 0 || strcmp(text, "0") == 0 || strcmp(text, "1") == 0)
        return 0;
    message_set(message, "%s is %s", name, meaning);
    return -1;
}

static int check_switches(struct message *message)
{
    return check_switch("PYSHMEM_POPULATE", "0 (pages come when they are touched) or 1 (at init, the default)",
                        message) != 0 ||
                   check_switch("PYSHMEM_EARLY",
                                "0 (partitions are placed when OpenSHMEM has started) or 1 (already as it maps its heap, "
                                "where the library is preloaded; the default)", message) != 0
               ? -1
               : 0;
}

static void describe_partitions(void)
{
    struct partition_state *state = &library.partitions;
    for (int i = 0; i < state->definitions.count; i++) {
        struct partition *partition = &state->partition[i];
        partition->definition = state->definitions.entry[i];
        partition->alignment = preparation_alignment(&partition->definition);
        partition->block_bytes = preparation_block_bytes(&partition->definition);
        partition->page_size = placement_page_size();
    }
}

int preparation_do(struct saved_environment *saved, struct message *message)
{
    struct partition_state *state = &library.partitions;
    const struct definitions *definitions = &state->definitions;
    size_t bytes;
    bool early = false;
    struct room room = placement_room();
    if (preparation_read(&state->definitions, state->program, state->program_count, message) != 0 ||
        rules_read(&state->rules, getenv("SHMEM_PARTITION_RULES"), definitions, message) != 0 ||
        check_switches(message) != 0 || preparation_check(definitions, &room, true, &bytes, message) != 0)
        return -1;
    describe_partitions();
    if (early_is_possible()) {
        early = true;
        bytes += early_room();
    }
    if (check_address_space(bytes, message) != 0)
        return -1;
    if (bytes == 0)
        return 0;
    state->heap_bytes = bytes;
    if (largest_page(definitions) > placement_page_size())
        huge_align_what_follows(bytes, largest_page(definitions), engine_heap_address());
    if (set_heap_size(bytes, saved, message) != 0)
        return -1;
    if (early)
        early_watch();
    return 0;
}
