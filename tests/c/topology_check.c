// sources: topology.c recognition.c knights.c selection.c message.c
// libraries: hwloc
/* Recognition and selection over every saved topology and this machine, for the sanitizers: nothing leaks, nothing
   is read beyond the table, and what is selected is allowed. */
#include "topology.h"

#include <assert.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>

static void check(const char *xml)
{
    struct message message;
    struct memory_table *table = topology_recognise(xml, &message);
    if (!table) {
        puts(message.text);
        abort();
    }
    for (int i = 0; i < table->count; i++)
        for (int kind = KIND_FASTMEM; kind < KIND_COUNT; kind++) {
            struct nodeset nodes, wanted = {0};
            nodeset_add(&wanted, table->node[i].number);
            if (topology_select(table, 1u << kind, &wanted, &table->node[i].cpus, kind % 2, &nodes, &message) != 0)
                assert(message.text[0] != '\0' && nodeset_count(&nodes) == 0);
            else
                assert(nodeset_count(&nodes) > 0);
            for (int j = 0; j < table->count; j++)
                assert(!nodeset_has(&nodes, table->node[j].number) || table->node[j].allowed);
            assert(topology_distance(table, i, table->count - 1) < 1000);
        }
    free(table);
}

int main(void)
{
    char pattern[4096];
    int length = (int)sizeof __FILE__ - (int)sizeof "c/topology_check.c";
    snprintf(pattern, sizeof pattern, "%.*sunit/topologies/*.xml", length, __FILE__);
    glob_t files;
    if (glob(pattern, 0, NULL, &files) != 0)
        return 1;
    for (size_t i = 0; i < files.gl_pathc; i++)
        check(files.gl_pathv[i]);
    globfree(&files);
    check(NULL);
    struct message message;
    assert(!topology_recognise("/nonexistent.xml", &message) && !topology_recognise("/dev/null", &message));
    return 0;
}
