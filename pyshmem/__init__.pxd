# For Cython: from a symmetric array, a context and a PE's number in it to what the C functions of shmem.h take.
#
#     cimport pyshmem
#     address = pyshmem.symmetric_address(array)      # contiguous and in symmetric memory, or an exception
#     bytes = pyshmem.symmetric_bytes(array)
#     pe = pyshmem.world_pe_of(ctx, pe)               # ctx: None or a Ctx
#     context = <shmem_ctx_t>pyshmem.context_handle(ctx)

from pyshmem._core.binding cimport context_handle, symmetric_address, symmetric_bytes, world_pe_of
