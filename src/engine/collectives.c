/* Collectives on all PEs: the engine's own where it has one for the case, else the one we supply. */
#include "collectives.h"

int engine_broadcast(void *target, const void *source, size_t bytes, int root)
{
    if (bytes > 0 && native_broadcast(target, source, bytes, root) != 0)
        supplied_broadcast(target, source, bytes, root);
    return 0;
}

int engine_fcollect(void *target, const void *source, size_t bytes)
{
    if (bytes > 0 && native_fcollect(target, source, bytes) != 0)
        supplied_fcollect(target, source, bytes);
    return 0;
}

int engine_alltoall(void *target, const void *source, size_t bytes)
{
    if (bytes > 0 && native_alltoall(target, source, bytes) != 0)
        supplied_alltoall(target, source, bytes);
    return 0;
}

bool engine_can_reduce(enum reduction reduction, enum element element)
{
    return native_reductions[reduction][element] || supplied_can_reduce(reduction, element);
}

int engine_reduce(enum reduction reduction, enum element element, void *target, const void *source, size_t count)
{
    reduce_function *native = native_reductions[reduction][element];
    if (count == 0)
        return 0;
    if (!native)
        return supplied_reduce(reduction, element, target, source, count);
    native(target, source, count);
    return 0;
}
