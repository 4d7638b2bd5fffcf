/*
 * The life of the engine: its own functions behind the names we take over, what
 * its processes were launched by, and the preparation of the collectives.
 */
#define _GNU_SOURCE
#include "../state.h"
#include "collectives.h"
#include "corrections.h"
#include "near.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

/*
 * Profilers go on from shmem_...() to pshmem_...(), where the engine has such
 * names.  The latter are asked first: what this library does for itself is not
 * the program's, and a profiler behind it would come back to it in a circle.
 */
static void *symbol_behind(const char *name)
{
    char profiled[64];
    snprintf(profiled, sizeof profiled, "p%s", name);
    void *symbol = dlsym(RTLD_NEXT, profiled);
    return symbol ? symbol : dlsym(RTLD_NEXT, name);
}

/* ISO C has no cast from an object pointer to a function pointer; POSIX promises that the bits agree. */
static void resolve(void *function, const char *name, bool required)
{
    void *symbol = symbol_behind(name);
    if (!symbol && required) {
        fprintf(stderr, "shmem_partition: no OpenSHMEM library behind this one has %s; "
                        "link with -lshmem_partition before the OpenSHMEM library (oshcc does)\n", name);
        exit(EXIT_FAILURE);
    }
    memcpy(function, &symbol, sizeof symbol);
}

const struct engine_functions *engine(void)
{
    struct engine_functions *functions = &library.engine.functions;
    if (!functions->init) {
        resolve(&functions->init_thread, "shmem_init_thread", true);
        resolve(&functions->finalize, "shmem_finalize", true);
        resolve(&functions->malloc, "shmem_malloc", true);
        resolve(&functions->calloc, "shmem_calloc", true);
        resolve(&functions->align, "shmem_align", true);
        resolve(&functions->realloc, "shmem_realloc", true);
        resolve(&functions->free, "shmem_free", true);
        resolve(&functions->malloc_with_hints, "shmem_malloc_with_hints", false);
        resolve(&functions->malloc_with_old_hint, "shmemx_malloc_with_hint", false);
        resolve(&functions->init, "shmem_init", true);
    }
    return functions;
}

/* Launchers that say how many processes they started, and which one this is. */
static const struct {
    const char *size, *rank;
} launchers[] = {{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"}, {"PMI_SIZE", "PMI_RANK"}};

static int number_from(const char *variable)
{
    const char *text = getenv(variable);
    long number = text ? strtol(text, NULL, 10) : 0;
    return number > 0 && number <= INT_MAX ? (int)number : 0;
}

bool engine_was_ended_by_mpi(void)
{
    int (*finalized)(int *);
    int flag = 0;
    void *symbol = dlsym(RTLD_DEFAULT, "MPI_Finalized");
    memcpy(&finalized, &symbol, sizeof symbol);
    return symbol && finalized(&flag) == 0 && flag;
}

int engine_check_launch(struct message *message)
{
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++) {
        int launched = number_from(launchers[i].size);
        if (launched > 1 && shmem_n_pes() == 1) {
            /* Each process is PE 0 of a job of its own; the launcher's number lets one of them speak for all. */
            library.engine.my_pe = number_from(launchers[i].rank);
            message_set(message,
                        "the launcher started %d processes (%s), but %s sees one PE alone: it is the launcher of "
                        "another library; use the oshrun that belongs to this one, or `pyshmem run`",
                        launched, launchers[i].size, engine_vendor());
            return -1;
        }
    }
    return 0;
}

int engine_attach(struct message *message)
{
    library.engine.my_pe = shmem_my_pe();
    library.engine.n_pes = shmem_n_pes();
    corrections_attach();
    if (teams_attach(message) != 0 || native_attach(message) != 0)
        return -1;
    near_attach();
    return 0;
}

void engine_detach(void)
{
    near_detach();
    native_detach();
    teams_detach();
}

int engine_my_pe(void) { return library.engine.my_pe; }

void *engine_malloc(size_t size) { return engine()->malloc(size); }
void engine_free(void *pointer) { engine()->free(pointer); }
