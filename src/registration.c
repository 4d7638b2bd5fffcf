/*
 * Whether a network has registered the heap.  The kernel counts what most pin
 * (VmPin), but not all.  A heap that is registered is present from its first
 * page to its last, though, which no other does to it: so one absent page shows
 * that nobody holds it.  Stands on placement.c and huge.c.
 */
#define _GNU_SOURCE
#include "registration.h"

#include "huge.h"
#include "placement.h"
#include "state.h"

/* The agreement's memory was the first that we had of the engine; the heap's end is about its size further. */
enum { BEFORE_OURS = 4 << 20 };

static bool heap_is_present(void)
{
    size_t bytes = library.partitions.heap_bytes;
    return bytes > BEFORE_OURS && placement_is_present(library.agreement, bytes - BEFORE_OURS);
}

void registration_look(void) { library.partitions.registered = huge_pinned_bytes() > 0 || heap_is_present(); }
bool registration_seen(void) { return library.partitions.registered; }
