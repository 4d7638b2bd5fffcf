/*
 * Strided transfers of any element size, on the engine's sized functions; sizes
 * that the specification has none for go element by element.
 */
#include "engine.h"

#define EACH_SIZE(X) X(1, 8) X(2, 16) X(4, 32) X(8, 64) X(16, 128)

void engine_iput(shmem_ctx_t context, void *target, const void *source, ptrdiff_t target_stride,
                 ptrdiff_t source_stride, size_t count, size_t element_bytes, int pe)
{
    switch (element_bytes) {
#define CASE(bytes, bits)                                                                                              \
    case bytes:                                                                                                        \
        shmem_ctx_iput##bits(context, target, source, target_stride, source_stride, count, pe);                        \
        return;
        EACH_SIZE(CASE)
#undef CASE
    }
    for (size_t i = 0; i < count; i++)
        shmem_ctx_putmem(context, (char *)target + (ptrdiff_t)i * target_stride * (ptrdiff_t)element_bytes,
                         (const char *)source + (ptrdiff_t)i * source_stride * (ptrdiff_t)element_bytes, element_bytes,
                         pe);
}

void engine_iget(shmem_ctx_t context, void *target, const void *source, ptrdiff_t target_stride,
                 ptrdiff_t source_stride, size_t count, size_t element_bytes, int pe)
{
    switch (element_bytes) {
#define CASE(bytes, bits)                                                                                              \
    case bytes:                                                                                                        \
        shmem_ctx_iget##bits(context, target, source, target_stride, source_stride, count, pe);                        \
        return;
        EACH_SIZE(CASE)
#undef CASE
    }
    for (size_t i = 0; i < count; i++)
        shmem_ctx_getmem(context, (char *)target + (ptrdiff_t)i * target_stride * (ptrdiff_t)element_bytes,
                         (const char *)source + (ptrdiff_t)i * source_stride * (ptrdiff_t)element_bytes, element_bytes,
                         pe);
}
