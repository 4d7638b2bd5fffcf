/*
 * The life of partitions: ties definition, recognition, placement and heap
 * together, in the order of the contract's section 4, each step agreed on by all
 * PEs.  Stands on preparation.c and blocks.c for the steps.
 */
#define _GNU_SOURCE
#include "partition.h"

#include "agreement.h"
#include "blocks.h"
#include "early.h"
#include "neighbours.h"
#include "preparation.h"
#include "report.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct library library = {.partitions.failed_pe = -1};

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
        if (library.partitions.partition[i].definition.kinds & 1u << kind)
            return &library.partitions.partition[i];
    return NULL;
}

static int agree(int status)
{
    return agreement_reach(status != 0, &library.partitions.message, &library.partitions.failed_pe);
}

static int compare_definitions(struct message *message)
{
    char *definitions = definitions_canonical(&library.partitions.definitions);
    char *rules = rules_canonical(&library.partitions.rules), *both = NULL;
    if (!definitions || !rules || asprintf(&both, "%s%s", definitions, rules) < 0)
        both = NULL;
    int status = agreement_compare(both ? both : "", message);
    if (!both) {
        message_set(message, "no memory for the definitions of partitions");
        status = -1;
    }
    free(definitions);
    free(rules);
    free(both);
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
    if (agree(blocks_allocate(message)) != 0 || agree(neighbours_meet(neighbours_node_key(), message)) != 0 ||
        agree(neighbours_recognise(&state->table, message)) != 0 || agree(blocks_choose_nodes(message)) != 0 ||
        agree(blocks_check_capacity(message)) != 0 || agree(blocks_change_pages(message)) != 0 ||
        agree(blocks_place(message)) != 0)
        return -1;
    blocks_join_fallbacks();
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
    /* MPI took the engine down, whose own handlers would end it again; what others do at exit is lost with them. */
    if (state->phase != PHASE_NEW && !state->engine_ended && engine_was_ended_by_mpi()) {
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

void partitions_refuse(const char *reason) { message_set(&library.partitions.refusal, "%s", reason); }
const struct memory_table *partitions_table(void) { return library.partitions.table; }
int partitions_node_leader(void) { return library.neighbours.leader; }

static int prepare(struct saved_environment *saved, struct message *message)
{
    if (!library.partitions.refusal.text[0])
        return preparation_do(saved, message);
    *message = library.partitions.refusal;
    return -1;
}

/* Where no engine is there in which PEs could agree, or that could be stopped. */
static void end_alone(const struct message *message)
{
    fprintf(stderr, "shmem_partition: %s\n", message->text);
    fflush(NULL);
    _exit(EXIT_FAILURE);
}

static int start_engine(int requested, int *provided, struct message *message)
{
    engine_correct_environment(preparation_base_pages_only(&library.partitions.definitions));
    int status = engine()->init_thread(requested, provided);
    early_watch_no_more();
    if (status != 0) {
        message_set(message, "%s did not start with thread level %d", engine_vendor(), requested);
        return -1;
    }
    if (engine_check_library(message) != 0)
        end_alone(message);
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
    int prepared = prepare(&saved, &state->message);
    if (prepared != 0)
        preparation_refuse(&saved);
    struct message reason; /* the engine's own faults come before ours, but must not hide them */
    int started = start_engine(requested, provided, &reason);
    preparation_undo(&saved);
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
    if (state->report)
        report_print();
    forget_partitions();
    if (engine_was_ended_by_mpi())
        return;
    agreement_close();
    engine_detach();
    engine()->finalize();
    state->engine_ended = true;
}
