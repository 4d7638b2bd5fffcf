# Chapters "Point-to-Point Synchronization" and "Memory Ordering".

from cpython.exc cimport PyErr_CheckSignals

cdef extern from "sched.h" nogil:
    int sched_yield()

cdef enum:
    LOOKS_BEFORE_YIELD = 64      # a PE that shares its core lets the one it waits for run
    LOOKS_BEFORE_SIGNALS = 8192  # how often a waiting PE asks Python whether Ctrl-C was pressed

cdef dict comparisons = {
    "==": SHMEM_CMP_EQ, "!=": SHMEM_CMP_NE, ">": SHMEM_CMP_GT, "<=": SHMEM_CMP_LE, "<": SHMEM_CMP_LT,
    ">=": SHMEM_CMP_GE,
}
cdef frozenset comparison_values = frozenset(comparisons.values())


def comparison_numbers():
    """The engine's numbers of the comparisons, for the enumeration ``CMP``."""
    return dict(comparisons)


cdef inline int comparison_from(object cmp) except -1:
    number = comparisons.get(cmp) if isinstance(cmp, str) else cmp
    if number is None or number not in comparison_values:
        raise ValueError(f"cmp must be one of {', '.join(comparisons)} or a member of CMP, not {cmp!r}")
    return number


def wait_until(ivar, cmp, value):
    """Wait until a variable here, which other PEs change, satisfies a comparison (``shmem_wait_until``).

    Parameters
    ----------
    ivar : numpy.ndarray
        Symmetric array of one element, integer or real.
    cmp : CMP or {'==', '!=', '>', '<=', '<', '>='}
        The comparison.
    value : number
        What the variable is compared with; must fit the dtype.

    Notes
    -----
    Other Python threads run meanwhile, and Ctrl-C interrupts the wait.
    """
    cdef cnp.ndarray variable
    cdef int comparison, element, look, satisfied
    cdef scalar operand
    cdef test_function *test
    cdef void *address
    check_running()
    variable = as_array(ivar, "ivar")
    if cnp.PyArray_SIZE(variable) != 1:
        raise ValueError(f"ivar must have one element, not shape {ivar.shape}")
    element = element_of(variable)
    test = engine_tests[element] if element >= 0 else NULL
    if test is NULL:
        raise TypeError(f"OpenSHMEM cannot wait for dtype {variable.dtype}")
    check_symmetric(variable, "ivar")
    comparison = comparison_from(cmp)
    scalar_from(variable, element, value, &operand)
    address = cnp.PyArray_DATA(variable)
    if test(address, comparison, &operand):
        return
    while True:
        with nogil:
            satisfied = 0
            look = 0
            while not satisfied and look < LOOKS_BEFORE_SIGNALS:
                satisfied = test(address, comparison, &operand)
                look += 1
                if look % LOOKS_BEFORE_YIELD == 0:
                    sched_yield()
        if satisfied:
            return
        PyErr_CheckSignals()


def fence(ctx=None):
    """Puts to one PE after this arrive there after those before it (specification: ``shmem_fence``)."""
    check_running()
    check_context(ctx)
    shmem_ctx_fence(SHMEM_CTX_DEFAULT)


def quiet(ctx=None):
    """Wait until all that this PE put is complete everywhere (specification: ``shmem_quiet``)."""
    check_running()
    check_context(ctx)
    with nogil:
        shmem_ctx_quiet(SHMEM_CTX_DEFAULT)
