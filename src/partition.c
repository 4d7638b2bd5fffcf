/*
 * The life of partitions: ties definition, recognition, placement and heap
 * together, in the order of the contract's section 4.  Stands on all four, on
 * the engine, and on the agreement between PEs.
 */
#define _GNU_SOURCE
#include "partition.h"

#include "agreement.h"
#include "neighbours.h"
#include "placement.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { LARGE_ALIGNMENT = 2 << 20, RESERVE = 1 << 20 };

struct library library = {.partitions.failed_pe = -1};

extern char **environ;

bool partitions_running(void) { return library.partitions.phase == PHASE_RUNNING; }

struct partition *partition_with_id(int id)
{
    for (int i = 0; i < library.partitions.count; i++)
        if (library.partitions.partition[i].definition.id == id)
            return &library.partitions.partition[i];
    return NULL;
}

struct partition *partition_containing(const void *pointer)
{
    for (int i = 0; i < library.partitions.count; i++) {
        struct partition *partition = &library.partitions.partition[i];
        if ((uintptr_t)pointer - (uintptr_t)partition->base < partition->definition.size)
            return partition;
    }
    return NULL;
}

struct partition *partition_of_kind(enum kind kind)
{
    for (int i = 0; i < library.partitions.count; i++)
        if (library.partitions.partition[i].definition.kind == kind)
            return &library.partitions.partition[i];
    return NULL;
}

/* ---- before the engine starts ---------------------------------------------------------------------------------- */

static size_t round_up(size_t size, size_t to) { return (size + to - 1) / to * to; }

static size_t block_alignment(const struct definition *definition)
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
        size_t alignment = block_alignment(&definitions->entry[i]);
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

enum { SIZE_VARIABLES = 8 };

struct saved_environment {
    char *value[SIZE_VARIABLES]; /* NULL: was not set */
    bool changed;
};

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

static void restore_environment(struct saved_environment *saved)
{
    for (int i = 0; saved->changed && engine_size_variables[i]; i++) {
        if (saved->value[i])
            (void)setenv(engine_size_variables[i], saved->value[i], 1);
        else
            (void)unsetenv(engine_size_variables[i]);
        free(saved->value[i]);
    }
}

static int prepare_engine(struct saved_environment *saved, struct message *message)
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

/* ---- once the engine runs -------------------------------------------------------------------------------------- */

static int allocate_blocks(struct message *message)
{
    struct partition_state *state = &library.partitions;
    char size[32];
    for (int i = 0; i < state->definitions.count; i++) {
        struct partition *partition = &state->partition[i];
        partition->definition = state->definitions.entry[i];
        partition->alignment = block_alignment(&partition->definition);
        partition->block_bytes = round_up(partition->definition.size, placement_page_size());
        partition->base = engine()->align(partition->alignment, partition->block_bytes);
        if (!partition->base) {
            message_set(message,
                        "the symmetric heap of %s has no room for partition %d \"%s\" of %s; the heap was asked to "
                        "hold all partitions, so the address space or the shared memory is short (ulimit -v, "
                        "df /dev/shm)",
                        engine_vendor(), partition->definition.id, partition->definition.name,
                        message_size(size, partition->definition.size));
            return -1;
        }
        state->count = i + 1;
    }
    return 0;
}

static void warn_of_fallback(const struct partition *partition, const char *reason)
{
    if (neighbours_leader())
        fprintf(stderr, "shmem_partition: warning: partition \"%s\": %s; PREFERRED falls back to DRAM\n",
                partition->definition.name, reason);
}

static int choose_nodes(struct partition *partition, const struct cpuset *cpus, struct message *message)
{
    const struct definition *definition = &partition->definition;
    const struct memory_table *table = library.partitions.table;
    if (definition->kind == KIND_DEFAULT)
        return 0;
    bool everywhere = definition->policy == POLICY_INTERLEAVED;
    struct message reason;
    if (topology_select(table, definition->kind, &definition->nodes, cpus, everywhere, &partition->nodes, &reason) == 0)
        return 0;
    memset(&partition->nodes, 0, sizeof partition->nodes);
    if (definition->policy == POLICY_PREFERRED) {
        partition->fell_back = true;
        warn_of_fallback(partition, reason.text);
        struct message no_dram; /* an HBM-only node: anywhere, then */
        if (topology_select(table, KIND_DRAM, NULL, cpus, false, &partition->nodes, &no_dram) != 0)
            memset(&partition->nodes, 0, sizeof partition->nodes);
        return 0;
    }
    message_set(message, "%s\npartition %d \"%s\": %s", definition->text, definition->id, definition->name,
                reason.text);
    return -1;
}

static int choose_all_nodes(struct message *message)
{
    struct cpuset cpus;
    if (placement_allowed_cpus(&cpus, message) != 0)
        return -1;
    for (int i = 0; i < library.partitions.count; i++)
        if (choose_nodes(&library.partitions.partition[i], &cpus, message) != 0)
            return -1;
    return 0;
}

static bool is_mandatory(const struct partition *partition)
{
    return partition->definition.policy == POLICY_MANDATORY || partition->definition.policy == POLICY_INTERLEAVED;
}

static int check_capacity(struct message *message)
{
    struct demand demand[PARTITION_LIMIT];
    const struct partition_state *state = &library.partitions;
    for (int i = 0; i < state->count; i++) {
        const struct partition *partition = &state->partition[i];
        demand[i] = (struct demand){.bytes = partition->block_bytes,
                                    .bound = is_mandatory(partition),
                                    .id = partition->definition.id,
                                    .nodes = partition->nodes};
    }
    return neighbours_check_capacity(demand, state->count, message);
}

static uint64_t bytes_elsewhere(const struct partition *partition, const uint64_t *bytes)
{
    uint64_t elsewhere = 0;
    for (int node = 0; node < NODESET_BITS; node++)
        if (!nodeset_has(&partition->nodes, node))
            elsewhere += bytes[node];
    return elsewhere;
}

static int say_elsewhere(const struct partition *partition, uint64_t elsewhere, struct message *message)
{
    char list[256], size[32], stray[32];
    message_set(message,
                "%s\npartition %d \"%s\" of %s does not fit into NUMA node %s: %s of this PE's pages went elsewhere, "
                "with %d PE%s on the node; ask for less, start fewer PEs per node, or use policy=PREFERRED",
                partition->definition.text, partition->definition.id, partition->definition.name,
                message_size(size, partition->definition.size), nodeset_text(&partition->nodes, list, sizeof list),
                message_size(stray, elsewhere), neighbours_count(), neighbours_count() == 1 ? "" : "s");
    return -1;
}

/*
 * Filling a node under MPOL_BIND kills the process when it is full.  So pages
 * are first asked for as preferred, then looked for, and only bound when all of
 * them are where they must be.
 */
static int populate_mandatory(struct partition *partition, struct message *message)
{
    uint64_t bytes[NODESET_BITS];
    bool interleaved = partition->definition.policy == POLICY_INTERLEAVED;
    enum binding first = interleaved ? BIND_INTERLEAVED : BIND_PREFERRED;
    uint64_t absent;
    if (placement_bind(partition->base, partition->block_bytes, first, &partition->nodes, message) != 0 ||
        placement_populate(partition->base, partition->block_bytes, message) != 0 ||
        placement_count(partition->base, partition->block_bytes, bytes, &absent, message) != 0)
        return -1;
    if (bytes_elsewhere(partition, bytes) > 0) {
        placement_move(partition->base, partition->block_bytes, first, &partition->nodes);
        if (placement_count(partition->base, partition->block_bytes, bytes, &absent, message) != 0)
            return -1;
    }
    uint64_t elsewhere = bytes_elsewhere(partition, bytes);
    return elsewhere > 0 ? say_elsewhere(partition, elsewhere, message) : 0;
}

static bool populating(void)
{
    const char *text = getenv("PYSHMEM_POPULATE");
    return !text || strcmp(text, "0") != 0;
}

static enum binding final_binding(const struct partition *partition)
{
    switch (partition->definition.policy) {
    case POLICY_MANDATORY:
        return BIND_ONLY;
    case POLICY_INTERLEAVED:
        return BIND_INTERLEAVED;
    default:
        return BIND_PREFERRED;
    }
}

static int place(struct partition *partition, struct message *message)
{
    if (nodeset_count(&partition->nodes) == 0)
        return 0;
    if (is_mandatory(partition) && populating() && populate_mandatory(partition, message) != 0)
        return -1;
    return placement_bind(partition->base, partition->block_bytes, final_binding(partition), &partition->nodes,
                          message);
}

static int place_all(struct message *message)
{
    for (int i = 0; i < library.partitions.count; i++) {
        struct partition *partition = &library.partitions.partition[i];
        if (place(partition, message) != 0)
            return -1;
        partition->heap = heap_create(partition->definition.size);
        if (!partition->heap) {
            message_set(message, "no memory for the records of partition \"%s\"", partition->definition.name);
            return -1;
        }
    }
    return 0;
}

/* ---- the steps, each agreed on ----------------------------------------------------------------------------------- */

static int agree(int status)
{
    return agreement_reach(status != 0, &library.partitions.message, &library.partitions.failed_pe);
}

static int compare_definitions(struct message *message)
{
    char *canonical = definitions_canonical(&library.partitions.definitions);
    int status = agreement_compare(canonical ? canonical : "", message);
    if (!canonical) {
        message_set(message, "no memory for the definitions of partitions");
        status = -1;
    }
    free(canonical);
    return status;
}

static int start_partitions(int prepared)
{
    struct partition_state *state = &library.partitions;
    struct message *message = &state->message;
    if (agree(prepared) != 0 || agree(compare_definitions(message)) != 0)
        return -1;
    if (state->definitions.count == 0)
        return 0;
    if (agree(allocate_blocks(message)) != 0 || agree(neighbours_meet(neighbours_node_key(), message)) != 0 ||
        agree(neighbours_recognise(&state->table, message)) != 0 || agree(choose_all_nodes(message)) != 0 ||
        agree(check_capacity(message)) != 0 || agree(place_all(message)) != 0)
        return -1;
    neighbours_part();
    return 0;
}

/*
 * A forked child is no PE: the engine's own exit handlers, which finalise the
 * job, must not run in it.  And a PE that leaves with a status, or without
 * having finalised, must not leave the others waiting.
 */
static void leave(int status, void *unused)
{
    struct partition_state *state = &library.partitions;
    (void)unused;
    if (state->process != getpid()) {
        fflush(NULL);
        _exit(status);
    }
    if (!state->finalize_at_exit || state->phase == PHASE_STOPPED)
        return;
    if (status != 0)
        shmem_global_exit(status);
    state->starts = 1;
    partitions_stop();
}

static int start_engine(int requested, int *provided, struct message *message)
{
    engine_correct_environment();
    if (engine()->init_thread(requested, provided) != 0) {
        message_set(message, "%s did not start with thread level %d", engine_vendor(), requested);
        return -1;
    }
    library.partitions.process = getpid();
    if (on_exit(leave, NULL) != 0) { /* after the engine's handlers, so that it runs before them */
        message_set(message, "no memory to prepare for the end of the process");
        return -1;
    }
    return engine_check_launch(message);
}

int partitions_start(int requested, int *provided)
{
    struct partition_state *state = &library.partitions;
    struct saved_environment saved = {.changed = false};
    if (state->phase == PHASE_RUNNING) {
        state->starts++;
        *provided = state->thread_level;
        return 0;
    }
    if (state->phase != PHASE_NEW) {
        message_set(&state->message, state->phase == PHASE_FAILED
                                         ? "the library failed to start before, and cannot be started again"
                                         : "OpenSHMEM was finalised, and cannot be started again in the same process");
        return -1;
    }
    state->phase = PHASE_FAILED;
    state->failed_pe = -1;
    int prepared = prepare_engine(&saved, &state->message);
    struct message reason; /* the engine's own faults come before ours, but must not hide them */
    int started = start_engine(requested, provided, &reason);
    restore_environment(&saved);
    if (started == 0)
        started = engine_attach(&reason) == 0 ? agreement_open(&reason) : -1;
    if (started != 0) {
        state->message = reason;
        return -1;
    }
    state->thread_level = *provided;
    if (start_partitions(prepared) != 0)
        return -1;
    state->phase = PHASE_RUNNING;
    state->starts = 1;
    return 0;
}

/* The blocks go with the engine's heap; giving them back one by one would only cost barriers. */
static void forget_partitions(void)
{
    struct partition_state *state = &library.partitions;
    for (int i = 0; i < state->count; i++)
        heap_destroy(state->partition[i].heap);
    state->count = 0;
    free(state->table);
    state->table = NULL;
}

void partitions_stop(void)
{
    struct partition_state *state = &library.partitions;
    if (state->phase != PHASE_RUNNING || --state->starts > 0 || state->process != getpid())
        return;
    state->phase = PHASE_STOPPED;
    forget_partitions();
    agreement_close();
    engine_detach();
    engine()->finalize();
}
