/*
 * AVL trees of block records.
 *
 * Invariants: below each block the heights of the two sides differ by at most
 * one, and `heavier` says which side is the higher; all keys differ.  So a tree
 * of 2^32 blocks is at most 46 high, and a path from the root fits in an array:
 * no recursion, and no links to parents in the records.
 *
 * Every search runs down to a leaf and never stops early at an equal key: a
 * step is then a comparison without a jump, and the path ends where a new block
 * is hung, and passes both neighbours in the order of the key that was sought.
 */
#include "tree.h"

enum { HEIGHT = 48 };

/* What `heavier` says when this side is the higher. */
static inline unsigned heavy(unsigned side)
{
    return 1 + side;
}

struct path {
    int length;
    int last_up_to, first_above; /* the steps nearest to the key; -1 if there is none on that side */
    uint32_t step[HEIGHT];
    uint8_t side[HEIGHT]; /* the side to which the path leaves each step */
};

static inline struct block *at(const struct tree *tree, uint32_t index)
{
    return record_at(tree->records, index);
}

static inline uint64_t units(const struct block *block)
{
    return (uint64_t)block->offset_high << 32 | block->offset_low;
}

/* Is the block below the key, or equal to it? */
static inline bool is_up_to(const struct block *block, struct key key, bool by_size)
{
    bool offset_up_to = units(block) <= key.offset / UNIT;
    if (!by_size)
        return offset_up_to;
    size_t size = block_size(block);
    return (size < key.size) | ((size == key.size) & offset_up_to);
}

/* Walk to the place just after the key, at the bottom of the tree. */
static inline void descend(const struct tree *tree, struct key key, bool by_size, struct path *path)
{
    int length = 0, turn[2] = {0, 0};
    for (uint32_t index = tree->root; index != 0;) {
        const struct block *block = at(tree, index);
        unsigned side = is_up_to(block, key, by_size);
        path->step[length] = index;
        path->side[length] = (uint8_t)side;
        length++;
        turn[BELOW] = side == BELOW ? length : turn[BELOW];
        turn[ABOVE] = side == ABOVE ? length : turn[ABOVE];
        index = block->child[side];
    }
    path->length = length;
    path->last_up_to = turn[ABOVE] - 1;
    path->first_above = turn[BELOW] - 1;
}

static void walk(const struct tree *tree, struct key key, struct path *path)
{
    if (tree->by_size)
        descend(tree, key, true, path);
    else
        descend(tree, key, false, path);
}

/* Hang a subtree where the path, cut to `length` steps, ends. */
static void hang(struct tree *tree, const struct path *path, int length, uint32_t index)
{
    if (length == 0)
        tree->root = index;
    else
        at(tree, path->step[length - 1])->child[path->side[length - 1]] = index;
}

/* Raise the inner grandchild to the top. */
static uint32_t rotate_twice(struct tree *tree, struct block *top, uint32_t top_index, unsigned side)
{
    struct block *child = at(tree, top->child[side]);
    uint32_t inner_index = child->child[!side], child_index = top->child[side];
    struct block *inner = at(tree, inner_index);
    child->child[!side] = inner->child[side];
    top->child[side] = inner->child[!side];
    inner->child[side] = child_index;
    inner->child[!side] = top_index;
    top->heavier = inner->heavier == heavy(side) ? heavy(!side) : 0;
    child->heavier = inner->heavier == heavy(!side) ? heavy(side) : 0;
    inner->heavier = 0;
    return inner_index;
}

/* Restore the balance below `index`, which is two higher on one side; returns the new top. */
static uint32_t rebalance(struct tree *tree, uint32_t index, unsigned side)
{
    struct block *top = at(tree, index);
    uint32_t child_index = top->child[side];
    struct block *child = at(tree, child_index);
    if (child->heavier == heavy(!side))
        return rotate_twice(tree, top, index, side);
    top->child[side] = child->child[!side];
    child->child[!side] = index;
    bool was_even = child->heavier == 0; /* only after a removal */
    top->heavier = was_even ? heavy(side) : 0;
    child->heavier = was_even ? heavy(!side) : 0;
    return child_index;
}

/* The subtree at the end of the path has grown by one. */
static void grown(struct tree *tree, const struct path *path)
{
    for (int i = path->length - 1; i >= 0; i--) {
        struct block *block = at(tree, path->step[i]);
        unsigned side = path->side[i];
        if (block->heavier == 0) {
            block->heavier = heavy(side);
            continue;
        }
        if (block->heavier == heavy(side))
            hang(tree, path, i, rebalance(tree, path->step[i], side));
        else
            block->heavier = 0;
        return;
    }
}

/* The subtree at the end of the path has become lower by one. */
static void shrunk(struct tree *tree, const struct path *path)
{
    for (int i = path->length - 1; i >= 0; i--) {
        struct block *block = at(tree, path->step[i]);
        unsigned other = !path->side[i];
        if (block->heavier == 0) {
            block->heavier = heavy(other);
            return;
        }
        if (block->heavier == heavy(other)) {
            uint32_t top = rebalance(tree, path->step[i], other);
            hang(tree, path, i, top);
            if (at(tree, top)->heavier != 0)
                return;
        } else {
            block->heavier = 0;
        }
    }
}

void tree_insert(struct tree *tree, uint32_t index)
{
    struct path path;
    struct block *block = at(tree, index);
    walk(tree, key_of(block), &path);
    block->child[BELOW] = block->child[ABOVE] = 0;
    block->heavier = 0;
    hang(tree, &path, path.length, index);
    grown(tree, &path);
}

static bool has_key(const struct tree *tree, uint32_t index, struct key key)
{
    const struct block *block = at(tree, index);
    return block_offset(block) == key.offset && (!tree->by_size || block_size(block) == key.size);
}

/*
 * Take a step of the path out, one of the two nearest to the key.  The path
 * goes on from it to its neighbour in the order, if it has one below it: that
 * one has no child towards the block, and takes the block's place.
 */
static uint32_t cut(struct tree *tree, struct path *path, int found)
{
    uint32_t index = path->step[found];
    struct block *block = at(tree, index);
    int last = path->length - 1;
    unsigned side = path->side[found];
    if (found == last) {
        hang(tree, path, found, block->child[!side]);
    } else {
        struct block *heir = at(tree, path->step[last]);
        hang(tree, path, last, heir->child[side]);
        heir->child[BELOW] = block->child[BELOW];
        heir->child[ABOVE] = block->child[ABOVE];
        heir->heavier = block->heavier;
        path->step[found] = path->step[last];
        hang(tree, path, found, path->step[last]);
    }
    path->length = last;
    shrunk(tree, path);
    return index;
}

uint32_t tree_remove(struct tree *tree, struct key key)
{
    struct path path;
    walk(tree, key, &path);
    int found = path.last_up_to;
    return found >= 0 && has_key(tree, path.step[found], key) ? cut(tree, &path, found) : 0;
}

uint32_t tree_remove_above(struct tree *tree, struct key key)
{
    struct path path;
    walk(tree, key, &path);
    return path.first_above >= 0 ? cut(tree, &path, path.first_above) : 0;
}

uint32_t tree_at_or_below(const struct tree *tree, struct key key)
{
    uint32_t best = 0;
    for (uint32_t index = tree->root; index != 0;) {
        const struct block *block = at(tree, index);
        bool up_to = is_up_to(block, key, tree->by_size);
        best = up_to ? index : best;
        index = block->child[up_to];
    }
    return best;
}

uint32_t tree_above(const struct tree *tree, struct key key)
{
    uint32_t best = 0;
    for (uint32_t index = tree->root; index != 0;) {
        const struct block *block = at(tree, index);
        bool up_to = is_up_to(block, key, tree->by_size);
        best = up_to ? best : index;
        index = block->child[up_to];
    }
    return best;
}

/* What a walk over a tree has seen: the block before, and how many. */
struct walked {
    uint32_t before, count;
    bool live;
};

/* The height of a subtree, or -1 if anything is wrong with it; never deeper than a balanced tree can be. */
static int checked_height(const struct tree *tree, uint32_t index, int room, struct walked *walked)
{
    if (index == 0)
        return 0;
    if (room == 0)
        return -1;
    const struct block *block = at(tree, index);
    int below = checked_height(tree, block->child[BELOW], room - 1, walked);
    if (below < 0 || block->live != walked->live)
        return -1;
    if (walked->before != 0) {
        const struct block *before = at(tree, walked->before);
        if (!is_up_to(before, key_of(block), tree->by_size) || has_key(tree, walked->before, key_of(block)))
            return -1;
    }
    walked->before = index;
    walked->count++;
    int above = checked_height(tree, block->child[ABOVE], room - 1, walked);
    if (above < 0 || above - below != (block->heavier == 2) - (block->heavier == 1))
        return -1;
    return 1 + (above > below ? above : below);
}

bool tree_is_valid(const struct tree *tree, bool live, uint32_t *count)
{
    struct walked walked = {.live = live};
    bool valid = checked_height(tree, tree->root, HEIGHT, &walked) >= 0;
    *count += walked.count;
    return valid;
}
