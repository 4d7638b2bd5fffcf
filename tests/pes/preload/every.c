/*
 * Every memory routine, under its old and new names, with blocks of all sizes
 * that grow, shrink and die in turn, and transfers in between: a program for
 * tools that watch each access.  It links nothing of ours, but finds what is
 * loaded.  Its argument says how it starts: init, init_thread or start_pes.
 * Ends with "all well" on each PE.
 */
#include <shmem.h>

#include <dlfcn.h>
#include <shmem_partition.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 40, TURNS = 200, LARGE = 2, INTERLEAVED = 7, NONE = 99 };

void start_pes(int unused);
void *shmalloc(size_t size);
void *shmemalign(size_t alignment, size_t size);
void *shrealloc(void *pointer, size_t size);
void shfree(void *pointer);

/* Not every engine has these, and what is preloaded has them all the same, or as well. */
#define MAYBE __attribute__((weak))
void *shmem_malloc_with_hints(size_t size, long hints) MAYBE;
void *shmemx_kind_malloc(size_t size, int id) MAYBE;
void *shmemx_kind_align(size_t alignment, size_t size, int id) MAYBE;
void *shmemx_malloc_with_hint(size_t size, long hint) MAYBE;
void *pshmem_malloc(size_t size) MAYBE;
void *pshmem_calloc(size_t count, size_t size) MAYBE;
void *pshmem_align(size_t alignment, size_t size) MAYBE;
void *pshmem_realloc(void *pointer, size_t size) MAYBE;
void pshmem_free(void *pointer) MAYBE;
void *pshmalloc(size_t size) MAYBE;
void *pshmemalign(size_t alignment, size_t size) MAYBE;
void *pshrealloc(void *pointer, size_t size) MAYBE;
void pshfree(void *pointer) MAYBE;

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

/* ---- what is there only with partitions -------------------------------------------------------------------------- */

/* The library's own functions, which the preload library does not pass on. */
static void find(void *function, const char *name)
{
    static void *library;
    if (!library)
        library = dlopen("libshmem_partition.so.1", RTLD_LAZY | RTLD_NOLOAD);
    void *symbol = library ? dlsym(library, name) : NULL;
    if (!symbol)
        fail(name);
    memcpy(function, &symbol, sizeof symbol);
}

#define FIND(name)                                                                                                     \
    __typeof__(name) *name##_;                                                                                         \
    find(&name##_, #name)

/* All of its bytes can be written and read, and it is where it should be; -1: in no partition. */
static void use(void *memory, size_t size, int id)
{
    FIND(shmem_partition_of);
    fill(0, memory, size);
    transfer(0);
    check(0);
    block[0].memory = NULL;
    block[0].size = 0;
    if (shmem_partition_of_(memory) != id || shmem_partition_of_((char *)memory + size - 1) != id)
        fail("memory is in another partition");
}

static void use_hints(void)
{
    void *memory = shmem_malloc_with_hints(1000, 0), *fast = shmem_malloc_with_hints(1000, 1L << 16);
    use(memory, 1000, 1);
    use(fast, 1000, 1); /* there is no fast one */
    shmem_free(memory);
    shmem_free(fast);
    if (!shmemx_malloc_with_hint)
        return;
    memory = shmemx_malloc_with_hint(1000, 0);
    use(memory, 1000, 1);
    shmem_free(memory);
}

static void use_kinds(void)
{
    void *one = shmemx_kind_malloc(3000, LARGE), *other = shmemx_kind_align(256, 3000, INTERLEAVED);
    use(one, 3000, LARGE);
    use(other, 3000, INTERLEAVED);
    if ((uintptr_t)other % 256 != 0)
        fail("an alignment is wrong");
    shmem_free(other);
    one = shmem_realloc(one, 100000);
    use(one, 100000, LARGE);
    shmem_free(one);
    one = shmemx_kind_malloc(5 << 20, INTERLEAVED);
    use(one, 5 << 20, LARGE); /* its fallback */
    shmem_free(one);
}

static void use_profiling_names(void)
{
    if (!pshmem_malloc || !pshmalloc)
        return;
    void *memory[] = {pshmem_malloc(999), pshmem_calloc(9, 111), pshmem_align(64, 999), pshmalloc(999),
                      pshmemalign(64, 999)};
    for (int i = 0; i < 5; i++) {
        use(memory[i], 999, 1);
        memory[i] = (i % 2 ? pshmem_realloc : pshrealloc)(memory[i], 1999);
        use(memory[i], 1999, 1);
        (i % 2 ? pshmem_free : pshfree)(memory[i]);
    }
}

static void use_own_functions(void)
{
    FIND(shmem_partition_malloc);
    FIND(shmem_partition_calloc);
    FIND(shmem_partition_align);
    FIND(shmem_partition_realloc);
    FIND(shmem_partition_reserve);
    FIND(shmem_partition_free);
    FIND(shmem_partition_release);
    FIND(shmem_partition_discard);
    void *memory[] = {shmem_partition_malloc_(5000, LARGE), shmem_partition_calloc_(50, 100, LARGE),
                      shmem_partition_align_(4096, 5000, LARGE), shmem_partition_reserve_(64, 5000, LARGE)};
    shmem_barrier_all();
    for (int i = 0; i < 4; i++)
        use(memory[i], 5000, LARGE);
    memory[0] = shmem_partition_realloc_(memory[0], 50000);
    use(memory[0], 50000, LARGE);
    if (shmem_partition_realloc_(memory[0], 0) || shmem_partition_release_(memory[1]) != 0 ||
        shmem_partition_discard_(memory[2]) != 0)
        fail("memory cannot be given back");
    shmem_partition_free_(memory[3]);
}

static void ask(void)
{
    FIND(shmem_partition_id);
    FIND(shmem_partition_id_at);
    FIND(shmem_partition_count);
    FIND(shmem_partition_query);
    FIND(shmem_partition_find);
    FIND(shmem_partition_placement);
    FIND(shmem_partition_migrate);
    FIND(shmem_partition_platform);
    FIND(shmem_partition_memory);
    shmem_partition_info_t info;
    shmem_partition_migration_t migration;
    uint64_t bytes[4], absent;
    void *start, *memory = shmemx_kind_malloc(3000, LARGE);
    size_t size;
    if (shmem_partition_id_("large") != LARGE || shmem_partition_id_("larg") != -1 || shmem_partition_count_() != 3 ||
        shmem_partition_id_at_(2) != INTERLEAVED || shmem_partition_id_at_(3) != -1)
        fail("the partitions have other IDs");
    if (shmem_partition_query_(LARGE, &info) != 0 || info.size != 8 << 20 || strcmp(info.name, "large") != 0 ||
        shmem_partition_query_(NONE, &info) != -1)
        fail("a partition does not say what it is");
    if (shmem_partition_find_((char *)memory + 2999, &start, &size) != 0 || start != memory || size != 3000 ||
        shmem_partition_find_(&size, &start, &size) != -1)
        fail("an allocation is not found");
    if (shmem_partition_placement_(memory, 3000, bytes, 4, &absent) != 0)
        fail("memory is nowhere");
    (void)shmem_partition_migrate_(LARGE, "NODES(0)", &migration); /* which containers may forbid */
    if (shmem_partition_migrate_(LARGE, "NODES(1023)", &migration) != -1 || !shmem_partition_platform_() ||
        !shmem_partition_memory_(0) || !shmem_partition_memory_(-1))
        fail("a machine has what it has not");
    shmem_free(memory);
}

/* ---- wrong calls, which are reported and change nothing ---------------------------------------------------------- */

static void expect_nothing(const void *pointer)
{
    if (pointer)
        fail("a wrong call gave memory");
}

static void ask_for_wrong_memory(void)
{
    static const int no_ids[] = {NONE, 0, -1, 128, INT32_MAX, INT32_MIN};
    for (size_t i = 0; i < sizeof no_ids / sizeof *no_ids; i++) {
        expect_nothing(shmemx_kind_malloc(8, no_ids[i]));
        expect_nothing(shmemx_kind_align(8, 8, no_ids[i]));
        expect_nothing(shmemx_kind_malloc(0, no_ids[i]));
    }
    expect_nothing(shmemx_kind_align(0, 8, LARGE));
    expect_nothing(shmemx_kind_align(48, 8, LARGE));
    expect_nothing(shmemx_kind_align(SIZE_MAX / 2 + 1, 8, LARGE));
    expect_nothing(shmemx_kind_align(64, SIZE_MAX, LARGE));
    expect_nothing(shmemx_kind_malloc(SIZE_MAX, LARGE));
    expect_nothing(shmem_malloc(0));
    expect_nothing(shmem_calloc(SIZE_MAX / 2, 3));
    expect_nothing(shmem_calloc(0, SIZE_MAX));
    expect_nothing(shmem_align(3, 100000));
    expect_nothing(shmem_malloc((size_t)1 << 45));
}

static void give_back_wrongly(void)
{
    FIND(shmem_partition_free);
    FIND(shmem_partition_release);
    FIND(shmem_partition_error);
    unsigned char *memory = shmemx_kind_malloc(3000, LARGE);
    memset(memory, 5, 3000);
    shmem_free(memory + 16);
    shfree(memory + 2999);
    shmem_partition_free_(&memory);
    expect_nothing(shmem_realloc(memory + 16, 6000));
    expect_nothing(shmem_realloc(memory, SIZE_MAX));
    if (shmem_partition_release_(memory + 1) != -1 || !shmem_partition_error_()[0] || memory[0] != 5 ||
        memory[2999] != 5)
        fail("a wrong call changed something");
    shmem_free(memory);
    shmem_free(memory);
    expect_nothing(shrealloc(memory, 10));
    expect_nothing(shmem_realloc(NULL, 0));
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

static void start(const char *how)
{
    int provided;
    if (strcmp(how, "start_pes") == 0)
        start_pes(0);
    else if (strcmp(how, "init_thread") == 0)
        shmem_init_thread(SHMEM_THREAD_SINGLE, &provided);
    else
        shmem_init();
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "init";
    start(how);
    shmem_free(NULL);
    for (int i = 0; i < TURNS; i++)
        turn((int)next(BLOCKS));
    count_together();
    for (int i = 0; i < BLOCKS; i++) {
        check(i);
        shmem_free(block[i].memory);
        block[i].memory = NULL;
        block[i].size = 0;
    }
    use_hints();
    use_kinds();
    use_profiling_names();
    use_own_functions();
    ask();
    ask_for_wrong_memory();
    give_back_wrongly();
    printf("PE %d: all well\n", shmem_my_pe());
    fflush(stdout);
    if (strcmp(how, "start_pes") != 0) /* who starts so does not finalise */
        shmem_finalize();
    return 0;
}
