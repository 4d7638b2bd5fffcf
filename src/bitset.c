/* Sets of nodes as text; all else of bitset.h is inline.  Stands on the C library alone. */
#include "bitset.h"

#include <stdio.h>

static size_t append_range(char *text, size_t size, size_t used, int first, int last)
{
    const char *comma = used ? "," : "";
    int length = first == last ? snprintf(text + used, size - used, "%s%d", comma, first)
                               : snprintf(text + used, size - used, "%s%d-%d", comma, first, last);
    return length < 0 || (size_t)length >= size - used ? size : used + (size_t)length;
}

const char *nodeset_text(const struct nodeset *set, char *text, size_t size)
{
    size_t used = 0;
    snprintf(text, size, "none");
    for (int node = 0; node < NODESET_BITS; node++) {
        if (!nodeset_has(set, node))
            continue;
        int first = node;
        while (node + 1 < NODESET_BITS && nodeset_has(set, node + 1))
            node++;
        used = append_range(text, size, used, first, node);
        if (used == size) { /* too many to show: say that there are more */
            if (size > 4)
                memcpy(text + size - 4, "...", 4);
            break;
        }
    }
    return text;
}
