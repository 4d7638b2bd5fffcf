/*
 * Every memory routine, under its old and new names, with blocks of all sizes
 * that grow, shrink and die in turn, and transfers in between: a program for
 * tools that watch each access.  It links nothing of ours.  Ends with "all well"
 * on each PE.
 */
#include <shmem.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 40, TURNS = 200 };

void *shmalloc(size_t size);
void *shmemalign(size_t alignment, size_t size);
void *shrealloc(void *pointer, size_t size);
void shfree(void *pointer);

static struct {
    unsigned char *memory;
    size_t size;
} block[BLOCKS];

static void fail(const char *what)
{
    printf("PE %d: %s\n", shmem_my_pe(), what);
    shmem_global_exit(1);
}

/* The same on all PEs. */
static size_t next(size_t below)
{
    static uint64_t state = 88172645463325252;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (size_t)(state % below);
}

static unsigned char mark(int i, size_t size) { return (unsigned char)(i + (int)size); }

static void *allocate(size_t size)
{
    static const size_t alignments[] = {16, 64, 4096};
    switch (next(5)) {
    case 0:
        return shmem_calloc(size, 1);
    case 1:
        return shmem_align(alignments[next(3)], size);
    case 2:
        return shmemalign(alignments[next(3)], size);
    case 3:
        return shmalloc(size);
    default:
        return shmem_malloc(size);
    }
}

static void fill(int i, void *memory, size_t size)
{
    if (!memory)
        fail("no memory");
    block[i].memory = memset(memory, mark(i, size), size);
    block[i].size = size;
}

static void check(int i)
{
    for (size_t j = 0; j < block[i].size; j++)
        if (block[i].memory[j] != mark(i, block[i].size))
            fail("a block has another's bytes");
}

/* Its neighbour's copy holds what this one holds. */
static void transfer(int i)
{
    int other = (shmem_my_pe() + 1) % shmem_n_pes();
    unsigned char *copy = malloc(block[i].size);
    shmem_barrier_all();
    shmem_getmem(copy, block[i].memory, block[i].size, other);
    if (memcmp(copy, block[i].memory, block[i].size) != 0)
        fail("a neighbour's block differs");
    shmem_putmem(block[i].memory, copy, block[i].size, other);
    shmem_barrier_all();
    free(copy);
}

/* What fits of the old contents is kept. */
static void resize(int i, size_t size)
{
    size_t kept = size < block[i].size ? size : block[i].size;
    unsigned char *moved = (next(2) ? shmem_realloc : shrealloc)(block[i].memory, size);
    for (size_t j = 0; moved && j < kept; j++)
        if (moved[j] != mark(i, block[i].size))
            fail("a block that was resized has lost its bytes");
    fill(i, moved, size);
}

static void turn(int i)
{
    size_t size = next(2) ? 1 + next(200) : 1 + next(100000);
    if (!block[i].memory) {
        fill(i, allocate(size), size);
        return;
    }
    check(i);
    transfer(i);
    if (next(2)) {
        resize(i, size);
        return;
    }
    (next(2) ? shmem_free : shfree)(block[i].memory);
    block[i].memory = NULL;
    block[i].size = 0;
}

static void count_together(void)
{
    long *counter = shmem_calloc(1, sizeof *counter);
    shmem_long_atomic_add(counter, shmem_my_pe() + 1, 0);
    shmem_barrier_all();
    if (shmem_my_pe() == 0 && *counter != shmem_n_pes() * (shmem_n_pes() + 1) / 2)
        fail("the sum is wrong");
    shmem_free(counter);
}

int main(void)
{
    shmem_init();
    shmem_free(NULL);
    for (int i = 0; i < TURNS; i++)
        turn((int)next(BLOCKS));
    count_together();
    if (shmem_malloc((size_t)1 << 45))
        fail("there is no such room");
    for (int i = 0; i < BLOCKS; i++) {
        check(i);
        shmem_free(block[i].memory);
    }
    printf("PE %d: all well\n", shmem_my_pe());
    fflush(stdout);
    shmem_finalize();
    return 0;
}
