/*
 * What engines get wrong, or call by another name, and how it is put right.
 * The only file that asks which engine this is.
 */
#define _GNU_SOURCE
#include "../state.h"

#include <stdlib.h>

static bool is_open_mpi(void) { return strstr(SHMEM_VENDOR_STRING, "open-mpi") != NULL; }

const char *engine_vendor(void)
{
    /* Open MPI gives its address where others give a name. */
    return is_open_mpi() ? "Open MPI OSHMEM" : SHMEM_VENDOR_STRING;
}

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

void engine_correct_environment(void)
{
    /* UCX's memory hooks crash every program in shmem_finalize of Open MPI 4.1.4; a user's own setting is kept. */
    if (is_open_mpi())
        (void)setenv("OMPI_MCA_opal_common_ucx_opal_mem_hooks", "0", 0);
}
