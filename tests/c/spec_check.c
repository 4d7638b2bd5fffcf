// sources: spec.c rules.c syntax.c message.c bitset.c
// libraries:
/*
 * Definitions and rules under the sanitizers: many texts made of good and bad pieces, and good ones with
 * bytes changed or an end missing, read from the environment and from the program; each is taken or refused
 * with a message.
 */
#include "../../src/rules.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const pieces[] = {
    "size=", "kind=", "policy=", "pgsize=", "name=", ":", "1", "1.5", "G", "NODES(", ")", "0-3", ",", "FASTMEM", "D",
    "MANDATORY", "fast", "=", ">", "<", ";", "site=", "default", "size>=1K:default", "\x01", "\xff", "99999999999999999999", "1023", "-", ".", "THP", "size=1G", "kind=HBM",
};
static const char *const sound[] = {
    "size=1.5G:kind=FASTMEM+DDR:policy=P:pgsize=2M:name=fast", "kind=NODES(0,4-7):size=512M:policy=MANDATORY",
    "size=64K:pgsize=THP:policy=I:kind=HBM", "site=libfoo.so,size>4K:fast; size>=64M:1; size<200:default",
};
enum { PIECES = sizeof pieces / sizeof *pieces, SOUND = sizeof sound / sizeof *sound, ROUNDS = 30000, LONGEST = 4000 };

static uint64_t state = 88172645463325252u;

static unsigned pick(unsigned below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (unsigned)(state % below);
}

/* Up to three bytes become any others; one in four texts ends early. */
static void spoil(char *text)
{
    size_t length = strlen(text);
    for (unsigned count = pick(4); count > 0 && length > 0; count--)
        text[pick((unsigned)length)] = (char)(1 + pick(255));
    if (length > 0 && pick(4) == 0)
        text[pick((unsigned)length)] = '\0';
}

static void make_text(char *text, size_t room)
{
    unsigned count = pick(12);
    if (pick(3) == 0) {
        snprintf(text, room, "%s", sound[pick(SOUND)]);
        spoil(text);
        return;
    }
    text[0] = '\0';
    for (unsigned i = 0; i < count; i++)
        strncat(text, pieces[pick(PIECES)], room - strlen(text) - 1);
    if (pick(50) == 0) /* now and then a very long one */
        for (size_t end = strlen(text); end + 2 < room; end++)
            text[end] = "x:=1"[pick(4)], text[end + 1] = '\0';
}

/* Rules for partitions 1 and "fast". */
static int read_rules(const char *text, int *taken)
{
    static struct rules rules;
    static struct definitions definitions = {.count = 2, .entry = {{.id = 1, .name = "one"}, {.id = 2, .name = "fast"}}};
    struct message message = {""};
    int status = rules_read(&rules, text, &definitions, &message);
    if ((status == 0) == (message.text[0] != '\0'))
        return -1;
    char *canonical = rules_canonical(&rules);
    int found = canonical ? 0 : -1;
    if (status == 0 && rules_find(&rules, SIZE_MAX, "/usr/lib/fast"))
        *taken += 1;
    free(canonical);
    return found;
}

int main(void)
{
    struct definitions *definitions = malloc(sizeof *definitions);
    char variable[2][LONGEST + 64], text[2][LONGEST];
    int taken = 0, refused = 0, ruled = 0;
    if (!definitions)
        return EXIT_FAILURE;
    for (int round = 0; round < ROUNDS; round++) {
        struct message message = {""};
        for (int i = 0; i < 2; i++) {
            make_text(text[i], sizeof text[i]);
            snprintf(variable[i], sizeof variable[i], "S%s_SYMMETRIC_PARTITION%u=%s", pick(2) ? "HMEM" : "MA",
                     pick(4), text[i]);
            if (pick(20) == 0) /* in the name, too */
                spoil(variable[i]);
        }
        char *environment[] = {pick(2) ? variable[0] : NULL, variable[1], NULL};
        struct program_definition program = {(int)pick(4), pick(2) ? "fast" : NULL, text[0]};
        int status = definitions_read(definitions, environment, "OTHER_SIZE", &program, (int)pick(2), &message);
        if ((status == 0) == (message.text[0] != '\0'))
            return EXIT_FAILURE;
        if (status == 0) {
            char *canonical = definitions_canonical(definitions);
            if (!canonical)
                return EXIT_FAILURE;
            free(canonical);
        }
        if (read_rules(text[1], &ruled) != 0)
            return EXIT_FAILURE;
        taken += status == 0;
        refused += status != 0;
    }
    free(definitions);
    printf("%d taken, %d refused; rules held %d times\n", taken, refused, ruled);
    return taken > 0 && refused > 0 && ruled > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
