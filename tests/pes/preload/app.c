/*
 * An OpenSHMEM program that knows nothing of partitions: allocates under each
 * of the names given, writes to its neighbour, and asks the kernel itself where
 * the pages are.  Prints lines "PE <n>: <what> <value>..." for the test.
 */
#define _GNU_SOURCE
#include <shmem.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { BYTES = 1 << 20, PAGE = 4096, NODES = 64 };

void start_pes(int unused);
void *shmalloc(size_t size);
void *shmemalign(size_t alignment, size_t size);
void *shrealloc(void *pointer, size_t size);
void shfree(void *pointer);

/* Pages by node, over a range that has been touched; and how it is bound. */
static void say_place(const char *what, char *memory)
{
    void *pages[BYTES / PAGE];
    int status[BYTES / PAGE], count[NODES] = {0}, absent = 0, mode = -1;
    unsigned long bound[16] = {0}; /* the kernel wants room for all its nodes */
    for (int i = 0; i < BYTES / PAGE; i++)
        pages[i] = memory + (size_t)i * PAGE;
    if (syscall(SYS_move_pages, 0, BYTES / PAGE, pages, NULL, status, 0) != 0 ||
        syscall(SYS_get_mempolicy, &mode, bound, 1024, memory, 2 /* of an address */) != 0)
        perror("move_pages or get_mempolicy");
    for (int i = 0; i < BYTES / PAGE; i++)
        if (status[i] >= 0 && status[i] < NODES)
            count[status[i]]++;
        else
            absent++;
    printf("PE %d: %s: node 0 has %d pages, absent %d, policy %d of nodes %lx, at %p\n", shmem_my_pe(), what, count[0],
           absent, mode, bound[0], (void *)memory);
}

static void check(const char *what, char *memory)
{
    if (!memory) {
        printf("PE %d: %s: NULL\n", shmem_my_pe(), what);
        return;
    }
    int me = shmem_my_pe(), count = shmem_n_pes(), left = (me + count - 1) % count;
    char *mine = malloc(BYTES);
    memset(mine, 'a' + me, BYTES);
    shmem_putmem(memory, mine, BYTES, (me + 1) % count);
    shmem_barrier_all();
    for (int i = 0; i < BYTES; i++)
        if (memory[i] != 'a' + left) {
            printf("PE %d: %s: wrong byte at %d\n", me, what, i);
            break;
        }
    free(mine);
    say_place(what, memory);
    shmem_barrier_all();
}

/* Far above the size of a page: the addresses are multiples, and lie as far from the first on all PEs. */
static void check_alignments(void)
{
    static long theirs;
    int me = shmem_my_pe(), next = (me + 1) % shmem_n_pes(), wrong = 0;
    char *first = shmem_malloc(1);
    for (size_t alignment = 2; alignment <= (size_t)1 << 23; alignment *= 2) {
        char *memory = shmem_align(alignment, 1000);
        shmem_long_p(&theirs, memory - first, next);
        shmem_barrier_all();
        if (!memory || (uintptr_t)memory % alignment != 0 || theirs != memory - first)
            wrong++;
        shmem_barrier_all();
        shmem_free(memory);
    }
    shmem_free(first);
    printf("PE %d: %d alignments are wrong\n", me, wrong);
}

int main(int argc, char **argv)
{
    char *memory[5];
    if (argc > 1 && strcmp(argv[1], "old") == 0)
        start_pes(0);
    else
        shmem_init();
    if (argc > 1 && strcmp(argv[1], "children") == 0 && system("/bin/true && echo child is fine") != 0)
        return EXIT_FAILURE;
    if (argc > 1 && strcmp(argv[1], "aligned") == 0)
        check_alignments();
    check("malloc", memory[0] = shmem_malloc(BYTES));
    check("align", memory[1] = shmem_align(PAGE, BYTES));
    check("shmalloc", memory[2] = shmalloc(BYTES));
    check("shmemalign", memory[3] = shmemalign(PAGE, BYTES));
    memory[4] = shmem_realloc(shmem_malloc(BYTES / 2), BYTES);
    check("realloc", memory[4] = shrealloc(memory[4], BYTES));
    shmem_free(memory[0]);
    shfree(memory[1]);
    shfree(memory[2]);
    shmem_free(memory[3]);
    shmem_free(memory[4]);
    printf("PE %d: environment %s\n", shmem_my_pe(), getenv("SHMEM_SYMMETRIC_SIZE") ? getenv("SHMEM_SYMMETRIC_SIZE") : "unset");
    fflush(stdout);
    if (argc > 1 && strcmp(argv[1], "old") == 0)
        return 0;
    shmem_finalize();
    return 0;
}
