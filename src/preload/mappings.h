/*
 * Watching a process map memory: the symmetric heap is recognised as the engine
 * makes it, before a network registers it.  Offered by the preload library, which
 * stands before the C library; libshmem_partition looks the function up by name.
 */
#ifndef SHMEM_PARTITION_MAPPINGS_H
#define SHMEM_PARTITION_MAPPINGS_H

#include <stddef.h>

/*
 * Tell `mapped` of the first memory of at least `bytes` that this thread maps
 * from now on, before whoever maps it has it; and again if other memory is mapped
 * in its very place.  NULL: watch no longer.
 */
typedef void watch_mappings_function(size_t bytes, void (*mapped)(void *address, size_t size));

#define WATCH_MAPPINGS "shmem_partition_watch_mappings"

__attribute__((visibility("default"))) watch_mappings_function shmem_partition_watch_mappings;

#endif
