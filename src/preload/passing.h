/*
 * A program that has the partition library linked into it needs no other: before
 * it starts its engine it has the preload library, if that is there, pass all on
 * to the engine (whose calls would else come back to partitions, but to others').
 */
#ifndef SHMEM_PARTITION_PASSING_H
#define SHMEM_PARTITION_PASSING_H

typedef void pass_on_function(void);

#define PASS_ON_NAME "shmem_partition_pass_on"

__attribute__((visibility("default"))) pass_on_function shmem_partition_pass_on;

#endif
