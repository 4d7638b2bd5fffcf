/*
 * A report at the stop, a line or two for each partition and each rule; stands
 * on query.c for what is said, which is what the kernel said of the pages.
 */
#define _GNU_SOURCE
#include "report.h"

#include "partition.h"
#include "shmem_partition.h"
#include "state.h"

#include <stdio.h>
#include <stdlib.h>

bool report_is_wanted(void)
{
    const char *text = getenv("PYSHMEM_REPORT");
    if (!text || !*text || strcmp(text, "0") == 0)
        return false;
    if (strcmp(text, "1") != 0)
        partitions_refuse("PYSHMEM_REPORT is 0 or 1 in a C program, which prints its report at the end; files (.json, .svg) "
                          "are written by Python programs");
    return true;
}

static void print_pages(FILE *file, const shmem_partition_info_t *info)
{
    uint64_t bytes[NODESET_BITS], absent;
    char size[32];
    if (shmem_partition_placement(info->base, info->size, bytes, NODESET_BITS, &absent) != 0) {
        fprintf(file, "  pages: not known, %s\n", shmem_partition_error());
        return;
    }
    fprintf(file, "  pages of PE 0:");
    for (int node = 0; node < NODESET_BITS; node++)
        if (bytes[node] > 0)
            fprintf(file, " node %d %s,", node, message_size(size, bytes[node]));
    fprintf(file, " not present %s\n", message_size(size, absent));
}

static void print_partition(FILE *file, const struct partition *partition)
{
    shmem_partition_info_t info;
    char size[32], peak[32];
    if (shmem_partition_query(partition->definition.id, &info) != 0)
        return;
    fprintf(file, "partition %d \"%s\": %s, peak %s, %s%s%s%s%s%s\n", info.id, info.name, message_size(size, info.size),
            message_size(peak, info.peak), info.kind, info.policy[0] ? " " : "", info.policy,
            info.nodes[0] ? " on node " : "", info.nodes,
            !info.nodes[0] ? "" : info.placed_early ? ", placed early" : ", placed late");
    print_pages(file, &info);
}

static void print_rules(FILE *file, const struct rules *rules)
{
    for (int i = 0; i < rules->count; i++) {
        const struct rule *rule = &rules->entry[i];
        fprintf(file, "rule %d \"%s\": decided on %zu allocation%s\n", i + 1, rule->text, rule->taken,
                rule->taken == 1 ? "" : "s");
    }
}

void report_print(void)
{
    const struct partition_state *state = &library.partitions;
    char *text = NULL;
    size_t size = 0;
    if (library.engine.my_pe != 0)
        return;
    FILE *file = open_memstream(&text, &size);
    if (file) {
        for (int i = 0; i < state->count; i++)
            print_partition(file, &state->partition[i]);
        print_rules(file, &state->rules);
        /* All at once: launchers put what other PEs print between two writes. */
        if (fclose(file) == 0)
            fputs(text, stderr);
    }
    free(text);
}
