/* Every kernel call about pages that are not base pages.  Stands on Linux alone. */
#define _GNU_SOURCE
#include "huge.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_COLLAPSE /* Linux 6.1 */
#define MADV_COLLAPSE 25
#endif
#ifndef MAP_FIXED_NOREPLACE /* Linux 4.17 */
#define MAP_FIXED_NOREPLACE 0x100000
#endif
#ifndef MFD_HUGETLB
#define MFD_HUGETLB 4U
#endif
#ifndef MFD_HUGE_SHIFT
#define MFD_HUGE_SHIFT 26
#endif

static const char POOLS[] = "/sys/kernel/mm/hugepages";
static const char TRANSPARENT[] = "/sys/kernel/mm/transparent_hugepage/enabled";

/* ---- which sizes there are, and how many ------------------------------------------------------------------------- */

bool huge_available(size_t page)
{
    char path[96];
    snprintf(path, sizeof path, "%s/hugepages-%zukB", POOLS, page / 1024);
    return access(path, F_OK) == 0;
}

bool huge_transparent_available(void) { return access(TRANSPARENT, F_OK) == 0; }

static int by_size(const void *a, const void *b)
{
    size_t first = *(const size_t *)a, second = *(const size_t *)b;
    return (first > second) - (first < second);
}

const char *huge_sizes(char *text, size_t size)
{
    enum { SIZES = 16 };
    size_t found[SIZES], count = 0, used = 0, kilobytes;
    text[0] = '\0';
    DIR *directory = opendir(POOLS);
    struct dirent *entry;
    while (directory && count < SIZES && (entry = readdir(directory)))
        if (sscanf(entry->d_name, "hugepages-%zukB", &kilobytes) == 1)
            found[count++] = kilobytes * 1024;
    if (directory)
        closedir(directory);
    qsort(found, count, sizeof *found, by_size);
    for (size_t i = 0; i < count && used < size; i++) {
        char one[32];
        used += (size_t)snprintf(text + used, size - used, ", %s", message_size(one, found[i]));
    }
    return text;
}

static uint64_t read_number(const char *path)
{
    uint64_t number = 0;
    FILE *file = fopen(path, "re");
    if (!file)
        return 0;
    if (fscanf(file, "%" SCNu64, &number) != 1)
        number = 0;
    fclose(file);
    return number;
}

static uint64_t pool_number(size_t page, const char *what)
{
    char path[160];
    snprintf(path, sizeof path, "%s/hugepages-%zukB/%s", POOLS, page / 1024, what);
    return read_number(path);
}

uint64_t huge_free_bytes(size_t page, const struct nodeset *nodes)
{
    uint64_t allowed = pool_number(page, "nr_overcommit_hugepages"), beyond = pool_number(page, "surplus_hugepages");
    uint64_t pages = allowed > beyond ? allowed - beyond : 0;
    for (int node = 0; node < NODESET_BITS; node++) {
        char path[160];
        snprintf(path, sizeof path, "/sys/devices/system/node/node%d/hugepages/hugepages-%zukB/free_hugepages", node,
                 page / 1024);
        if (nodeset_count(nodes) == 0 || nodeset_has(nodes, node))
            pages += read_number(path);
    }
    return pages * page;
}

void huge_say_free(size_t page, const struct nodeset *nodes, struct message *message)
{
    char path[160];
    int example = 0;
    const char *separator = "; free: ";
    for (int node = 0; node < NODESET_BITS; node++) {
        snprintf(path, sizeof path, "/sys/devices/system/node/node%d/hugepages/hugepages-%zukB/free_hugepages", node,
                 page / 1024);
        bool wanted = nodeset_count(nodes) == 0 || nodeset_has(nodes, node);
        if (!wanted || access(path, F_OK) != 0)
            continue;
        message_add(message, "%snode %d %" PRIu64, separator, node, read_number(path));
        separator = ", ";
        example = node;
    }
    uint64_t promised = pool_number(page, "resv_hugepages");
    if (promised)
        message_add(message, " (of which %" PRIu64 " are promised to others)", promised);
    message_add(message,
                "; overcommit: %" PRIu64 "; reserve more in /sys/devices/system/node/node%d/hugepages/"
                "hugepages-%zukB/nr_hugepages, or leave pgsize out",
                pool_number(page, "nr_overcommit_hugepages"), example, page / 1024);
}

/* ---- files and mappings ------------------------------------------------------------------------------------------ */

int huge_file(size_t size, size_t page, struct message *message)
{
    unsigned flags = MFD_CLOEXEC;
    if (page)
        flags |= MFD_HUGETLB | (unsigned)__builtin_ctzl(page) << MFD_HUGE_SHIFT;
    int file = memfd_create("shmem_partition", flags);
    if (file >= 0 && ftruncate(file, (off_t)size) == 0)
        return file;
    message_set(message, "the kernel gives no memory in such pages (memfd_create: %s)", strerror(errno));
    if (file >= 0)
        close(file);
    return -1;
}

/* Without a reservation, which would take pages of any node; all are populated at once. */
static void *map(void *address, size_t size, int file, struct message *message)
{
    int flags = MAP_SHARED | MAP_NORESERVE | (address ? MAP_FIXED : 0);
    void *mapped = mmap(address, size, PROT_READ | PROT_WRITE, flags, file, 0);
    if (mapped != MAP_FAILED)
        return mapped;
    message_set(message, "such pages cannot be mapped (mmap: %s)", strerror(errno));
    return NULL;
}

void *huge_map(size_t size, int file, struct message *message) { return map(NULL, size, file, message); }

/* One line of /proc/self/maps. */
struct mapping {
    uintptr_t from, to;
    bool shared;
    uint64_t offset, inode;
    char device[16];
};

static bool read_mapping(FILE *file, struct mapping *mapping)
{
    char line[512], permissions[8];
    while (fgets(line, sizeof line, file))
        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %7s %" SCNx64 " %15s %" SCNu64, &mapping->from, &mapping->to,
                   permissions, &mapping->offset, mapping->device, &mapping->inode) == 6) {
            mapping->shared = permissions[3] == 's';
            return true;
        }
    return false;
}

/* The mapping that an address lies in; false if it lies in none. */
static bool find_mapping(uintptr_t address, struct mapping *mapping)
{
    bool found = false;
    FILE *file = fopen("/proc/self/maps", "re");
    while (file && !found && read_mapping(file, mapping))
        found = mapping->from <= address && address < mapping->to;
    if (file)
        fclose(file);
    return found;
}

enum { VIEWS = 16 };

/* Every place where the part of the shared memory that begins at `address` is mapped; how many there are. */
static int find_views(uintptr_t address, uintptr_t *view)
{
    struct mapping own, other;
    int count = 0;
    if (!find_mapping(address, &own) || !own.shared) {
        view[0] = address;
        return 1;
    }
    uint64_t offset = own.offset + (address - own.from);
    FILE *file = fopen("/proc/self/maps", "re");
    while (file && count < VIEWS && read_mapping(file, &other))
        if (other.inode == own.inode && strcmp(other.device, own.device) == 0 && other.offset <= offset &&
            offset < other.offset + (other.to - other.from))
            view[count++] = other.from + (offset - other.offset);
    if (file)
        fclose(file);
    return count;
}

int huge_map_over(void *address, size_t size, int file, struct message *message)
{
    uintptr_t view[VIEWS];
    int count = find_views((uintptr_t)address, view);
    for (int i = 0; i < count; i++)
        if (!map((void *)view[i], size, file, message))
            return -1;
    return 0;
}

bool huge_can_map_over(void *address, size_t page)
{
    uintptr_t view[VIEWS];
    int count = find_views((uintptr_t)address, view);
    for (int i = 0; i < count; i++)
        if (view[i] % page != 0)
            return false;
    return count > 0;
}

/*
 * The kernel maps downwards from the lowest mapping, into the highest gap that
 * is large enough.  One small page in the right place leaves a gap above it for
 * what is small; the heaps follow below, one beside the other.
 */
void huge_align_what_follows(size_t heap, size_t page, uintptr_t like)
{
    const size_t enough = (size_t)1 << 30; /* for the arenas of other threads, 128 MiB each */
    const size_t room = heap / 2 < enough ? heap / 2 : enough;
    size_t small = (size_t)sysconf(_SC_PAGESIZE);
    char *lowest = mmap(NULL, heap, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (lowest == MAP_FAILED)
        return; /* then the heaps lie where they lie, which is looked at later */
    uintptr_t highest = (uintptr_t)lowest + heap - room;
    uintptr_t mark = highest - (highest - like % page) % page;
    (void)munmap(lowest, heap);
    (void)mmap((void *)mark, small, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
}

void huge_unmap(void *address, size_t size) { (void)munmap(address, size); }

int huge_open_of_process(long process, long descriptor, struct message *message)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%ld/fd/%ld", process, descriptor);
    int file = open(path, O_RDWR | O_CLOEXEC);
    if (file < 0)
        message_set(message, "the huge pages of another PE on this node cannot be opened (%s: %s); do the PEs run in "
                             "containers of their own?", path, strerror(errno));
    return file;
}

/* ---- transparent pages ------------------------------------------------------------------------------------------- */

void huge_advise(void *address, size_t size)
{
    /* Advice: whether it was followed is seen in what the range consists of. */
    (void)madvise(address, size, MADV_HUGEPAGE);
}

void huge_collapse(void *address, size_t size)
{
    (void)madvise(address, size, MADV_COLLAPSE);
}

/* ---- what a range consists of ------------------------------------------------------------------------------------ */

/* Of one line of smaps, the bytes that it counts towards huge pages. */
static uint64_t huge_in_line(const char *line)
{
    static const char *const fields[] = {"AnonHugePages:", "ShmemPmdMapped:", "FilePmdMapped:", "Shared_Hugetlb:",
                                         "Private_Hugetlb:"};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        size_t length = strlen(fields[i]);
        if (strncmp(line, fields[i], length) == 0)
            return strtoull(line + length, NULL, 10) * 1024;
    }
    return 0;
}

uint64_t huge_bytes(const void *address, size_t size)
{
    uintptr_t start = (uintptr_t)address, end = start + size;
    uint64_t bytes = 0;
    bool inside = false;
    char line[512];
    FILE *file = fopen("/proc/self/smaps", "re");
    while (file && fgets(line, sizeof line, file)) {
        uintptr_t from, to;
        char permissions[8];
        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %7s", &from, &to, permissions) == 3)
            inside = from < end && to > start;
        else if (inside)
            bytes += huge_in_line(line);
    }
    if (file)
        fclose(file);
    return bytes;
}

bool huge_is_shared(const void *address)
{
    struct mapping mapping;
    return find_mapping((uintptr_t)address, &mapping) && mapping.shared;
}

uint64_t huge_pinned_bytes(void)
{
    uint64_t bytes = 0;
    char line[256];
    FILE *file = fopen("/proc/self/status", "re");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, "VmPin:", 6) == 0)
            bytes = strtoull(line + 6, NULL, 10) * 1024;
    if (file)
        fclose(file);
    return bytes;
}
