/*
 * Transfers beyond one contiguous piece: strided, in strided blocks, and with a
 * signal.  Stands on the engine's sized functions; sizes that the specification
 * has none for go element by element.
 */
#include "has.h"

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
        engine_ib##direction(context, target, source, target_stride, source_stride, 1, count, element_bytes, pe);      \
    }                                                                                                                  \
    void engine_ib##direction(shmem_ctx_t context, void *target, const void *source, ptrdiff_t target_stride,          \
                              ptrdiff_t source_stride, size_t block, size_t count, size_t element_bytes, int pe)       \
    {                                                                                                                  \
        ptrdiff_t target_step = target_stride * (ptrdiff_t)element_bytes;                                              \
        ptrdiff_t source_step = source_stride * (ptrdiff_t)element_bytes;                                              \
        for (ptrdiff_t i = 0; i < (ptrdiff_t)count; i++)                                                               \
            shmem_ctx_##direction##mem(context, (char *)target + i * target_step,                                      \
                                       (const char *)source + i * source_step, block * element_bytes, pe);             \
    }

DEFINE(put)
DEFINE(get)

_Static_assert(sizeof(unsigned long) == sizeof(uint64_t), "a signal is an unsigned long here");

void engine_signal(shmem_ctx_t context, uint64_t *signal, uint64_t value, int operation, int pe)
{
    if (operation == ENGINE_SIGNAL_ADD)
        shmem_ctx_ulong_atomic_add(context, signal, value, pe);
    else
        shmem_ctx_ulong_atomic_set(context, signal, value, pe);
}

#if ENGINE_HAS_SIGNALS

static int native_signal(int operation) { return operation == ENGINE_SIGNAL_ADD ? SHMEM_SIGNAL_ADD : SHMEM_SIGNAL_SET; }

void engine_put_signal(shmem_ctx_t context, void *target, const void *source, size_t bytes, uint64_t *signal,
                       uint64_t value, int operation, int pe)
{
    if (bytes == 0) { /* an empty array has no address to put to */
        engine_signal(context, signal, value, operation, pe);
        return;
    }
    shmem_ctx_putmem_signal(context, target, source, bytes, signal, value, native_signal(operation), pe);
}

void engine_put_signal_nbi(shmem_ctx_t context, void *target, const void *source, size_t bytes, uint64_t *signal,
                           uint64_t value, int operation, int pe)
{
    if (bytes == 0) {
        engine_signal(context, signal, value, operation, pe);
        return;
    }
    shmem_ctx_putmem_signal_nbi(context, target, source, bytes, signal, value, native_signal(operation), pe);
}

#else

/* The fence puts the signal behind the data, on the way to the one PE that gets both. */
void engine_put_signal(shmem_ctx_t context, void *target, const void *source, size_t bytes, uint64_t *signal,
                       uint64_t value, int operation, int pe)
{
    if (bytes > 0)
        shmem_ctx_putmem(context, target, source, bytes, pe);
    shmem_ctx_fence(context);
    engine_signal(context, signal, value, operation, pe);
}

void engine_put_signal_nbi(shmem_ctx_t context, void *target, const void *source, size_t bytes, uint64_t *signal,
                           uint64_t value, int operation, int pe)
{
    if (bytes > 0)
        shmem_ctx_putmem_nbi(context, target, source, bytes, pe);
    shmem_ctx_fence(context);
    engine_signal(context, signal, value, operation, pe);
}

#endif

void engine_pe_quiet(shmem_ctx_t context, const int *pes, size_t count)
{
#if ENGINE_HAS_PE_QUIET
    shmem_ctx_pe_quiet(context, pes, count);
#else
    (void)pes, (void)count; /* completing all is more than was asked */
    shmem_ctx_quiet(context);
#endif
}
