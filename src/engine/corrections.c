/*
 * What engines get wrong, or call by another name, and how it is put right.
 * The only file that asks which engine this is.
 */
#define _GNU_SOURCE
#include "has.h"

#include "corrections.h"

#include "../state.h"

#include <dlfcn.h>
#include <stdlib.h>

static bool is_open_mpi(void) { return strstr(SHMEM_VENDOR_STRING, "open-mpi") != NULL; }

const char *engine_vendor(void)
{
    /* Open MPI gives its address where others give a name. */
    return is_open_mpi() ? "Open MPI OSHMEM" : SHMEM_VENDOR_STRING;
}

/* Sandia's are XPMEM's, which follow the other PE's address space and not a file. */
bool engine_views_can_be_mapped_over(void) { return is_open_mpi(); }

/*
 * Open MPI finds the program's variables in /proc/self/maps, and takes a private heap for some: in one piece it does no
 * harm, but behind a gap of other memory addresses on other PEs are wrong (seen in 4.1.4).
 */
bool engine_heap_can_be_mapped_over_early(void) { return !is_open_mpi(); }

/*
 * Every name under which some engine looks for the size of its heap.  Open MPI
 * reads SMA_SYMMETRIC_SIZE in all versions, the specification's own name in
 * none before 5, and warns on every PE if it finds two; so exactly one is set.
 */
const char *const engine_size_variables[] = {"SHMEM_SYMMETRIC_SIZE", "SMA_SYMMETRIC_SIZE", "SHMEM_SYMMETRIC_HEAP_SIZE",
                                             NULL};

const char *engine_size_variable_read(void) { return is_open_mpi() ? "SMA_SYMMETRIC_SIZE" : "SHMEM_SYMMETRIC_SIZE"; }

const char *engine_size_variable(void) { return is_open_mpi() ? "SHMEM_SYMMETRIC_HEAP_SIZE" : NULL; }

size_t engine_default_heap(void) { return (size_t)(is_open_mpi() ? 256 : 512) << 20; }

/* UCX maps the heap of every PE of the node, the own one a second time; its launcher says how many there are. */
size_t engine_heap_views(void)
{
    enum { MANY = 4096 }; /* more PEs than any node has: what says so is wrong */
    const char *text = is_open_mpi() ? getenv("OMPI_COMM_WORLD_LOCAL_SIZE") : NULL;
    long neighbours = text ? strtol(text, NULL, 10) : 0;
    return neighbours > 0 && neighbours <= MANY ? (size_t)neighbours + 1 : 1;
}

/* A parameter of its sshmem framework, which nobody changes without need. */
uintptr_t engine_heap_address(void) { return is_open_mpi() ? 0xff000000 : 0; }

size_t engine_heap_addition(void) { return is_open_mpi() ? (size_t)2 << 20 : 0; }

/*
 * Where huge pages are free, Open MPI and UCX make the heap of them, wherever they are: no part of it can then be bound
 * to a node.  A user's own settings are kept.
 */
static void keep_to_base_pages(void)
{
    static const char *const settings[][2] = {
        {"OMPI_MCA_sshmem_sysv_use_hp", "0"}, {"UCX_SYSV_HUGETLB_MODE", "n"}, {"UCX_POSIX_HUGETLB_MODE", "n"}};
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        (void)setenv(settings[i][0], settings[i][1], 0);
}

void engine_correct_environment(bool base_pages)
{
    /* Sandia OpenSHMEM makes 7 teams unless told otherwise, and warns about each that it cannot make. */
    if (!is_open_mpi()) {
        (void)setenv("SHMEM_TEAMS_MAX", "64", 0);
        return;
    }
    /* UCX's memory hooks crash every program in shmem_finalize of Open MPI 4.1.4; a user's own setting is kept. */
    (void)setenv("OMPI_MCA_opal_common_ucx_opal_mem_hooks", "0", 0);
    if (base_pages)
        keep_to_base_pages();
}

bool engine_fetches_bits_wrongly(void) { return is_open_mpi(); }

bool engine_compares_halves_wrongly(void) { return is_open_mpi(); }

/*
 * Open MPI's waits call this between looks, and its tests nothing (seen in 4.1,
 * read in main): by TCP, who only tests waits forever.
 */
void corrections_attach(void)
{
    void *symbol = is_open_mpi() ? dlsym(RTLD_DEFAULT, "opal_progress") : NULL;
    memcpy(&library.engine.progress, &symbol, sizeof symbol);
}

void engine_drive_progress(void)
{
    int settled = 0;
    if (library.engine.progress)
        library.engine.progress();
    else
        (void)shmem_int_test(&settled, SHMEM_CMP_EQ, 1);
}

const char *const *engine_corrected(void)
{
    static const char *const of_open_mpi[] = {"atomic_compare_swap", "atomic_fetch_and", "atomic_fetch_or",
                                              "atomic_fetch_xor", "ctx_create", "test", NULL};
    static const char *const none[] = {NULL};
    return is_open_mpi() ? of_open_mpi : none;
}

/*
 * Options are what a program does without, so that a context with none of them
 * always serves.  Open MPI 4.1.4 must not see them: it hands out destroyed
 * contexts again wherever one option agrees, and corrupts its memory where
 * another does not.
 */
int engine_context_create(long options, shmem_ctx_t *context)
{
    return shmem_ctx_create(is_open_mpi() ? 0 : options, context);
}

/* Sessions are hints. */
void engine_session_start(shmem_ctx_t context, long options, size_t operations)
{
#if ENGINE_HAS_SESSIONS
    shmem_ctx_session_config_t config = {.total_ops = operations};
    shmem_ctx_session_start(context, options, &config, operations ? SHMEM_CTX_SESSION_TOTAL_OPS : 0);
#else
    (void)context, (void)options, (void)operations;
#endif
}

void engine_session_stop(shmem_ctx_t context)
{
#if ENGINE_HAS_SESSIONS
    shmem_ctx_session_stop(context);
#else
    (void)context;
#endif
}

void engine_pcontrol(int level)
{
#if ENGINE_HAS_PCONTROL
    shmem_pcontrol(level);
#else
    (void)level;
#endif
}
