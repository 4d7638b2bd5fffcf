/*
 * Strided transfers of any element size, on the engine's sized functions; sizes
 * that the specification has none for go element by element.
 */
#include "engine.h"

#define EACH_SIZE(X, direction) X(1, 8, direction) X(2, 16, direction) X(4, 32, direction) X(8, 64, direction)         \
    X(16, 128, direction)

#define CASE(bytes, bits, direction)                                                                                   \
    case bytes:                                                                                                        \
        shmem_ctx_i##direction##bits(context, target, source, target_stride, source_stride, count, pe);                \
        return;

#define DEFINE(direction)                                                                                              \
    void engine_i##direction(shmem_ctx_t context, void *target, const void *source, ptrdiff_t target_stride,           \
                             ptrdiff_t source_stride, size_t count, size_t element_bytes, int pe)                      \
    {                                                                                                                  \
        switch (element_bytes) { EACH_SIZE(CASE, direction) }                                                          \
        ptrdiff_t target_step = target_stride * (ptrdiff_t)element_bytes;                                              \
        ptrdiff_t source_step = source_stride * (ptrdiff_t)element_bytes;                                              \
        for (ptrdiff_t i = 0; i < (ptrdiff_t)count; i++)                                                               \
            shmem_ctx_##direction##mem(context, (char *)target + i * target_step,                                      \
                                       (const char *)source + i * source_step, element_bytes, pe);                     \
    }

DEFINE(put)
DEFINE(get)
