/* What the memory cgroups above this process (a container, a batch job) still grant.  Stands on Linux alone. */
#ifndef SHMEM_PARTITION_CGROUP_H
#define SHMEM_PARTITION_CGROUP_H

#include <stdint.h>

/*
 * The least that any memory cgroup above this process would still give, with
 * the page cache that it would take back; UINT64_MAX if none limits it.  `self`
 * and `mounts` are /proc/self/cgroup and /proc/self/mountinfo; both versions of
 * cgroups count.
 */
__attribute__((visibility("default"))) uint64_t cgroup_available_bytes(const char *self, const char *mounts);

#endif
