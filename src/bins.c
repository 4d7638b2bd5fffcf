/*
 * An order of blocks in bins.
 *
 * Invariants: a block is in the bin of its size or offset; the bit of a bin is
 * set if and only if its tree is not empty.  What is in a later bin is larger,
 * so that the bins one after another are one order.
 */
#include "bins.h"

enum { NO_BIN = -1 };

static int highest_bit(uint64_t word)
{
    return 63 - __builtin_clzll(word);
}

/* The first bins are one number of units each; after that, so many bins to a doubling. */
static int bin_of(const struct bins *bins, struct key key)
{
    uint64_t units = (bins->by_size ? key.size : key.offset) / UNIT;
    if (units < BINS_STEPS)
        return (int)units;
    int shift = highest_bit(units) - highest_bit(BINS_STEPS);
    uint64_t bin = (unsigned)shift * BINS_STEPS + (units >> shift);
    return bin < BINS ? (int)bin : BINS - 1;
}

static struct tree tree_of(const struct bins *bins, int bin)
{
    return (struct tree){.records = bins->records, .root = bins->root[bin], .by_size = bins->by_size};
}

static void put_back(struct bins *bins, int bin, const struct tree *tree)
{
    uint64_t bit = UINT64_C(1) << bin % 64;
    bins->root[bin] = tree->root;
    bins->filled[bin / 64] = tree->root != 0 ? bins->filled[bin / 64] | bit : bins->filled[bin / 64] & ~bit;
}

/* The first bin from this one up with anything in it. */
static int filled_from(const struct bins *bins, int bin)
{
    if (bin == BINS)
        return NO_BIN;
    int word = bin / 64;
    uint64_t left = bins->filled[word] & UINT64_MAX << bin % 64;
    while (left == 0 && ++word < BINS_WORDS)
        left = bins->filled[word];
    return left != 0 ? 64 * word + highest_bit(left & -left) : NO_BIN;
}

/* The first bin from this one down with anything in it. */
static int filled_down_from(const struct bins *bins, int bin)
{
    if (bin == NO_BIN)
        return NO_BIN;
    int word = bin / 64;
    uint64_t left = bins->filled[word] & UINT64_MAX >> (63 - bin % 64);
    while (left == 0 && --word >= 0)
        left = bins->filled[word];
    return left != 0 ? 64 * word + highest_bit(left) : NO_BIN;
}

void bins_insert(struct bins *bins, uint32_t index)
{
    int bin = bin_of(bins, key_of(record_at(bins->records, index)));
    struct tree tree = tree_of(bins, bin);
    tree_insert(&tree, index);
    put_back(bins, bin, &tree);
}

uint32_t bins_remove(struct bins *bins, struct key key)
{
    int bin = bin_of(bins, key);
    struct tree tree = tree_of(bins, bin);
    uint32_t index = tree_remove(&tree, key);
    put_back(bins, bin, &tree);
    return index;
}

/* In the three searches only the first bin can fail to have what is sought: at most two trees are searched. */

uint32_t bins_above(const struct bins *bins, struct key key)
{
    uint32_t index = 0;
    for (int bin = bin_of(bins, key); index == 0 && (bin = filled_from(bins, bin)) != NO_BIN; bin++) {
        struct tree tree = tree_of(bins, bin);
        index = tree_above(&tree, key);
    }
    return index;
}

uint32_t bins_remove_above(struct bins *bins, struct key key)
{
    uint32_t index = 0;
    for (int bin = bin_of(bins, key); index == 0 && (bin = filled_from(bins, bin)) != NO_BIN; bin++) {
        struct tree tree = tree_of(bins, bin);
        index = tree_remove_above(&tree, key);
        put_back(bins, bin, &tree);
    }
    return index;
}

uint32_t bins_at_or_below(const struct bins *bins, struct key key)
{
    uint32_t index = 0;
    for (int bin = bin_of(bins, key); index == 0 && (bin = filled_down_from(bins, bin)) != NO_BIN; bin--) {
        struct tree tree = tree_of(bins, bin);
        index = tree_at_or_below(&tree, key);
    }
    return index;
}

static bool is_bin_valid(const struct bins *bins, int bin, bool live, uint32_t *count)
{
    struct tree tree = tree_of(bins, bin);
    bool is_filled = bins->filled[bin / 64] >> bin % 64 & 1;
    if (is_filled != (tree.root != 0) || !tree_is_valid(&tree, live, count))
        return false;
    uint32_t last = tree_at_or_below(&tree, (struct key){SIZE_MAX, SIZE_MAX}), first = last;
    for (uint32_t index = tree.root; index != 0; index = record_at(bins->records, index)->child[BELOW])
        first = index;
    return !is_filled || (bin_of(bins, key_of(record_at(bins->records, first))) == bin &&
                          bin_of(bins, key_of(record_at(bins->records, last))) == bin);
}

bool bins_are_valid(const struct bins *bins, uint32_t count, bool live)
{
    uint32_t found = 0;
    for (int bin = 0; bin < BINS; bin++)
        if (!is_bin_valid(bins, bin, live, &found))
            return false;
    return found == count;
}
