/*
 * The one state of the library.  A process is one PE of one job, so there is
 * one of everything; all of it lies here, part by part, each touched by its own
 * layer only.
 */
#ifndef SHMEM_PARTITION_STATE_H
#define SHMEM_PARTITION_STATE_H

#include "engine/engine.h"
#include "heap.h"
#include "rules.h"
#include "spec.h"
#include "topology.h"

#include <signal.h>
#include <sys/types.h>
#include <time.h>

struct engine_state { /* engine/ */
    struct engine_functions functions;
    int my_pe, n_pes;
    void *work_areas; /* symmetric; see native_active_set.c */
    int next_area, oldest_area;
    unsigned pair_turn;
    struct team_area *team_areas; /* symmetric; see teams.c */
    uint64_t team_slots[4];       /* which of them are in use, a bit each */
    struct team *world, *shared;
    struct near_area *near_areas; /* symmetric, one for each team; NULL: some PEs share no memory; see near.c */
    struct notice_board *own_board, *next_board; /* see notices.c; NULL: none */
    void (*progress)(void); /* see corrections.c; NULL: the engine's test is enough */
};

struct neighbours_state { /* neighbours.c */
    struct meeting *meeting; /* symmetric */
    int leader, last, count;
};

struct early_state { /* early.c */
    char *heap;   /* the engine's, as it was mapped; NULL: not seen */
    size_t bytes;
};

struct partition {
    struct definition definition;
    char *base; /* symmetric: one block of the engine's heap */
    size_t block_bytes;
    size_t page_size;    /* of the pages that are there */
    uint64_t huge_bytes; /* in huge pages, as the kernel said when they came */
    size_t alignment; /* the largest that an allocation can have, and the same on all PEs */
    struct heap *heap;
    struct nodeset nodes; /* as bound on this PE; empty: not bound */
    bool early;           /* bound as the engine mapped its heap, and not only after it had started */
    bool weighted;        /* INTERLEAVED, by the kernel's weights */
    bool fell_back;       /* PREFERRED, and the kind is absent */
    struct partition *fallback; /* takes what does not fit; NULL: none */
    size_t diverted;            /* allocations that it took */
    unsigned moved_to;          /* the kinds that it was moved to, a bit for each; 0: never */
};

enum phase { PHASE_NEW, PHASE_RUNNING, PHASE_FAILED, PHASE_STOPPED };

struct partition_state { /* partition.c */
    enum phase phase;
    int starts; /* init minus finalize */
    int thread_level;
    pid_t process; /* a forked child is not the PE */
    bool finalize_at_exit;
    bool engine_ended; /* by us, and not by MPI */
    bool report;       /* at the stop, for a program that has no way to ask */
    struct program_definition program[PARTITION_LIMIT];
    int program_count;
    struct definitions definitions;
    struct rules rules;
    size_t heap_bytes; /* what the engine was asked for */
    bool registered;   /* and a network has its pages; registration.c */
    int count;
    struct partition partition[PARTITION_LIMIT]; /* in the order of IDs */
    struct memory_table *table;                  /* of this node; NULL without partitions */
    struct message refusal;                      /* why the program will not have this start; empty: it will */
    struct message message;                      /* of the last failure */
    int failed_pe;
};

struct interruption_state { /* interruption.c */
    volatile sig_atomic_t pending;
    int waiting;             /* calls that wait for other PEs now */
    struct sigaction before; /* the program's own handler */
    timer_t timer;
    pid_t process;
};

struct library {
    struct engine_state engine;
    struct agreement *agreement; /* symmetric; agreement.c */
    struct neighbours_state neighbours;
    struct early_state early;
    struct partition_state partitions;
    struct interruption_state interruption;
};

extern struct library library;

#endif
