/*
 * Sets of NUMA nodes and of CPUs as plain data, wide enough for every Linux
 * machine.  The words are laid out as the kernel's own masks, so that a set
 * goes to mbind as it is, and can be sent to another PE.
 */
#ifndef SHMEM_PARTITION_BITSET_H
#define SHMEM_PARTITION_BITSET_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

enum { BITS_PER_WORD = 8 * sizeof(unsigned long) };
enum { NODESET_BITS = 1024, CPUSET_BITS = 8192 };

struct nodeset {
    unsigned long word[NODESET_BITS / BITS_PER_WORD];
};

struct cpuset {
    unsigned long word[CPUSET_BITS / BITS_PER_WORD];
};

static inline void bits_add(unsigned long *word, int bit)
{
    word[bit / BITS_PER_WORD] |= 1UL << (bit % BITS_PER_WORD);
}

static inline bool bits_has(const unsigned long *word, int bit)
{
    return word[bit / BITS_PER_WORD] >> (bit % BITS_PER_WORD) & 1;
}

static inline int bits_count(const unsigned long *word, size_t words)
{
    int count = 0;
    for (size_t i = 0; i < words; i++)
        count += __builtin_popcountl(word[i]);
    return count;
}

static inline bool bits_intersect(const unsigned long *a, const unsigned long *b, size_t words)
{
    for (size_t i = 0; i < words; i++)
        if (a[i] & b[i])
            return true;
    return false;
}

/* True if every bit of `inner` is in `outer`. */
static inline bool bits_within(const unsigned long *inner, const unsigned long *outer, size_t words)
{
    for (size_t i = 0; i < words; i++)
        if (inner[i] & ~outer[i])
            return false;
    return true;
}

static inline void nodeset_add(struct nodeset *set, int node) { bits_add(set->word, node); }
static inline bool nodeset_has(const struct nodeset *set, int node) { return bits_has(set->word, node); }
static inline void cpuset_add(struct cpuset *set, int cpu) { bits_add(set->word, cpu); }
static inline bool cpuset_has(const struct cpuset *set, int cpu) { return bits_has(set->word, cpu); }

#define SET_WORDS(set) (sizeof((set)->word) / sizeof((set)->word[0]))

static inline int nodeset_count(const struct nodeset *set) { return bits_count(set->word, SET_WORDS(set)); }

static inline bool nodeset_within(const struct nodeset *inner, const struct nodeset *outer)
{
    return bits_within(inner->word, outer->word, SET_WORDS(inner));
}

static inline bool cpuset_intersects(const struct cpuset *a, const struct cpuset *b)
{
    return bits_intersect(a->word, b->word, SET_WORDS(a));
}

/* The nodes as people write them ("0,4-7"; "none"); `text` holds `size` bytes and is returned. */
const char *nodeset_text(const struct nodeset *set, char *text, size_t size);

#endif
