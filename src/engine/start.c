/*
 * The life of the engine: its own functions behind the names we take over, what
 * its processes were launched by, and the preparation of the collectives.
 */
#define _GNU_SOURCE
#include "../preload/passing.h"
#include "../state.h"
#include "collectives.h"
#include "corrections.h"
#include "near.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

/* The engine's functions that have names of ours, and the member that keeps each. */
#define EVERY_ENGINE_HAS(DO)                                                                                           \
    DO(init_thread, shmem_init_thread)                                                                                 \
    DO(finalize, shmem_finalize)                                                                                       \
    DO(malloc, shmem_malloc)                                                                                           \
    DO(calloc, shmem_calloc)                                                                                           \
    DO(align, shmem_align)                                                                                             \
    DO(realloc, shmem_realloc)                                                                                         \
    DO(free, shmem_free)                                                                                               \
    DO(init, shmem_init)
#define SOME_ENGINES_HAVE(DO)                                                                                          \
    DO(malloc_with_hints, shmem_malloc_with_hints)                                                                     \
    DO(malloc_with_old_hint, shmemx_malloc_with_hint)

#ifdef LINKED_INTO_PROGRAM

/* The linker's option --wrap gives our functions to the program, and keeps the engine's behind these names. */
#define DECLARE(member, name) extern __typeof__(*((struct engine_functions *)NULL)->member) __real_##name;
#define DECLARE_WEAK(member, name)                                                                                     \
    extern __typeof__(*((struct engine_functions *)NULL)->member) __real_##name __attribute__((weak));
#define FIND(member, name) functions->member = __real_##name;
#define FIND_IF_THERE(member, name) FIND(member, name)

EVERY_ENGINE_HAS(DECLARE)
SOME_ENGINES_HAVE(DECLARE_WEAK)

/* Behind those may still be the preload library. */
static void prepare_to_find(void)
{
    pass_on_function *pass_on;
    void *symbol = dlsym(RTLD_DEFAULT, PASS_ON_NAME);
    memcpy(&pass_on, &symbol, sizeof symbol);
    if (symbol)
        pass_on();
}

#else

static void prepare_to_find(void) {}

#define FIND(member, name) resolve(&functions->member, #name, true);
#define FIND_IF_THERE(member, name) resolve(&functions->member, #name, false);

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

#endif

/* Two libraries' names differ before any number in them. */
static bool is_same_vendor(const char *one, const char *other)
{
    size_t length = strcspn(one, "0123456789");
    return strncmp(one, other, length) == 0;
}

int engine_check_library(struct message *message)
{
    char name[SHMEM_MAX_NAME_LEN + 1] = "";
    shmem_info_get_name(name);
    if (is_same_vendor(SHMEM_VENDOR_STRING, name))
        return 0;
    message_set(message, "this program uses another OpenSHMEM library (%s) than the one that partitions were built for "
                         "(%s); compile and link it with `pyshmem config --oshcc`", name, engine_vendor());
    return -1;
}

const struct engine_functions *engine(void)
{
    struct engine_functions *functions = &library.engine.functions;
    if (!functions->init) {
        prepare_to_find();
        SOME_ENGINES_HAVE(FIND_IF_THERE)
        EVERY_ENGINE_HAS(FIND)
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
