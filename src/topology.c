/*
 * Asks hwloc, once, what memory the machine has, and turns the answer into a
 * table of plain data; recognition.c then says what each node is.  The only
 * file that knows hwloc; all versions from 2.5 to 3 will do.
 */
#include "topology.h"

#include "recognition.h"

#include <errno.h>
#include <hwloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- loading ---- */

/* Only what recognition reads: no I/O, no PCI, none of the cores' own caches; the cores only for who asks for places. */
static int configure(hwloc_topology_t topology, bool cores)
{
    unsigned long flags = HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED;
#if HWLOC_API_VERSION >= 0x00020800
    flags |= HWLOC_TOPOLOGY_FLAG_NO_CPUKINDS;
#endif
    /* Looks at every CPU in turn and tells nothing of memory.  That a build of hwloc lacks it is no fault. */
    (void)hwloc_topology_set_components(topology, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "x86");
    if (hwloc_topology_set_flags(topology, flags) != 0 ||
        hwloc_topology_set_all_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_NONE) != 0)
        return -1;
    if (cores && hwloc_topology_set_type_filter(topology, HWLOC_OBJ_CORE, HWLOC_TYPE_FILTER_KEEP_ALL) != 0)
        return -1;
    return hwloc_topology_set_type_filter(topology, HWLOC_OBJ_PACKAGE, HWLOC_TYPE_FILTER_KEEP_ALL) == 0 &&
                   hwloc_topology_set_type_filter(topology, HWLOC_OBJ_GROUP, HWLOC_TYPE_FILTER_KEEP_STRUCTURE) == 0 &&
                   hwloc_topology_set_type_filter(topology, HWLOC_OBJ_L3CACHE, HWLOC_TYPE_FILTER_KEEP_ALL) == 0 &&
                   hwloc_topology_set_type_filter(topology, HWLOC_OBJ_MEMCACHE, HWLOC_TYPE_FILTER_KEEP_ALL) == 0
               ? 0
               : -1;
}

static int load(hwloc_topology_t topology, const char *xml, bool cores, struct message *message)
{
    if (configure(topology, cores) != 0) {
        message_set(message, "hwloc cannot be set up for recognition: %s", strerror(errno));
        return -1;
    }
    if (xml && access(xml, R_OK) != 0) {
        message_set(message, "cannot read the topology %s: %s", xml, strerror(errno));
        return -1;
    }
    if ((xml && hwloc_topology_set_xml(topology, xml) != 0) || hwloc_topology_load(topology) != 0) {
        unsigned version = hwloc_get_api_version();
        if (xml)
            message_set(message, "%s is damaged, not a topology in hwloc's XML format, or too new for hwloc %u.%u",
                        xml, version >> 16, version >> 8 & 0xff);
        else
            message_set(message, "hwloc cannot look at this machine: %s", strerror(errno));
        return -1;
    }
    return 0;
}

/* ---- lists of the Linux kernel ---- */

/* Read "0-3,8" into `set`; -1: it is not such a list. */
static int parse_list(const char *text, struct nodeset *set)
{
    *set = (struct nodeset){0};
    while (*text >= '0' && *text <= '9') {
        char *end;
        unsigned long first = strtoul(text, &end, 10), last = first;
        if (*end == '-')
            last = strtoul(end + 1, &end, 10);
        if (last >= NODESET_BITS || first > last)
            return -1;
        for (unsigned long number = first; number <= last; number++)
            nodeset_add(set, (int)number);
        text = end + (*end == ',');
    }
    return *text == '\n' || *text == '\0' ? 0 : -1;
}

/* The list on the line of `path` that begins with `prefix`; -1 if there is none. */
static int read_list(const char *path, const char *prefix, struct nodeset *set)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return -1;
    char line[8192];
    int result = -1;
    while (result != 0 && fgets(line, sizeof line, file)) {
        if (strncmp(line, prefix, strlen(prefix)) != 0)
            continue;
        const char *text = line + strlen(prefix);
        result = parse_list(text + strspn(text, " \t"), set);
    }
    fclose(file);
    return result;
}

/* ---- what hwloc says of the machine ---- */

static const char *machine_info(hwloc_topology_t topology, const char *name)
{
    const char *value = hwloc_obj_get_info_by_name(hwloc_get_root_obj(topology), name);
#if HWLOC_API_VERSION >= 0x00030000
    if (!value)
        value = hwloc_get_info_by_name(hwloc_topology_get_infos(topology), name);
#endif
    return value;
}

static void copy_text(char *into, size_t size, const char *text)
{
    snprintf(into, size, "%s", text ? text : "");
}

static void copy_cpus(struct cpuset *cpus, hwloc_const_bitmap_t bitmap)
{
    for (unsigned i = 0; bitmap && i < SET_WORDS(cpus); i++)
        cpus->word[i] |= hwloc_bitmap_to_ith_ulong(bitmap, i);
}

static enum knights knights_of(hwloc_obj_t object)
{
    const char *vendor = hwloc_obj_get_info_by_name(object, "CPUVendor");
    const char *family = hwloc_obj_get_info_by_name(object, "CPUFamilyNumber");
    const char *number = hwloc_obj_get_info_by_name(object, "CPUModelNumber");
    const char *model = hwloc_obj_get_info_by_name(object, "CPUModel");
    if (vendor && strcmp(vendor, "GenuineIntel") != 0)
        return KNIGHTS_NONE;
    if (family && number) {
        bool six = strcmp(family, "6") == 0;
        return six && strcmp(number, "87") == 0    ? KNIGHTS_LANDING
               : six && strcmp(number, "133") == 0 ? KNIGHTS_MILL
                                                   : KNIGHTS_NONE;
    }
    if (!model)
        return KNIGHTS_NONE;
    return strstr(model, "Knights Mill")                                                    ? KNIGHTS_MILL
           : strstr(model, "Knights Landing") || strstr(model, "Xeon Phi(TM) CPU 72") ? KNIGHTS_LANDING
                                                                                            : KNIGHTS_NONE;
}

static void describe_platform(hwloc_topology_t topology, struct platform *platform)
{
    copy_text(platform->cluster_mode, sizeof platform->cluster_mode, machine_info(topology, "ClusterMode"));
    copy_text(platform->memory_mode, sizeof platform->memory_mode, machine_info(topology, "MemoryMode"));
    platform->knights = knights_of(hwloc_get_root_obj(topology));
    for (hwloc_obj_t package = NULL;
         platform->knights == KNIGHTS_NONE &&
         (package = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_PACKAGE, package));)
        platform->knights = knights_of(package);
    /* hwloc writes both modes for these processors only. */
    if (platform->knights == KNIGHTS_NONE && platform->cluster_mode[0] && platform->memory_mode[0])
        platform->knights = KNIGHTS_EITHER;
    for (hwloc_obj_t cache = NULL; (cache = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_L3CACHE, cache));)
        if (cache->subtype && strcmp(cache->subtype, "MemorySideCache") == 0)
            copy_cpus(&platform->side_cache, cache->cpuset);
}

/* ---- what hwloc says of a node ---- */

/* A figure from the node's own CPUs, or else from the best that the platform tells of; 0: not known. */
static uint64_t figure(hwloc_topology_t topology, hwloc_memattr_id_t attribute, hwloc_obj_t node)
{
    hwloc_uint64_t value = 0;
    struct hwloc_location initiator = {.type = HWLOC_LOCATION_TYPE_CPUSET, .location.cpuset = node->cpuset};
    if (node->cpuset && !hwloc_bitmap_iszero(node->cpuset) &&
        hwloc_memattr_get_value(topology, attribute, node, &initiator, 0, &value) == 0)
        return value;
    return hwloc_memattr_get_best_initiator(topology, attribute, node, 0, &initiator, &value) == 0 ? value : 0;
}

static void describe_node(hwloc_topology_t topology, hwloc_obj_t object, struct memory_node *node, struct clue *clue)
{
    node->number = (int)object->os_index;
    node->size = object->attr ? object->attr->numanode.local_memory : 0;
    node->bandwidth = figure(topology, HWLOC_MEMATTR_ID_BANDWIDTH, object);
    node->latency = figure(topology, HWLOC_MEMATTR_ID_LATENCY, object);
    node->allowed = hwloc_bitmap_isset(hwloc_topology_get_allowed_nodeset(topology), object->os_index);
    copy_cpus(&node->cpus, object->cpuset);
    for (hwloc_obj_t above = object->parent; above && above->type == HWLOC_OBJ_MEMCACHE; above = above->parent)
        node->memory_cache = true;
    copy_text(clue->subtype, sizeof clue->subtype, object->subtype);
    copy_text(clue->dax_type, sizeof clue->dax_type, hwloc_obj_get_info_by_name(object, "DAXType"));
    copy_text(clue->dax_parent, sizeof clue->dax_parent, hwloc_obj_get_info_by_name(object, "DAXParent"));
    clue->cxl_device = hwloc_obj_get_info_by_name(object, "CXLDevice") != NULL;
}

/* ---- distances ---- */

static int index_of(const struct memory_table *table, unsigned number)
{
    for (int i = 0; i < table->count; i++)
        if (table->node[i].number == (int)number)
            return i;
    return -1;
}

static void store_distances(struct memory_table *table, const struct hwloc_distances_s *distances)
{
    uint16_t *matrix = (uint16_t *)(void *)(table->node + table->count);
    for (unsigned from = 0; from < distances->nbobjs; from++) {
        const struct hwloc_obj *a = distances->objs[from];
        int row = a && a->type == HWLOC_OBJ_NUMANODE ? index_of(table, a->os_index) : -1;
        for (unsigned to = 0; row >= 0 && to < distances->nbobjs; to++) {
            const struct hwloc_obj *b = distances->objs[to];
            int column = b && b->type == HWLOC_OBJ_NUMANODE ? index_of(table, b->os_index) : -1;
            hwloc_uint64_t value = distances->values[(size_t)from * distances->nbobjs + to];
            if (column >= 0)
                matrix[row * table->count + column] = value > UINT16_MAX ? UINT16_MAX : (uint16_t)value;
        }
    }
}

static void read_distances(hwloc_topology_t topology, struct memory_table *table)
{
#if HWLOC_API_VERSION >= 0x00030000
    const unsigned long kind = HWLOC_DISTANCES_KIND_FROM_OS | HWLOC_DISTANCES_KIND_VALUE_LATENCY;
#else
    const unsigned long kind = HWLOC_DISTANCES_KIND_FROM_OS | HWLOC_DISTANCES_KIND_MEANS_LATENCY;
#endif
    struct hwloc_distances_s *distances = NULL;
    unsigned count = 1;
    if (hwloc_distances_get_by_name(topology, "NUMALatency", &count, &distances, 0) != 0 || count == 0) {
        count = 1;
        if (hwloc_distances_get_by_type(topology, HWLOC_OBJ_NUMANODE, &count, &distances, kind, 0) != 0)
            count = 0;
    }
    if (count == 0 || !distances)
        return;
    store_distances(table, distances);
    hwloc_distances_release(topology, distances);
}

/* ---- the table ---- */

static int compare_objects(const void *a, const void *b)
{
    unsigned x = (*(const hwloc_obj_t *)a)->os_index, y = (*(const hwloc_obj_t *)b)->os_index;
    return (x > y) - (x < y);
}

/* The nodes by number; NULL with a message if they are none that a table can hold. */
static hwloc_obj_t *sorted_nodes(hwloc_topology_t topology, int *count, struct message *message)
{
    *count = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_NUMANODE);
    if (*count <= 0) {
        message_set(message, "hwloc finds no NUMA node");
        return NULL;
    }
    hwloc_obj_t *objects = calloc((size_t)*count, sizeof *objects);
    if (!objects) {
        message_set(message, "no memory for a table of %d NUMA nodes", *count);
        return NULL;
    }
    for (int i = 0; i < *count; i++)
        objects[i] = hwloc_get_obj_by_type(topology, HWLOC_OBJ_NUMANODE, (unsigned)i);
    qsort(objects, (size_t)*count, sizeof *objects, compare_objects);
    for (int i = 0; i < *count; i++) {
        unsigned number = objects[i]->os_index;
        if (number < NODESET_BITS && (i == 0 || number != objects[i - 1]->os_index))
            continue;
        if (number >= NODESET_BITS)
            message_set(message, "NUMA node number %u is out of range: the highest is %d", number, NODESET_BITS - 1);
        else
            message_set(message, "there are two NUMA nodes with number %u", number);
        free(objects);
        return NULL;
    }
    return objects;
}

/* What only the running kernel tells exactly. */
static void ask_kernel(struct memory_table *table, struct platform *platform)
{
    struct nodeset set;
    platform->has_cpus_known = read_list("/sys/devices/system/node/has_cpu", "", &set) == 0 && nodeset_count(&set) > 0;
    for (int i = 0; platform->has_cpus_known && i < table->count; i++)
        table->node[i].has_cpus = nodeset_has(&set, table->node[i].number);
    if (read_list("/proc/self/status", "Mems_allowed_list:", &set) == 0)
        for (int i = 0; i < table->count; i++)
            table->node[i].allowed &= nodeset_has(&set, table->node[i].number);
}

static struct memory_table *build_table(hwloc_topology_t topology, bool live, struct message *message)
{
    int count = 0;
    hwloc_obj_t *objects = sorted_nodes(topology, &count, message);
    if (!objects)
        return NULL;
    size_t distances = (size_t)count * (size_t)count * sizeof(uint16_t);
    size_t bytes = sizeof(struct memory_table) + (size_t)count * sizeof(struct memory_node) + distances;
    struct memory_table *table = calloc(1, bytes);
    struct clue *clue = calloc((size_t)count, sizeof *clue);
    if (table && clue) {
        struct platform platform = {0};
        table->bytes = bytes;
        table->count = count;
        for (int i = 0; i < count; i++)
            describe_node(topology, objects[i], &table->node[i], &clue[i]);
        read_distances(topology, table);
        describe_platform(topology, &platform);
        if (live)
            ask_kernel(table, &platform);
        recognise(table, clue, &platform);
    } else {
        message_set(message, "no memory for a table of %d NUMA nodes", count);
        free(table);
        table = NULL;
    }
    free(clue);
    free(objects);
    return table;
}

/* A topology with what was asked for; NULL with a message. */
static hwloc_topology_t open_topology(const char *xml, bool cores, struct message *message)
{
    hwloc_topology_t topology;
    if (hwloc_get_api_version() >> 16 != HWLOC_API_VERSION >> 16) {
        message_set(message, "built for hwloc %d, but hwloc %u is loaded", HWLOC_API_VERSION >> 16,
                    hwloc_get_api_version() >> 16);
        return NULL;
    }
    if (hwloc_topology_init(&topology) != 0) {
        message_set(message, "hwloc cannot be started: %s", strerror(errno));
        return NULL;
    }
    if (load(topology, xml, cores, message) == 0)
        return topology;
    hwloc_topology_destroy(topology);
    return NULL;
}

struct memory_table *topology_recognise(const char *xml, struct message *message)
{
    hwloc_topology_t topology = open_topology(xml, false, message);
    if (!topology)
        return NULL;
    struct memory_table *table = build_table(topology, !xml && hwloc_topology_is_thissystem(topology), message);
    hwloc_topology_destroy(topology);
    return table;
}

/* ---- places for PEs ---- */

/* The objects that PEs are bound to, or what stands for them where hwloc shows none. */
static hwloc_obj_type_t type_of_places(hwloc_topology_t topology, enum place place)
{
    hwloc_obj_type_t type = place == PLACE_CORE     ? HWLOC_OBJ_CORE
                            : place == PLACE_SOCKET ? HWLOC_OBJ_PACKAGE
                                                    : HWLOC_OBJ_MACHINE;
    if (hwloc_get_nbobjs_by_type(topology, type) > 0)
        return type;
    return place == PLACE_CORE ? HWLOC_OBJ_PU : HWLOC_OBJ_MACHINE;
}

/* The allowed CPUs of each object that has some. */
static int fill_places(hwloc_topology_t topology, hwloc_obj_type_t type, struct cpuset *places)
{
    int count = 0;
    for (hwloc_obj_t object = NULL; (object = hwloc_get_next_obj_by_type(topology, type, object));) {
        hwloc_bitmap_t cpus = hwloc_bitmap_dup(object->cpuset);
        if (!cpus || hwloc_bitmap_and(cpus, cpus, hwloc_topology_get_allowed_cpuset(topology)) != 0) {
            hwloc_bitmap_free(cpus);
            return -1;
        }
        if (!hwloc_bitmap_iszero(cpus))
            copy_cpus(&places[count++], cpus);
        hwloc_bitmap_free(cpus);
    }
    return count;
}

struct cpuset *topology_places(const char *xml, enum place place, int *count, struct message *message)
{
    hwloc_topology_t topology = open_topology(xml, true, message);
    if (!topology)
        return NULL;
    hwloc_obj_type_t type = type_of_places(topology, place);
    struct cpuset *places = calloc((size_t)hwloc_get_nbobjs_by_type(topology, type), sizeof *places);
    *count = places ? fill_places(topology, type, places) : -1;
    hwloc_topology_destroy(topology);
    if (*count > 0)
        return places;
    message_set(message, *count < 0 ? "no memory for the places of PEs" : "no CPU of this machine may be used");
    free(places);
    return NULL;
}
