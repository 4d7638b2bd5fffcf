/*
 * Every kernel call about where memory lies; the only file that makes them.
 * Stands on Linux alone.  The system calls are made directly: the masks are
 * ours, and libnuma would add nothing but a dependency.
 */
#define _GNU_SOURCE
#include "placement.h"

#include "cgroup.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE /* Linux 5.14 */
#define MADV_POPULATE_WRITE 23
#endif

/* From linux/mempolicy.h, which older systems lack the newest of. */
enum {
    POLICY_MODE_DEFAULT = 0,
    POLICY_MODE_PREFERRED = 1,
    POLICY_MODE_BIND = 2,
    POLICY_MODE_INTERLEAVE = 3,
    POLICY_MODE_PREFERRED_MANY = 5,
    POLICY_MODE_WEIGHTED_INTERLEAVE = 6
};
enum { POLICY_FLAG_MOVE = 1 << 1, POLICY_FLAG_MOVE_ALL = 1 << 2 };

size_t placement_page_size(void) { return (size_t)sysconf(_SC_PAGESIZE); }

static long set_policy(void *address, size_t size, int mode, const struct nodeset *nodes, unsigned flags)
{
    /* The kernel takes the number of bits plus one. */
    return syscall(SYS_mbind, address, size, mode, nodes->word, (unsigned long)NODESET_BITS + 1, flags);
}

static long set_preferred(void *address, size_t size, const struct nodeset *nodes, unsigned flags)
{
    if (nodeset_count(nodes) == 1)
        return set_policy(address, size, POLICY_MODE_PREFERRED, nodes, flags);
    long status = set_policy(address, size, POLICY_MODE_PREFERRED_MANY, nodes, flags);
    /* Before Linux 5.15 no policy prefers several nodes; interleaving also fills them and never kills. */
    if (status != 0 && errno == EINVAL)
        status = set_policy(address, size, POLICY_MODE_INTERLEAVE, nodes, flags);
    return status;
}

bool placement_has_weights(void) { return access("/sys/kernel/mm/mempolicy/weighted_interleave", F_OK) == 0; }

static long set_binding(void *address, size_t size, enum binding binding, const struct nodeset *nodes, unsigned flags)
{
    switch (binding) {
    case BIND_ONLY:
        return set_policy(address, size, POLICY_MODE_BIND, nodes, flags);
    case BIND_INTERLEAVED:
        return set_policy(address, size, POLICY_MODE_INTERLEAVE, nodes, flags);
    case BIND_WEIGHTED:
        return set_policy(address, size, POLICY_MODE_WEIGHTED_INTERLEAVE, nodes, flags);
    case BIND_PREFERRED:
        break;
    }
    return set_preferred(address, size, nodes, flags);
}

static const char *refusal_cause(int error)
{
    switch (error) {
    case EPERM:
    case ENOSYS:
        return "the system call is forbidden here, probably by a container's seccomp profile; "
               "allow mbind, move_pages and get_mempolicy (docker: --cap-add SYS_NICE)";
    case EINVAL:
        return "none of these nodes exists and is allowed to this process";
    case EIO:
        return "pages are pinned elsewhere, probably registered by a network";
    case ENOMEM:
        return "the kernel is out of memory";
    default:
        return "see mbind(2)";
    }
}

int placement_bind(void *address, size_t size, enum binding binding, const struct nodeset *nodes,
                   struct message *message)
{
    if (set_binding(address, size, binding, nodes, 0) == 0)
        return 0;
    int error = errno;
    char list[256];
    message_set(message, "binding memory to NUMA node %s was refused (mbind: %s): %s",
                nodeset_text(nodes, list, sizeof list), strerror(error), refusal_cause(error));
    return -1;
}

void placement_unbind(void *address, size_t size)
{
    (void)set_policy(address, size, POLICY_MODE_DEFAULT, &(struct nodeset){0}, 0);
}

void placement_move(void *address, size_t size, enum binding binding, const struct nodeset *nodes)
{
    /* What did not move is seen when the pages are counted, so the status says nothing more. */
    (void)set_binding(address, size, binding, nodes, POLICY_FLAG_MOVE);
}

void placement_discard(void *address, size_t size)
{
    /* The one for shared memory, the other for private; what neither takes stays, and is seen when pages are counted. */
    if (madvise(address, size, MADV_REMOVE) != 0)
        (void)madvise(address, size, MADV_DONTNEED);
}

static void touch_every_page(volatile unsigned char *start, size_t size)
{
    size_t page = placement_page_size();
    for (size_t offset = 0; offset < size; offset += page)
        start[offset] = start[offset];
}

int placement_populate(void *address, size_t size, struct message *message)
{
    char text[32];
    int status;
    do
        status = madvise(address, size, MADV_POPULATE_WRITE);
    while (status != 0 && (errno == EINTR || errno == EAGAIN));
    if (status == 0)
        return 0;
    if (errno == EINVAL) { /* before Linux 5.14 */
        touch_every_page(address, size);
        return 0;
    }
    message_set(message, "%s could not be made present (madvise: %s); the memory, or the file system behind "
                         "shared memory (df /dev/shm), is full",
                message_size(text, size), strerror(errno));
    return -1;
}

bool placement_is_present(const void *address, size_t size)
{
    size_t page = placement_page_size(), pages = size / page;
    unsigned char *start = (unsigned char *)((uintptr_t)address & ~(uintptr_t)(page - 1)), resident[PLACEMENT_BATCH];
    for (size_t done = 0; done < pages; done += PLACEMENT_BATCH) {
        size_t now = pages - done < PLACEMENT_BATCH ? pages - done : PLACEMENT_BATCH;
        if (mincore(start + done * page, now * page, resident) != 0)
            return false;
        for (size_t i = 0; i < now; i++)
            if (!(resident[i] & 1))
                return false;
    }
    return true;
}

/* A page that only another process has touched is not in our page table: reading it maps what is there already. */
static void map_resident(unsigned char *start, size_t pages, const int *status)
{
    size_t page = placement_page_size();
    unsigned char resident[PLACEMENT_BATCH];
    if (mincore(start, pages * page, resident) != 0)
        return;
    for (size_t i = 0; i < pages; i++)
        if (status[i] < 0 && resident[i] & 1)
            (void)*(volatile unsigned char *)(start + i * page);
}

static bool any_absent(const int *status, size_t pages)
{
    for (size_t i = 0; i < pages; i++)
        if (status[i] < 0)
            return true;
    return false;
}

int placement_nodes(void **address, size_t count, int *status, struct message *message)
{
    if (syscall(SYS_move_pages, 0, count, address, NULL, status, 0) == 0)
        return 0;
    int error = errno;
    message_set(message, "the kernel does not say where pages are (move_pages: %s): %s", strerror(error),
                refusal_cause(error));
    return -1;
}

static int ask_pages(unsigned char *start, size_t pages, int *status, struct message *message)
{
    void *address[PLACEMENT_BATCH];
    size_t page = placement_page_size();
    for (size_t i = 0; i < pages; i++)
        address[i] = start + i * page;
    return placement_nodes(address, pages, status, message);
}

int placement_send(void **address, size_t count, const int *node, int *status, struct message *message)
{
    /* Pages that other processes have mapped, too, may be moved by the privileged (CAP_SYS_NICE) alone. */
    long result = syscall(SYS_move_pages, 0, count, address, node, status, POLICY_FLAG_MOVE_ALL);
    if (result < 0 && errno == EPERM)
        result = syscall(SYS_move_pages, 0, count, address, node, status, POLICY_FLAG_MOVE);
    if (result >= 0 || errno == ENOENT) /* all pages lie there already */
        return 0;
    int error = errno;
    if (error == ENOMEM)
        return 1;
    message_set(message, "pages cannot be moved (move_pages: %s): %s", strerror(error), refusal_cause(error));
    return -1;
}

int placement_count(const void *address, size_t size, uint64_t *bytes, uint64_t *absent, struct message *message)
{
    size_t page = placement_page_size();
    unsigned char *start = (unsigned char *)((uintptr_t)address & ~(uintptr_t)(page - 1));
    size_t pages = ((uintptr_t)address + size - (uintptr_t)start + page - 1) / page;
    memset(bytes, 0, NODESET_BITS * sizeof *bytes);
    *absent = 0;
    if (size == 0)
        return 0;
    for (size_t done = 0; done < pages;) {
        int status[PLACEMENT_BATCH];
        size_t now = pages - done < PLACEMENT_BATCH ? pages - done : PLACEMENT_BATCH;
        unsigned char *first = start + done * page;
        if (ask_pages(first, now, status, message) != 0)
            return -1;
        if (any_absent(status, now)) {
            map_resident(first, now, status);
            if (ask_pages(first, now, status, message) != 0)
                return -1;
        }
        for (size_t i = 0; i < now; i++)
            if (status[i] >= 0 && status[i] < NODESET_BITS)
                bytes[status[i]] += page;
            else
                *absent += page;
        done += now;
    }
    return 0;
}

/* Sum the named fields (in KiB) of a meminfo file whose lines may begin with "Node N ". */
static uint64_t meminfo_sum(const char *path, const char *const *fields)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return 0;
    uint64_t total = 0;
    char line[256];
    while (fgets(line, sizeof line, file)) {
        char name[64];
        uint64_t value;
        if (sscanf(line, "Node %*d %63[^:]: %" SCNu64, name, &value) != 2 &&
            sscanf(line, "%63[^:]: %" SCNu64, name, &value) != 2)
            continue;
        for (int i = 0; fields[i]; i++)
            if (strcmp(name, fields[i]) == 0)
                total += value * 1024;
    }
    fclose(file);
    return total;
}

uint64_t placement_free_bytes(int node)
{
    static const char *const fields[] = {"MemFree", "Active(file)", "Inactive(file)", NULL};
    char path[64];
    snprintf(path, sizeof path, "/sys/devices/system/node/node%d/meminfo", node);
    return meminfo_sum(path, fields);
}

struct room placement_room(void)
{
    static const char *const fields[] = {"MemAvailable", NULL};
    uint64_t machine = meminfo_sum("/proc/meminfo", fields);
    uint64_t granted = cgroup_available_bytes("/proc/self/cgroup", "/proc/self/mountinfo");
    if (granted < machine)
        return (struct room){granted, "the memory cgroup of this process (a container, a batch job)"};
    return (struct room){machine, "the node"};
}

#ifndef MAP_FIXED_NOREPLACE /* Linux 4.17 */
#define MAP_FIXED_NOREPLACE 0x100000
#endif

static bool fill(uintptr_t start, size_t size)
{
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
    return mmap((void *)start, size, PROT_READ | PROT_WRITE, flags, -1, 0) != MAP_FAILED;
}

void placement_fill_hole(void *address, size_t size)
{
    size_t page = placement_page_size();
    uintptr_t start = (uintptr_t)address / page * page, end = ((uintptr_t)address + size + page - 1) / page * page;
    if (fill(start, end - start))
        return;
    /* Part of the range is mapped by now, and stays as it is; the rest page by page. */
    for (; start < end; start += page)
        (void)fill(start, page);
}

int placement_allowed_cpus(struct cpuset *cpus, struct message *message)
{
    memset(cpus, 0, sizeof *cpus);
    /* The kernel refuses a mask smaller than its own; ours holds the largest that Linux can be built for. */
    if (sched_getaffinity(0, sizeof cpus->word, (cpu_set_t *)cpus->word) == 0)
        return 0;
    message_set(message, "the CPUs of this process cannot be read (sched_getaffinity: %s)", strerror(errno));
    return -1;
}
