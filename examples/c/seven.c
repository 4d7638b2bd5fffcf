/*
 * Seven partitions of growing sizes: allocates in all of them, lets a neighbour
 * write, resizes, frees in another order, and checks every byte on the way.
 *
 *     make && pyshmem run -n 4 ./seven
 *
 * A job script may place any of them elsewhere without a change here:
 *
 *     SHMEM_SYMMETRIC_PARTITION4=size=8M:kind=FASTMEM:policy=PREFERRED pyshmem run -n 4 ./seven
 */
#include <shmem.h>
#include <shmem_partition.h>
#include <stdio.h>
#include <stdlib.h>

enum { PARTITIONS = 7, FIRST_ID = 2, MEBIBYTE = 1 << 20 };

static int faults = 0;

static void expect(int good, const char *what, int id)
{
    if (good)
        return;
    fprintf(stderr, "PE %d: partition %d: %s\n", shmem_my_pe(), id, what);
    faults++;
}

static unsigned char pattern(int pe, int id, size_t place) { return (unsigned char)(pe * 31 + id * 7 + (int)(place % 251)); }

static int holds(const unsigned char *memory, size_t size, int pe, int id)
{
    for (size_t i = 0; i < size; i++)
        if (memory[i] != pattern(pe, id, i))
            return 0;
    return 1;
}

static void define_partitions(char definition[PARTITIONS][32])
{
    for (int i = 0; i < PARTITIONS; i++) {
        snprintf(definition[i], sizeof definition[i], "size=%dM", 1 << i);
        if (shmem_partition_define(FIRST_ID + i, NULL, definition[i]) != 0) {
            fprintf(stderr, "%s\n", shmem_partition_error());
            exit(EXIT_FAILURE);
        }
    }
}

/* This PE's pattern goes into its right neighbour's memory. */
static void fill_neighbour(unsigned char *memory, size_t size, int id)
{
    int right = (shmem_my_pe() + 1) % shmem_n_pes();
    unsigned char *source = malloc(size);
    if (!source)
        shmem_global_exit(EXIT_FAILURE);
    for (size_t i = 0; i < size; i++)
        source[i] = pattern(shmem_my_pe(), id, i);
    shmem_putmem(memory, source, size, right);
    shmem_barrier_all();
    free(source);
}

int main(void)
{
    char definition[PARTITIONS][32];
    unsigned char *memory[PARTITIONS];
    size_t size[PARTITIONS];
    define_partitions(definition);
    shmem_init();
    int left = (shmem_my_pe() - 1 + shmem_n_pes()) % shmem_n_pes();

    for (int i = 0; i < PARTITIONS; i++) {
        int id = FIRST_ID + i;
        shmem_partition_info_t info; /* the environment may have given it another size */
        expect(shmem_partition_query(id, &info) == 0, "it does not exist", id);
        size[i] = info.size / 2;
        memory[i] = shmem_partition_align(64, size[i], id);
        expect(memory[i] != NULL, "half of it could not be allocated", id);
        expect((size_t)memory[i] % 64 == 0, "the alignment is wrong", id);
        expect(shmem_partition_of(memory[i]) == id, "the memory is not in it", id);
        expect(shmem_partition_malloc(info.size, id) == NULL, "more than it holds was granted", id);
        fill_neighbour(memory[i], size[i], id);
        expect(holds(memory[i], size[i], left, id), "the neighbour's pattern did not arrive", id);
    }
    for (int i = 0; i < PARTITIONS; i++) {
        int id = FIRST_ID + i;
        memory[i] = shmem_partition_realloc(memory[i], size[i] + size[i] / 2);
        expect(memory[i] != NULL && shmem_partition_of(memory[i]) == id, "resizing left it", id);
        expect(memory[i] && holds(memory[i], size[i], left, id), "resizing lost data", id);
    }
    for (int i = PARTITIONS - 1; i >= 0; i -= 2) /* every other one, and by OpenSHMEM's own name */
        shmem_free(memory[i]);
    for (int i = PARTITIONS - 2; i >= 0; i -= 2)
        shmem_partition_free(memory[i]);

    for (int i = 0; i < PARTITIONS; i++) {
        shmem_partition_info_t info;
        int id = FIRST_ID + i;
        expect(shmem_partition_query(id, &info) == 0 && info.used == 0, "it is not empty at the end", id);
        expect(info.largest_free == info.size, "it is not whole at the end", id);
        if (shmem_my_pe() == 0)
            printf("partition %d \"%s\": %zu MiB, peak %.1f MiB, %s%s%s\n", id, info.name, info.size / MEBIBYTE,
                   (double)info.peak / MEBIBYTE, info.kind, info.nodes[0] ? " on NUMA node " : "", info.nodes);
    }
    printf("PE %d: %s\n", shmem_my_pe(), faults ? "FAULTS FOUND" : "all patterns are right");
    fflush(stdout);
    shmem_barrier_all();
    if (faults)
        shmem_global_exit(EXIT_FAILURE);
    shmem_finalize();
    return EXIT_SUCCESS;
}
