# cython: language_level=3
"""An extension module of somebody else, which calls shmem.h on symmetric arrays."""

cimport pyshmem

cdef extern from "shmem.h" nogil:
    ctypedef struct shmem_ctx_t:
        pass
    void shmem_putmem(void *target, const void *source, size_t bytes, int pe)
    long shmem_long_atomic_fetch_add(long *target, long value, int pe)


def put_bytes(target, const unsigned char[::1] source, pe, ctx=None):
    """Put bytes to a PE of a context's team."""
    cdef void *address = pyshmem.symmetric_address(target)
    if source.shape[0] > pyshmem.symmetric_bytes(target):
        raise ValueError("too long")
    shmem_putmem(address, &source[0], source.shape[0], pyshmem.world_pe_of(ctx, pe))


def count_up(target, pe):
    """Add one, and return the value before."""
    return shmem_long_atomic_fetch_add(<long *>pyshmem.symmetric_address(target), 1, pe)


def context_address(ctx):
    """The context as the engine has it."""
    return <size_t>pyshmem.context_handle(ctx)
