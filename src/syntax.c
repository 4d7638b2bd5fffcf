/*
 * The syntax of one definition, "size=512M:kind=FASTMEM": text to values.  Stands
 * on message.c alone.  The text is input from anybody: nothing in it is trusted,
 * and a fault is shown with the place where it is.
 */
#define _GNU_SOURCE
#include "syntax.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { CONTEXT = 60, SHOWN_WORD = 24, LONGEST_WORD = 32, MISSPELT = 2 };

/* ---- faults ---------------------------------------------------------------------------------------------------- */

/* Characters as they can be shown, one line whatever they are; the number of columns that they take. */
static size_t show(struct message *message, const char *text, size_t length)
{
    size_t columns = 0;
    for (size_t i = 0; i < length; i++) {
        unsigned char letter = (unsigned char)text[i];
        bool plain = letter >= ' ' && letter < 0x7f;
        message_add(message, plain ? "%c" : "\\x%02x", letter);
        columns += plain ? 1 : 4;
    }
    return columns;
}

static void repeat(struct message *message, char letter, size_t times)
{
    while (times-- > 0)
        message_add(message, "%c", letter);
}

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

/* The text with the marked part and what is around it; the columns before the mark and of the mark itself. */
static void show_around(struct message *message, struct written written, size_t from, size_t length, size_t *before,
                        size_t *marked)
{
    size_t end = strlen(written.value);
    size_t start = from > CONTEXT ? from - CONTEXT : 0;
    size_t shown_length = least(least(length, CONTEXT), end - from), after = from + shown_length;
    *before = show(message, written.label, least(strlen(written.label), CONTEXT)) + 1;
    message_add(message, start ? "=..." : "=");
    *before += start ? 3 : 0;
    *before += show(message, written.value + start, from - start);
    *marked = show(message, written.value + from, shown_length);
    show(message, written.value + after, least(end - after, CONTEXT));
    message_add(message, end - after > CONTEXT ? "...\n" : "\n");
}

void syntax_show_name(struct message *message, const char *name)
{
    show(message, name, least(strlen(name), CONTEXT));
}

void syntax_show(struct message *message, struct written written)
{
    size_t before, marked;
    show_around(message, written, 0, least(strlen(written.value), CONTEXT), &before, &marked);
}

int syntax_fault(struct message *message, struct written written, size_t from, size_t length, const char *format, ...)
{
    size_t before, marked;
    char sentence[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    message_set(message, "%s", "");
    show_around(message, written, from, length, &before, &marked);
    repeat(message, ' ', before);
    message_add(message, "^");
    repeat(message, '~', marked > 1 ? marked - 1 : 0);
    message_add(message, "\n%s", sentence);
    return -1;
}

/* ---- words ------------------------------------------------------------------------------------------------------- */

struct word {
    const char *text;
    int value;
};

enum key { KEY_SIZE, KEY_KIND, KEY_POLICY, KEY_PGSIZE, KEY_NAME, KEY_FALLBACK, KEY_COUNT };

static const struct word keys[] = {
    {"size", KEY_SIZE}, {"kind", KEY_KIND}, {"policy", KEY_POLICY}, {"pgsize", KEY_PGSIZE}, {"name", KEY_NAME},
    {"fallback", KEY_FALLBACK}, {0}};
static const struct word kinds[] = {
    {"DEFAULT", KIND_DEFAULT}, {"FASTMEM", KIND_FASTMEM}, {"DDR", KIND_DRAM},   {"DRAM", KIND_DRAM},
    {"MCDRAM", KIND_MCDRAM},   {"HBM", KIND_HBM},         {"CXL", KIND_CXL},    {"CAPACITY", KIND_CAPACITY},
    {"NVM", KIND_NVM},         {"GPU", KIND_GPU},         {"D", KIND_DEFAULT},  {"F", KIND_FASTMEM},
    {0}};
static const struct word policies[] = {
    {"MANDATORY", POLICY_MANDATORY},     {"PREFERRED", POLICY_PREFERRED}, {"INTERLEAVED", POLICY_INTERLEAVED},
    {"M", POLICY_MANDATORY},             {"P", POLICY_PREFERRED},         {"I", POLICY_INTERLEAVED},
    {0}};
static const struct word reaches[] = {{"LOCAL", REACH_LOCAL}, {"ALL", REACH_ALL}, {0}};

static bool is_word(const char *text, size_t length, const char *word)
{
    return strlen(word) == length && strncasecmp(text, word, length) == 0;
}

static int find_word(const struct word *words, const char *text, size_t length)
{
    for (; words->text; words++)
        if (is_word(text, length, words->text))
            return words->value;
    return -1;
}

/* How many letters must change to make one word of the other (Levenshtein). */
static size_t word_distance(const char *text, size_t length, const char *word)
{
    size_t row[LONGEST_WORD + 1], columns = strlen(word);
    for (size_t j = 0; j <= columns; j++)
        row[j] = j;
    for (size_t i = 1; i <= length; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= columns; j++) {
            size_t above = row[j];
            bool equal = tolower((unsigned char)text[i - 1]) == tolower((unsigned char)word[j - 1]);
            row[j] = least(least(above, row[j - 1]) + 1, diagonal + !equal);
            diagonal = above;
        }
    }
    return row[columns];
}

bool syntax_is_nearly(const char *text, size_t length, const char *word)
{
    size_t right = strlen(word);
    return length + MISSPELT >= right && length <= right + MISSPELT && word_distance(text, length, word) <= MISSPELT;
}

static const char *nearest_word(const struct word *words, const char *text, size_t length)
{
    const char *nearest = NULL;
    size_t distance = MISSPELT + 1; /* more than two letters off is no misspelling */
    for (; length <= LONGEST_WORD && words->text; words++) {
        size_t this_distance = word_distance(text, length, words->text);
        if (this_distance < distance && this_distance < strlen(words->text)) {
            distance = this_distance;
            nearest = words->text;
        }
    }
    return nearest;
}

static int fault_unknown(struct message *message, struct written written, size_t from, size_t length,
                         const struct word *words, const char *what, const char *all)
{
    const char *text = written.value + from, *nearest = nearest_word(words, text, length);
    struct message shown = {""};
    show(&shown, text, least(length, SHOWN_WORD));
    return syntax_fault(message, written, from, length, "unknown %s \"%s%s\"%s%s%s %s.", what, shown.text,
                        length > SHOWN_WORD ? "..." : "", nearest ? "; did you mean \"" : "",
                        nearest ? nearest : "", nearest ? "\"?" : ".", all);
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

__extension__ typedef unsigned __int128 wide;

static const char size_form[] = "a size is a decimal number with an optional suffix K, M, G or T, like 512M or 1.5g";

static size_t digits_at(const char *text, size_t length)
{
    size_t count = 0;
    while (count < length && isdigit((unsigned char)text[count]))
        count++;
    return count;
}

/* The shift of a suffix, -1 for another letter. */
static int unit_shift(char suffix)
{
    static const char suffixes[] = "KMGT";
    const char *found = strchr(suffixes, toupper((unsigned char)suffix));
    return found && suffix ? 10 * (int)(found - suffixes + 1) : -1;
}

/* whole.fraction << shift, a part of a byte counting as one; false if it does not fit. */
static bool scale(const char *whole, size_t whole_digits, const char *fraction, size_t fraction_digits, int shift,
                  size_t *bytes)
{
    enum { EXACT_DIGITS = 18 };
    wide value = 0, part = 0, power = 1;
    bool more = false;
    for (size_t i = 0; i < whole_digits; i++) {
        value = value * 10 + (wide)(whole[i] - '0');
        if (value > SIZE_MAX)
            return false;
    }
    for (size_t i = 0; i < fraction_digits; i++) {
        if (i >= EXACT_DIGITS) {
            more |= fraction[i] != '0';
            continue;
        }
        part = part * 10 + (wide)(fraction[i] - '0');
        power *= 10;
    }
    part <<= shift;
    value = (value << shift) + part / power + (part % power != 0 || more);
    if (value > SIZE_MAX)
        return false;
    *bytes = (size_t)value;
    return true;
}

int syntax_size(struct written written, size_t from, size_t length, size_t *bytes, struct message *message)
{
    const char *text = written.value + from;
    size_t whole = digits_at(text, length), fraction = 0, used = whole;
    int shift = 0;
    if (whole == 0)
        return syntax_fault(message, written, from, length, "this is no size: %s.", size_form);
    if (used < length && text[used] == '.') {
        fraction = digits_at(text + used + 1, length - used - 1);
        if (fraction == 0)
            return syntax_fault(message, written, from, length, "digits are missing after the point: %s.", size_form);
        used += 1 + fraction;
    }
    if (used < length && (shift = unit_shift(text[used])) > 0)
        used++;
    if (used < length || shift < 0)
        return syntax_fault(message, written, from + used, length - used, "this does not belong to a size: %s.",
                            size_form);
    if (!scale(text, whole, text + whole + 1, fraction, shift, bytes) || *bytes > (size_t)1 << 62)
        return syntax_fault(message, written, from, length, "this size is more than any machine can address.");
    if (*bytes == 0)
        return syntax_fault(message, written, from, length, "a size of zero holds nothing: give at least one byte.");
    return 0;
}

static int read_node(const char *text, size_t length, size_t *used)
{
    size_t digits = digits_at(text, length);
    *used = digits;
    if (digits == 0 || digits > 4)
        return -1;
    int node = atoi(text);
    return node < NODESET_BITS ? node : -1;
}

/* The list of NODES(...), "0,4-7". */
static int read_nodes(struct nodeset *nodes, struct written written, size_t from, size_t length, struct message *message)
{
    static const char form[] = "NODES() takes NUMA node numbers from 0 to 1023, like NODES(0,4-7)";
    size_t place = 0;
    do {
        size_t used;
        int first = read_node(written.value + from + place, length - place, &used), last = first;
        size_t start = place;
        place += used;
        if (first >= 0 && place < length && written.value[from + place] == '-') {
            place++;
            last = read_node(written.value + from + place, length - place, &used);
            place += used;
        }
        if (first < 0 || last < first || (place < length && written.value[from + place] != ','))
            return syntax_fault(message, written, from + start, length > start ? length - start : 1, "%s.", form);
        for (int node = first; node <= last; node++)
            nodeset_add(nodes, node);
    } while (place++ < length);
    return 0;
}

static int read_one_kind(struct definition *definition, struct written written, size_t from, size_t length,
                         struct message *message)
{
    int kind = find_word(kinds, written.value + from, length);
    if (kind < 0)
        return fault_unknown(message, written, from, length, kinds, "kind",
                             "The kinds are DEFAULT, FASTMEM, DDR, MCDRAM, HBM, CAPACITY, CXL, NVM, GPU and "
                             "NODES(<list>)");
    if (definition->kinds & 1u << kind)
        return syntax_fault(message, written, from, length, "%s is in the sum already.", kind_name((enum kind)kind));
    definition->kinds |= 1u << kind;
    return 0;
}

/* One kind, or several with + between them. */
static int read_kinds(struct definition *definition, struct written written, size_t from, size_t length,
                      struct message *message)
{
    static const char prefix[] = "NODES(";
    const char *text = written.value + from;
    size_t opening = sizeof prefix - 1;
    definition->kinds = 0;
    if (length > opening && strncasecmp(text, prefix, opening) == 0 && text[length - 1] == ')') {
        definition->kinds = 1u << KIND_NODES;
        return read_nodes(&definition->nodes, written, from + opening, length - opening - 1, message);
    }
    for (size_t place = 0, part; place <= length; place += part + 1) {
        const char *plus = memchr(text + place, '+', length - place);
        part = plus ? (size_t)(plus - text) - place : length - place;
        if (part == 0)
            return syntax_fault(message, written, from, length, "a kind is missing beside the +, as in FASTMEM+DDR.");
        if (read_one_kind(definition, written, from + place, part, message) != 0)
            return -1;
    }
    if (definition->kinds & 1u << KIND_DEFAULT && definition->kinds != 1u << KIND_DEFAULT)
        return syntax_fault(message, written, from, length,
                            "DEFAULT is bound to no nodes and cannot be part of a sum; write DDR for ordinary memory.");
    return 0;
}

/* "PREFERRED", or "PREFERRED,local". */
int syntax_kinds(struct definition *definition, struct written written, struct message *message)
{
    return read_kinds(definition, written, 0, strlen(written.value), message);
}

static int read_policy(struct definition *definition, struct written written, size_t from, size_t length,
                       struct message *message)
{
    const char *text = written.value + from, *comma = memchr(text, ',', length);
    size_t first = comma ? (size_t)(comma - text) : length;
    int policy = find_word(policies, text, first);
    if (policy < 0)
        return fault_unknown(message, written, from, first > 0 ? first : 1, policies, "policy",
                             "The policies are MANDATORY, PREFERRED and INTERLEAVED, and may be followed by ,local or "
                             ",all");
    definition->policy = (enum policy)policy;
    if (!comma)
        return 0;
    size_t second = length - first - 1;
    int reach = find_word(reaches, comma + 1, second);
    if (reach < 0)
        return fault_unknown(message, written, from + first + 1, second > 0 ? second : 1, reaches, "word",
                             "After a policy comes local (the nodes near a PE) or all (all nodes of the kind)");
    definition->reach = (enum reach)reach;
    return 0;
}

static int read_page_size(struct definition *definition, struct written written, size_t from, size_t length,
                          struct message *message)
{
    definition->transparent_huge = is_word(written.value + from, length, "THP");
    if (definition->transparent_huge)
        return 0;
    if (syntax_size(written, from, length, &definition->page_size, message) != 0)
        return -1;
    if (definition->page_size & (definition->page_size - 1))
        return syntax_fault(message, written, from, length, "a page size is a power of two, like 4K, 2M or 1G, or THP.");
    return 0;
}

static int read_word_of_name(char *into, struct written written, size_t from, size_t length, struct message *message)
{
    const char *text = written.value + from;
    bool good = length > 0 && length < NAME_SIZE && isalpha((unsigned char)text[0]) && (unsigned char)text[0] < 0x80;
    for (size_t i = 0; good && i < length; i++)
        good = (unsigned char)text[i] < 0x80 && (isalnum((unsigned char)text[i]) || text[i] == '_' || text[i] == '-');
    if (!good)
        return syntax_fault(message, written, from, length > 0 ? length : 1,
                            "a name is a letter followed by letters, digits, _ or -, of at most %d characters.",
                            NAME_SIZE - 1);
    memcpy(into, text, length);
    into[length] = '\0';
    return 0;
}

static int read_name(struct definition *definition, struct written written, size_t from, size_t length,
                     struct message *message)
{
    return read_word_of_name(definition->name, written, from, length, message);
}

static int read_fallback(struct definition *definition, struct written written, size_t from, size_t length,
                         struct message *message)
{
    return read_word_of_name(definition->fallback, written, from, length, message);
}

static int read_plain_size(struct definition *definition, struct written written, size_t from, size_t length,
                           struct message *message)
{
    return syntax_size(written, from, length, &definition->size, message);
}

typedef int value_reader(struct definition *definition, struct written written, size_t from, size_t length,
                         struct message *message);

static value_reader *const readers[KEY_COUNT] = {[KEY_SIZE] = read_plain_size,
                                                 [KEY_KIND] = read_kinds,
                                                 [KEY_POLICY] = read_policy,
                                                 [KEY_PGSIZE] = read_page_size,
                                                 [KEY_NAME] = read_name,
                                                 [KEY_FALLBACK] = read_fallback};

/* ---- the whole --------------------------------------------------------------------------------------------------- */

/* One "key=value"; `seen` remembers the keys that came before. */
static int read_pair(struct definition *definition, struct written written, size_t from, size_t length, unsigned *seen,
                     struct message *message)
{
    static const char all[] = "The keys are size, kind, policy, pgsize, name and fallback";
    const char *text = written.value + from, *equals = memchr(text, '=', length);
    size_t key_length = equals ? (size_t)(equals - text) : length;
    int key = find_word(keys, text, key_length);
    if (key < 0 && key_length > 0)
        return fault_unknown(message, written, from, key_length, keys, "key", all);
    if (key < 0 || !equals)
        return syntax_fault(message, written, from, length > 0 ? length : 1,
                            "a key and its value are wanted here, like size=512M. %s.", all);
    if (*seen & 1u << key)
        return syntax_fault(message, written, from, length, "\"%s\" was given before; each key may come once.",
                            keys[key].text);
    *seen |= 1u << key;
    size_t value_from = from + key_length + 1, value_length = length - key_length - 1;
    if (value_length == 0)
        return syntax_fault(message, written, from, length, "\"%s\" has no value.", keys[key].text);
    return readers[key](definition, written, value_from, value_length, message);
}

/* What the keys mean only together. */
static int check_together(struct definition *definition, unsigned seen, struct written written, struct message *message)
{
    size_t end = strlen(written.value);
    if (!(seen & 1u << KEY_KIND))
        definition->kinds = 1u << KIND_DEFAULT;
    bool bound = !definition_is(definition, KIND_DEFAULT);
    if (!bound && (seen & 1u << KEY_POLICY))
        return syntax_fault(message, written, 0, end,
                            "a policy needs a kind: memory of kind DEFAULT is bound to no nodes. Add kind=FASTMEM, "
                            "or leave the policy out.");
    if (definition_is(definition, KIND_NODES) && definition->reach != REACH_DEFAULT)
        return syntax_fault(message, written, 0, end,
                            "NODES() says itself which nodes: leave local or all out of the policy.");
    if (bound && !(seen & 1u << KEY_POLICY))
        definition->policy = POLICY_MANDATORY;
    return 0;
}

int syntax_definition(struct definition *definition, struct written written, struct message *message)
{
    unsigned seen = 0;
    size_t from = 0, end = strlen(written.value);
    if (end == 0)
        return syntax_fault(message, written, 0, 1, "the definition is empty; it needs a size at least: size=512M.");
    while (from <= end) {
        size_t length = strcspn(written.value + from, ":");
        if (read_pair(definition, written, from, length, &seen, message) != 0)
            return -1;
        from += length + 1;
    }
    if (!(seen & 1u << KEY_SIZE))
        return syntax_fault(message, written, 0, end, "the size is missing: add size=512M, or what is wanted.");
    return check_together(definition, seen, written, message);
}
