/*
 * Memory cgroups, as files show them.  The limit that counts is the least of all
 * the groups from the process's own up to the root that can be seen from here;
 * a container sees its own group as the root.
 */
#define _GNU_SOURCE
#include "cgroup.h"

#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { LINE_SIZE = 2 * PATH_MAX };

struct hierarchy { /* of one version of cgroups */
    const char *limit, *usage, *active, *inactive; /* files, and the fields of memory.stat that could be given back */
    char mount[PATH_MAX], root[PATH_MAX], group[PATH_MAX]; /* where it is seen, what is seen there, where we are */
};

static const struct hierarchy version_1 = {.limit = "memory.limit_in_bytes",
                                           .usage = "memory.usage_in_bytes",
                                           .active = "total_active_file",
                                           .inactive = "total_inactive_file"};
static const struct hierarchy version_2 = {
    .limit = "memory.max", .usage = "memory.current", .active = "active_file", .inactive = "inactive_file"};

/* Whether `list` ("rw,memory") has the word. */
static bool has_word(const char *list, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = list; (at = strstr(at, word)); at += length)
        if ((at == list || at[-1] == ',') && strchr(", \n", at[length]))
            return true;
    return false;
}

/* ---- where the hierarchies are ---- */

static void take_mount(const char *line, struct hierarchy *first, struct hierarchy *second)
{
    char root[PATH_MAX], mount[PATH_MAX], type[32], options[PATH_MAX];
    const char *rest = strstr(line, " - ");
    if (!rest || sscanf(line, "%*s %*s %*s %4095s %4095s", root, mount) != 2 ||
        sscanf(rest, " - %31s %*s %4095s", type, options) != 2)
        return;
    struct hierarchy *which = strcmp(type, "cgroup2") == 0                                   ? second
                              : strcmp(type, "cgroup") == 0 && has_word(options, "memory") ? first
                                                                                             : NULL;
    if (!which)
        return;
    snprintf(which->mount, sizeof which->mount, "%s", mount);
    snprintf(which->root, sizeof which->root, "%s", root);
}

static void take_group(char *line, struct hierarchy *first, struct hierarchy *second)
{
    char *controllers = strchr(line, ':'), *path = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!path)
        return;
    *path++ = '\0';
    path[strcspn(path, "\n")] = '\0';
    if (controllers[1] == '\0')
        snprintf(second->group, sizeof second->group, "%s", path);
    else if (has_word(controllers + 1, "memory"))
        snprintf(first->group, sizeof first->group, "%s", path);
}

static void find_hierarchies(const char *self, const char *mounts, struct hierarchy *first, struct hierarchy *second)
{
    char line[LINE_SIZE];
    FILE *file = fopen(mounts, "re");
    while (file && fgets(line, sizeof line, file))
        take_mount(line, first, second);
    if (file)
        fclose(file);
    file = fopen(self, "re");
    while (file && fgets(line, sizeof line, file))
        take_group(line, first, second);
    if (file)
        fclose(file);
}

/* ---- what a group grants ---- */

/* The number in a file, or beside `field` in it; false if there is none ("max"). */
static bool read_number(const char *directory, const char *name, const char *field, uint64_t *value)
{
    char path[2 * PATH_MAX], line[256], word[64];
    bool found = false;
    if (snprintf(path, sizeof path, "%s/%s", directory, name) >= (int)sizeof path)
        return false;
    FILE *file = fopen(path, "re");
    while (file && !found && fgets(line, sizeof line, file))
        found = field ? sscanf(line, "%63s %" SCNu64, word, value) == 2 && strcmp(word, field) == 0
                      : sscanf(line, "%" SCNu64, value) == 1;
    if (file)
        fclose(file);
    return found;
}

static uint64_t available_in(const char *directory, const struct hierarchy *hierarchy)
{
    uint64_t limit, usage, active = 0, inactive = 0;
    if (!read_number(directory, hierarchy->limit, NULL, &limit) ||
        !read_number(directory, hierarchy->usage, NULL, &usage))
        return UINT64_MAX;
    if (!read_number(directory, "memory.stat", hierarchy->active, &active))
        active = 0;
    if (!read_number(directory, "memory.stat", hierarchy->inactive, &inactive))
        inactive = 0;
    uint64_t cache = active + inactive;
    usage = usage > cache ? usage - cache : 0;
    return limit > usage ? limit - usage : 0;
}

/* From the group up to what is mounted.  A group outside of it is seen as its root. */
static uint64_t available_above(struct hierarchy *hierarchy)
{
    if (!hierarchy->mount[0])
        return UINT64_MAX;
    size_t root = strcmp(hierarchy->root, "/") == 0 ? 0 : strlen(hierarchy->root);
    bool inside = strncmp(hierarchy->group, hierarchy->root, root) == 0;
    char directory[2 * PATH_MAX];
    snprintf(directory, sizeof directory, "%s%s", hierarchy->mount, inside ? hierarchy->group + root : "");
    uint64_t least = UINT64_MAX;
    for (size_t mount = strlen(hierarchy->mount);;) {
        uint64_t here = available_in(directory, hierarchy);
        least = here < least ? here : least;
        char *end = strrchr(directory, '/');
        if (strlen(directory) <= mount || !end || (size_t)(end - directory) < mount)
            return least;
        *end = '\0';
    }
}

uint64_t cgroup_available_bytes(const char *self, const char *mounts)
{
    struct hierarchy first = version_1, second = version_2;
    find_hierarchies(self, mounts, &first, &second);
    uint64_t in_first = available_above(&first), in_second = available_above(&second);
    return in_first < in_second ? in_first : in_second;
}
