# What other extension modules may use of this one, with `cimport pyshmem` or through the capsules in __pyx_capi__:
# from a symmetric array to what the C functions of shmem.h take.

cdef void *symmetric_address(object array) except NULL
cdef Py_ssize_t symmetric_bytes(object array) except -1
cdef int world_pe_of(object ctx, Py_ssize_t pe) except -1
cdef void *context_handle(object ctx) except? NULL
