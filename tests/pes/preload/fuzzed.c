/*
 * A short program that looks at all of its memory, for environments that nobody
 * would write.  It links nothing of ours.  Memory that it does not get is no
 * fault, if no PE gets it; but each "ID:bytes" in its arguments is a partition
 * of which it must get exactly so many bytes.  Ends with "memory is right" on
 * each PE, or with status 3.
 */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WRONG = 3, SIZES = 5, WAYS = 6 };

void *shmalloc(size_t size);
void *shmemalign(size_t alignment, size_t size);
/* The engine has no such function: only what is preloaded has. */
void *shmemx_kind_malloc(size_t size, int id) __attribute__((weak));

static const size_t sizes[SIZES] = {1, 100, 5000, 70000, 1 << 20};
static unsigned char *memory[SIZES][WAYS];

static void fail(const char *what, long number)
{
    printf("PE %d: %s (%ld)\n", shmem_my_pe(), what, number);
    fflush(stdout);
    shmem_global_exit(WRONG);
}

static void *allocate(int way, size_t size)
{
    switch (way) {
    case 0:
        return shmem_malloc(size);
    case 1:
        return shmem_calloc(1, size);
    case 2:
        return shmem_align(4096, size);
    case 3:
        return shmalloc(size);
    case 4:
        return shmemalign(64, size);
    default:
        return shmem_realloc(shmem_malloc(size / 2 + 1), size);
    }
}

/* What all PEs have alike: whether they got it. */
static void check_alike(const void *pointer, long number)
{
    static long mine, theirs;
    mine = pointer != NULL;
    shmem_barrier_all();
    shmem_getmem(&theirs, &mine, sizeof mine, (shmem_my_pe() + 1) % shmem_n_pes());
    if (theirs != mine)
        fail("one PE got memory, and another did not", number);
    shmem_barrier_all();
}

static unsigned char mark(int pe, int size, int way) { return (unsigned char)(1 + pe + 3 * size + 17 * way); }

static void check_zeros(const unsigned char *start, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (start[i] != 0)
            fail("memory of calloc is not zero", (long)i);
}

/* Filled by the PE before this one. */
static void write_all(void)
{
    unsigned char *source = malloc(sizes[SIZES - 1]);
    int to = (shmem_my_pe() + 1) % shmem_n_pes();
    for (int i = 0; i < SIZES; i++)
        for (int way = 0; way < WAYS; way++) {
            memory[i][way] = allocate(way, sizes[i]);
            check_alike(memory[i][way], (long)sizes[i]);
            if (!memory[i][way])
                continue;
            if (way == 1)
                check_zeros(memory[i][way], sizes[i]);
            shmem_barrier_all();
            memset(source, mark(shmem_my_pe(), i, way), sizes[i]);
            shmem_putmem(memory[i][way], source, sizes[i], to);
        }
    shmem_barrier_all();
    free(source);
}

static void check_all(void)
{
    int from = (shmem_my_pe() + shmem_n_pes() - 1) % shmem_n_pes();
    for (int i = 0; i < SIZES; i++)
        for (int way = 0; way < WAYS; way++) {
            for (size_t j = 0; memory[i][way] && j < sizes[i]; j++)
                if (memory[i][way][j] != mark(from, i, way))
                    fail("a wrong byte in a block of this size", (long)sizes[i]);
            shmem_free(memory[i][way]);
        }
}

/* "ID:bytes": all of the partition is there, each byte of it, and not one more. */
static void check_partition(const char *text)
{
    char *rest;
    int id = (int)strtol(text, &rest, 10);
    size_t bytes = strtoull(rest + 1, NULL, 10);
    unsigned char *all = shmemx_kind_malloc(bytes, id), *more;
    if (!all)
        fail("a partition does not have its bytes", id);
    memset(all, id, bytes);
    more = shmemx_kind_malloc(1, id);
    for (size_t i = 0; i < bytes; i++)
        if (all[i] != id)
            fail("a partition does not keep its bytes", id);
    shmem_free(all);
    if (more && *rest == ':') /* '+': it has a fallback */
        fail("a partition has more than its bytes", id);
    shmem_free(more);
}

int main(int argc, char **argv)
{
    shmem_init();
    for (int i = 1; i < argc; i++)
        check_partition(argv[i]);
    write_all();
    check_all();
    printf("PE %d: memory is right\n", shmem_my_pe());
    fflush(stdout);
    shmem_finalize();
    return 0;
}
