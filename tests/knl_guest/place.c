/*
 * Run by the guest tests as one PE of a job: fills every partition, and says
 * where the kernel has put its pages, in a line of JSON for each.  Asks the
 * kernel itself (move_pages), not the library; the library's own answer stands
 * beside it.  In C, since Python needs ten seconds to start in a guest.  The
 * lines go to a file for each PE, DIRECTORY/<PE>: launchers mix long ones.
 *
 *     place DIRECTORY [here|remote|none [KIND]]
 *
 * With a kind, it moves the pages to that once they are filled, and counts then.
 */
#define _GNU_SOURCE
#include <shmem.h>
#include <shmem_partition.h>

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { NODES = 1024, BATCH = 1024, PIECE = 1 << 20, TEXT = 8192 };

static char text[TEXT];
static size_t used;

#define SAY(...) (used += (size_t)snprintf(text + used, used < TEXT ? TEXT - used : 0, __VA_ARGS__))

static void say_cpus(void)
{
    cpu_set_t cpus;
    const char *separator = "";
    if (sched_getaffinity(0, sizeof cpus, &cpus) != 0)
        shmem_global_exit(1);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &cpus)) {
            SAY("%s%d", separator, cpu);
            separator = ", ";
        }
}

/* Pages on each node; asked for many at once, since a system call takes long in a guest. */
static void count(char *start, size_t bytes, uint64_t *pages, uint64_t *absent)
{
    void *address[BATCH];
    int status[BATCH];
    size_t page = (size_t)sysconf(_SC_PAGESIZE), left = (bytes + page - 1) / page;
    for (; left > 0; start += BATCH * page) {
        size_t now = left < BATCH ? left : BATCH;
        for (size_t i = 0; i < now; i++) {
            address[i] = start + i * page;
            status[i] = -ENOENT;
        }
        if (syscall(SYS_move_pages, 0, now, address, NULL, status, 0) != 0)
            shmem_global_exit(2);
        for (size_t i = 0; i < now; i++)
            if (status[i] >= 0 && status[i] < NODES)
                pages[status[i]]++;
            else
                ++*absent;
        left -= now;
    }
}

static void say_counts(const char *name, const uint64_t *counted, uint64_t unit, uint64_t absent)
{
    const char *separator = "";
    SAY("\"%s\": {", name);
    for (int node = 0; node < NODES; node++)
        if (counted[node]) {
            SAY("%s\"%d\": %" PRIu64, separator, node, counted[node] / unit);
            separator = ", ";
        }
    if (absent)
        SAY("%s\"none\": %" PRIu64, separator, absent / unit);
    SAY("}, ");
}

/* Of this range, the bytes in huge pages of any sort, as smaps says. */
static uint64_t huge(const char *start, size_t bytes)
{
    static const char *const fields[] = {"AnonHugePages", "ShmemPmdMapped", "Shared_Hugetlb", "Private_Hugetlb"};
    char line[512], name[64];
    uint64_t found = 0, kilobytes;
    uintptr_t from, to;
    int inside = 0;
    FILE *file = fopen("/proc/self/smaps", "r");
    while (file && fgets(line, sizeof line, file)) {
        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " ", &from, &to) == 2)
            inside = from < (uintptr_t)start + bytes && to > (uintptr_t)start;
        else if (inside && sscanf(line, "%63[^:]: %" SCNu64, name, &kilobytes) == 2)
            for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
                found += strcmp(name, fields[i]) == 0 ? kilobytes * 1024 : 0;
    }
    if (file)
        fclose(file);
    return found;
}

/* What anybody holds of this process for long, as the kernel counts it; a network, most likely. */
static uint64_t pinned(void)
{
    char line[256];
    uint64_t kilobytes = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file) && sscanf(line, "VmPin: %" SCNu64, &kilobytes) != 1)
        ;
    if (file)
        fclose(file);
    return kilobytes * 1024;
}

static void fill(char *memory, size_t bytes, const char *touch)
{
    static char piece[PIECE];
    int right = (shmem_my_pe() + 1) % shmem_n_pes();
    memset(piece, shmem_my_pe() + 1, PIECE);
    shmem_barrier_all();
    if (strcmp(touch, "here") == 0)
        memset(memory, shmem_my_pe() + 1, bytes);
    for (size_t done = 0; strcmp(touch, "remote") == 0 && done < bytes; done += PIECE)
        shmem_putmem(memory + done, piece, bytes - done < PIECE ? bytes - done : PIECE, right);
    shmem_barrier_all();
}

/* What was put must be what is there, whatever was mapped under it. */
static int is_right(const char *memory, size_t bytes, const char *touch)
{
    int left = (shmem_my_pe() + shmem_n_pes() - 1) % shmem_n_pes();
    char expected = (char)(strcmp(touch, "none") == 0 ? 0 : strcmp(touch, "here") == 0 ? shmem_my_pe() + 1 : left + 1);
    for (size_t i = 0; i < bytes; i += 512)
        if (memory[i] != expected && strcmp(touch, "none") != 0)
            return 0;
    return 1;
}

static void say_migration(int id, const char *kind)
{
    shmem_partition_migration_t done;
    if (shmem_partition_migrate(id, kind, &done) != 0) {
        fprintf(stderr, "%s\n", shmem_partition_error());
        shmem_global_exit(10);
    }
    SAY("\"moved\": %" PRIu64 ", \"there\": %" PRIu64 ", \"absent\": %" PRIu64 ", \"shared\": %" PRIu64
        ", \"full\": %" PRIu64 ", \"pinned\": %" PRIu64 ", \"to\": \"%s\", ",
        done.moved, done.there, done.absent, done.shared, done.full, done.pinned, done.nodes);
}

static void say_partition(int id, const char *touch, const char *kind, FILE *report)
{
    static uint64_t counted[NODES], told[NODES];
    uint64_t absent = 0, told_absent = 0;
    shmem_partition_info_t info;
    if (shmem_partition_query(id, &info) != 0)
        shmem_global_exit(3);
    size_t bytes = info.largest_free;
    char *memory = shmem_partition_malloc(bytes, id);
    if (!memory)
        shmem_global_exit(4);
    fill(memory, bytes, touch);
    used = 0;
    SAY("{\"pe\": %d, \"name\": \"%s\", ", shmem_my_pe(), info.name);
    if (kind)
        say_migration(id, kind);
    int right = is_right(memory, bytes, touch);
    memset(counted, 0, sizeof counted);
    count(memory, bytes, counted, &absent);
    if (shmem_partition_placement(memory, bytes, told, NODES, &told_absent) != 0)
        shmem_global_exit(5);
    SAY("\"cpus\": [");
    say_cpus();
    SAY("], ");
    say_counts("counted", counted, 1, absent);
    say_counts("told", told, (uint64_t)sysconf(_SC_PAGESIZE), told_absent);
    SAY("\"pinned\": %" PRIu64 ", ", pinned());
    SAY("\"huge\": %" PRIu64 ", \"page_size\": %zu, \"right\": %d, \"nodes\": \"%s\", \"fell_back\": %d}\n",
        huge(memory, bytes), info.page_size, right, info.nodes, info.fell_back);
    if (used >= TEXT || fwrite(text, 1, used, report) != used || fflush(report) != 0)
        shmem_global_exit(6);
    shmem_barrier_all();
}

static FILE *open_report(const char *directory)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%d", directory, shmem_my_pe());
    FILE *report = fopen(path, "w");
    if (!report)
        shmem_global_exit(7);
    return report;
}

int main(int count, char **argument)
{
    const char *touch = count > 2 ? argument[2] : "here";
    if (count < 2)
        return 8;
    shmem_init();
    FILE *report = open_report(argument[1]);
    for (int i = 0; i < shmem_partition_count(); i++)
        say_partition(shmem_partition_id_at(i), touch, count > 3 ? argument[3] : NULL, report);
    if (fclose(report) != 0)
        shmem_global_exit(9);
    shmem_barrier_all();
    shmem_finalize();
    return 0;
}
