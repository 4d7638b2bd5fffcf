/* A library that allocates on behalf of the program: for rules by site. */
#include <shmem.h>

void *ask(size_t size)
{
    void *volatile memory = shmem_malloc(size); /* volatile: the call comes from here, and is no jump */
    return memory;
}
