/*
 * Allocating from partitions: the public functions of the contract's section 5.
 * Stands on partition.c for the partitions and on heap.c for each one's blocks.
 *
 * Nothing here communicates but when all meet: the same sequence of calls gives
 * the same offsets on every PE.
 */
#define _GNU_SOURCE
#include "shmem_partition.h"

#include "partition.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>

#define NOT_RUNNING "OpenSHMEM is not initialised, or not by this library: link it before the OpenSHMEM library"

static void *refuse(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void *refuse(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(library.partitions.message.text, MESSAGE_SIZE, format, arguments);
    va_end(arguments);
    return NULL;
}

static void report_refusal(const char *function)
{
    fprintf(stderr, "shmem_partition: PE %d: %s: %s\n", library.engine.my_pe, function,
            library.partitions.message.text);
}

static void *say_full(const struct partition *partition, size_t size, enum heap_fault fault)
{
    struct message *message = &library.partitions.message;
    struct heap_figures figures;
    char asked[32], largest[32], unused[32], whole[32];
    if (fault == HEAP_NO_RECORD)
        return refuse("no ordinary memory for the records of partition \"%s\"", partition->definition.name);
    heap_figures(partition->heap, &figures);
    message_set(message, "partition %d \"%s\" is full: asked for %s, largest free block %s, free %s of %s",
                partition->definition.id, partition->definition.name, message_size(asked, size),
                message_size(largest, figures.largest_free), message_size(unused, figures.size - figures.used),
                message_size(whole, figures.size));
    while ((partition = partition->fallback)) {
        heap_figures(partition->heap, &figures);
        message_add(message, "; so is its fallback \"%s\", largest free block %s of %s", partition->definition.name,
                    message_size(largest, figures.largest_free), message_size(whole, figures.size));
    }
    return NULL;
}

/* From the partition, or else from the fallbacks of it: the same on all PEs, as all have the same blocks. */
static char *take(struct partition *first, size_t size, size_t alignment)
{
    enum heap_fault fault = HEAP_FULL, first_fault = HEAP_FULL;
    for (struct partition *partition = first; partition; partition = partition->fallback) {
        if (alignment > partition->alignment)
            continue;
        size_t offset = heap_allocate(partition->heap, size, alignment, &fault);
        if (offset != HEAP_NONE) {
            first->diverted += partition != first;
            return partition->base + offset;
        }
        if (partition == first)
            first_fault = fault;
    }
    return say_full(first, size, first_fault);
}

static bool is_power_of_two(size_t number) { return number != 0 && (number & (number - 1)) == 0; }

void *shmem_partition_reserve(size_t alignment, size_t size, int partition_id)
{
    if (!partitions_running())
        return refuse(NOT_RUNNING);
    struct partition *partition = partition_with_id(partition_id);
    if (!partition)
        return refuse("there is no partition %d", partition_id);
    if (!is_power_of_two(alignment))
        return refuse("alignment %zu is not a power of two", alignment);
    if (size == 0)
        return NULL;
    if (alignment > partition->alignment)
        return refuse("alignment %zu is above %zu, the largest that is the same on all PEs in partition %d \"%s\"",
                      alignment, partition->alignment, partition_id, partition->definition.name);
    return take(partition, size, alignment);
}

static void *allocate(size_t alignment, size_t size, int partition_id, const char *function)
{
    if (size == 0)
        return NULL;
    void *pointer = shmem_partition_reserve(alignment, size, partition_id);
    struct partition *partition = partition_with_id(partition_id);
    if (pointer || (partition && is_power_of_two(alignment) && alignment <= partition->alignment))
        engine_meet(); /* also when it is full, which all PEs find alike */
    else
        report_refusal(function);
    return pointer;
}

void *shmem_partition_malloc(size_t size, int partition_id)
{
    return allocate(HEAP_ALIGNMENT, size, partition_id, "shmem_partition_malloc");
}

void *shmem_partition_align(size_t alignment, size_t size, int partition_id)
{
    return allocate(alignment, size, partition_id, "shmem_partition_align");
}

void *shmem_partition_calloc(size_t count, size_t size, int partition_id)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes))
        bytes = SIZE_MAX; /* more than any partition has: refused as full, on all PEs */
    void *pointer = bytes ? shmem_partition_reserve(HEAP_ALIGNMENT, bytes, partition_id) : NULL;
    if (pointer)
        memset(pointer, 0, bytes);
    if (pointer || (bytes && partition_with_id(partition_id)))
        engine_meet();
    else if (bytes)
        report_refusal("shmem_partition_calloc");
    return pointer;
}

void *shmemx_kind_malloc(size_t size, int partition_id) { return shmem_partition_malloc(size, partition_id); }

void *shmemx_kind_align(size_t alignment, size_t size, int partition_id)
{
    return shmem_partition_align(alignment, size, partition_id);
}

/* ---- what is there already --------------------------------------------------------------------------------------- */

/* The partition and the offset of a live allocation's start, or NULL and the reason. */
static struct partition *find_start(const void *pointer, size_t *offset, size_t *size)
{
    struct partition *partition = partitions_running() ? partition_containing(pointer) : NULL;
    size_t start;
    if (!partition)
        return partitions_running() ? refuse("%p is not in a partition", pointer) : refuse(NOT_RUNNING);
    *offset = (size_t)((const char *)pointer - partition->base);
    if (heap_find(partition->heap, *offset, &start, size) != HEAP_OK)
        return refuse("%p, offset %zu of partition \"%s\", is not allocated (freed before?)", pointer, *offset,
                      partition->definition.name);
    if (start != *offset)
        return refuse("%p is %zu bytes inside an allocation of partition \"%s\", not at its start", pointer,
                      *offset - start, partition->definition.name);
    return partition;
}

static int release(void *pointer, bool with_barrier)
{
    size_t offset, size;
    if (!pointer)
        return 0;
    struct partition *partition = find_start(pointer, &offset, &size);
    if (!partition)
        return -1;
    if (with_barrier)
        engine_meet(); /* nobody uses it any more */
    return heap_free(partition->heap, offset) == HEAP_OK ? 0 : -1;
}

int shmem_partition_release(void *pointer) { return release(pointer, true); }

int shmem_partition_discard(void *pointer) { return release(pointer, false); }

void shmem_partition_free(void *pointer)
{
    if (shmem_partition_release(pointer) != 0)
        report_refusal("shmem_partition_free");
}

static void *move_to_larger(struct partition *partition, char *old, size_t old_size, size_t size)
{
    char *moved = take(partition, size, HEAP_ALIGNMENT);
    if (!moved)
        return NULL;
    memcpy(moved, old, old_size < size ? old_size : size);
    heap_free(partition->heap, (size_t)(old - partition->base));
    return moved;
}

void *shmem_partition_realloc(void *pointer, size_t size)
{
    size_t offset, old_size;
    if (!pointer)
        return shmem_malloc(size);
    if (size == 0) {
        shmem_partition_free(pointer);
        return NULL;
    }
    struct partition *partition = find_start(pointer, &offset, &old_size);
    if (!partition) {
        report_refusal("shmem_partition_realloc");
        return NULL;
    }
    engine_meet();
    void *result = pointer;
    if (heap_resize(partition->heap, offset, size) != HEAP_OK)
        result = move_to_larger(partition, pointer, old_size, size);
    engine_meet();
    return result;
}
