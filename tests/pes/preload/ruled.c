/*
 * Allocates as its arguments say, "malloc:4096", "calloc:100" or "ask:4096" (in
 * libasks.so), and says for each how the kernel has the memory bound: by that
 * the test knows partitions apart.
 */
#define _GNU_SOURCE
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

void *ask(size_t size);

static void *allocate(const char *how)
{
    size_t size = strtoul(strchr(how, ':') + 1, NULL, 10);
    switch (how[0]) {
    case 'a':
        return ask(size);
    case 'c':
        return shmem_calloc(size, 1);
    default:
        return shmem_malloc(size);
    }
}

int main(int argc, char **argv)
{
    shmem_init();
    for (int i = 1; i < argc; i++) {
        void *memory = allocate(argv[i]);
        unsigned long nodes[16];
        int mode = -1;
        if (memory && syscall(SYS_get_mempolicy, &mode, nodes, 1024, memory, 2 /* of an address */) != 0)
            perror("get_mempolicy");
        printf("PE %d: %s policy %d\n", shmem_my_pe(), argv[i], mode);
        shmem_free(memory);
    }
    fflush(stdout);
    shmem_finalize();
    return 0;
}
