/*
 * Rules: text to checked conditions, and which of them holds.  The text is input
 * from anybody, and a fault is shown with the place where it is (syntax.c).
 */
#define _GNU_SOURCE
#include "rules.h"

#include "syntax.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static const char variable[] = "SHMEM_PARTITION_RULES";
static const char form[] = "a rule is a condition, a colon and a partition, like size>=64M:fast or site=libfoo.so:2";
static const char conditions[] = "the conditions are size>=, size>, size<=, size< and a size, and site= and a library";

/* A part of the text. */
struct part {
    struct written written;
    size_t from, length;
};

static const char *start_of(struct part part) { return part.written.value + part.from; }

static struct part part_of(struct part whole, size_t from, size_t length)
{
    return (struct part){whole.written, whole.from + from, length};
}

static bool starts_with(struct part part, const char *word)
{
    return part.length >= strlen(word) && strncasecmp(start_of(part), word, strlen(word)) == 0;
}

static struct part without_blanks(struct part part)
{
    while (part.length > 0 && *start_of(part) == ' ')
        part = part_of(part, 1, part.length - 1);
    while (part.length > 0 && start_of(part)[part.length - 1] == ' ')
        part.length--;
    return part;
}

static int fault(struct message *message, struct part part, const char *what, const char *right)
{
    return syntax_fault(message, part.written, part.from, part.length > 0 ? part.length : 1, "%s: %s.", what, right);
}

/* ---- conditions -------------------------------------------------------------------------------------------------- */

/* Only the sizes from `least` to `most` are left. */
static int narrow(struct rule *rule, size_t least, size_t most, struct part part, struct message *message)
{
    rule->least = least > rule->least ? least : rule->least;
    rule->most = most < rule->most ? most : rule->most;
    if (rule->least <= rule->most)
        return 0;
    return fault(message, part, "no size holds here and in the conditions before", "leave out one of them");
}

/* "size>=64M" */
static int read_size_condition(struct rule *rule, struct part part, struct message *message)
{
    static const char word[] = "size";
    struct part comparison = part_of(part, sizeof word - 1, part.length - (sizeof word - 1));
    bool above = starts_with(comparison, ">"), below = starts_with(comparison, "<");
    if (!above && !below)
        return fault(message, part, "this is no condition", conditions);
    bool equal = comparison.length > 1 && start_of(comparison)[1] == '=';
    size_t sign = equal ? 2 : 1, bytes;
    if (comparison.length == sign)
        return fault(message, part, "a size is missing", "like size>=64M");
    if (syntax_size(part.written, comparison.from + sign, comparison.length - sign, &bytes, message) != 0)
        return -1;
    return above ? narrow(rule, equal ? bytes : bytes + 1, SIZE_MAX, part, message)
                 : narrow(rule, 1, equal ? bytes : bytes - 1, part, message);
}

/* "site=libfoo.so" */
static int read_site_condition(struct rule *rule, struct part part, struct message *message)
{
    static const char word[] = "site=";
    struct part name = part_of(part, sizeof word - 1, part.length - (sizeof word - 1));
    if (rule->site[0])
        return fault(message, part, "a site was given before", "an allocation comes from one place");
    if (name.length == 0 || name.length >= SITE_SIZE)
        return fault(message, part, "this is no file's name", "give a library or program, like site=libfoo.so");
    for (size_t i = 0; i < name.length; i++)
        if (start_of(name)[i] == '/' || !isgraph((unsigned char)start_of(name)[i]))
            return fault(message, name, "a site is a file's name without its directory",
                         "like libfoo.so, since directories may differ between PEs");
    memcpy(rule->site, start_of(name), name.length);
    rule->site[name.length] = '\0';
    return 0;
}

static int read_condition(struct rule *rule, struct part part, struct message *message)
{
    part = without_blanks(part);
    if (starts_with(part, "size"))
        return read_size_condition(rule, part, message);
    if (starts_with(part, "site="))
        return read_site_condition(rule, part, message);
    return fault(message, part, part.length > 0 ? "this is no condition" : "a condition is missing", conditions);
}

static int read_conditions(struct rule *rule, struct part part, struct message *message)
{
    for (size_t from = 0; from <= part.length;) {
        const char *comma = memchr(start_of(part) + from, ',', part.length - from);
        size_t length = comma ? (size_t)(comma - start_of(part)) - from : part.length - from;
        if (read_condition(rule, part_of(part, from, length), message) != 0)
            return -1;
        from += length + 1;
    }
    return 0;
}

/* ---- partitions -------------------------------------------------------------------------------------------------- */

static bool is_called(struct part part, const char *name)
{
    return strlen(name) == part.length && strncmp(start_of(part), name, part.length) == 0;
}

/* The number that the part is; -1: it is none. */
static int number_of(struct part part)
{
    int number = 0;
    for (size_t i = 0; i < part.length; i++)
        if (i >= 3 || !isdigit((unsigned char)start_of(part)[i]) || start_of(part)[0] == '0')
            return -1;
        else
            number = number * 10 + start_of(part)[i] - '0';
    return part.length > 0 ? number : -1;
}

/* The word is the default heap's, so no other partition can be meant by it. */
static int check_default(struct part part, const struct definitions *definitions, struct message *message)
{
    for (int i = 0; i < definitions->count; i++)
        if (definitions->entry[i].id != 1 && is_called(part, definitions->entry[i].name))
            return fault(message, part, "this is the default heap, but a partition with another ID has that name, too",
                         "give the partition's ID, or another name to the partition");
    return 0;
}

static int read_partition(struct rule *rule, struct part part, const struct definitions *definitions,
                          struct message *message)
{
    part = without_blanks(part);
    int number = number_of(part);
    rule->partition = RULE_DEFAULT_HEAP;
    if (is_called(part, "default"))
        return check_default(part, definitions, message);
    for (int i = 0; i < definitions->count; i++)
        if (definitions->entry[i].id == number || is_called(part, definitions->entry[i].name)) {
            rule->partition = definitions->entry[i].id;
            return 0;
        }
    return fault(message, part, part.length > 0 ? "no partition has this name or ID" : "a partition is missing",
                 "give one that is defined, or \"default\" for the default heap");
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

static int read_rule(struct rule *rule, struct part part, const struct definitions *definitions,
                     struct message *message)
{
    part = without_blanks(part);
    const char *colon = memchr(start_of(part), ':', part.length);
    *rule = (struct rule){.least = 1, .most = SIZE_MAX};
    if (!colon)
        return fault(message, part, "this is no rule", form);
    size_t length = (size_t)(colon - start_of(part));
    struct part target = part_of(part, length + 1, part.length - length - 1);
    if (read_conditions(rule, part_of(part, 0, length), message) != 0 ||
        read_partition(rule, target, definitions, message) != 0)
        return -1;
    size_t shown = part.length < sizeof rule->text ? part.length : sizeof rule->text - 1;
    snprintf(rule->text, sizeof rule->text, "%.*s", (int)shown, start_of(part));
    return 0;
}

int rules_read(struct rules *rules, const char *value, const struct definitions *definitions, struct message *message)
{
    memset(rules, 0, sizeof *rules);
    if (!value)
        return 0;
    struct part whole = {{variable, value}, 0, strlen(value)};
    for (size_t from = 0; from <= whole.length;) {
        struct part part = part_of(whole, from, strcspn(value + from, ";"));
        if (rules->count == RULE_LIMIT)
            return fault(message, part, "there are more than 64 rules", "leave some out");
        struct rule *rule = &rules->entry[rules->count];
        if (read_rule(rule, part, definitions, message) != 0)
            return -1;
        rules->count++;
        rules->ask_site |= rule->site[0] != '\0';
        from += part.length + 1;
    }
    return 0;
}

/* "libfoo.so" is also what "/usr/lib/libfoo.so.1.2" is called. */
static bool is_site(const char *path, const char *name)
{
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    size_t length = strlen(name);
    if (strncmp(base, name, length) != 0)
        return false;
    bool library = length > 3 && strcmp(name + length - 3, ".so") == 0;
    return base[length] == '\0' || (library && base[length] == '.');
}

struct rule *rules_find(struct rules *rules, size_t size, const char *site)
{
    for (int i = 0; i < rules->count; i++) {
        struct rule *rule = &rules->entry[i];
        if (size >= rule->least && size <= rule->most && (!rule->site[0] || (site && is_site(site, rule->site))))
            return rule;
    }
    return NULL;
}

char *rules_canonical(const struct rules *rules)
{
    enum { LINE = SITE_SIZE + 128 };
    size_t room = (size_t)rules->count * LINE + 1, used = 0;
    char *text = malloc(room);
    if (!text)
        return NULL;
    text[0] = '\0';
    for (int i = 0; i < rules->count; i++) {
        const struct rule *rule = &rules->entry[i];
        used += (size_t)snprintf(text + used, room - used, "rule %d: sizes %zu to %zu, site %s: partition %d\n", i + 1,
                                 rule->least, rule->most, rule->site[0] ? rule->site : "any", rule->partition);
    }
    return text;
}
