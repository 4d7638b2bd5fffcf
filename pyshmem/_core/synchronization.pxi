# Chapter "Point-To-Point Synchronization Routines": looking at variables here that other PEs change.

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
cdef dict comparison_words = {
    **comparisons, "eq": SHMEM_CMP_EQ, "ne": SHMEM_CMP_NE, "gt": SHMEM_CMP_GT, "le": SHMEM_CMP_LE, "lt": SHMEM_CMP_LT,
    "ge": SHMEM_CMP_GE,
}
cdef frozenset comparison_values = frozenset(comparisons.values())


def comparison_numbers():
    """The engine's numbers of the comparisons, for the enumeration ``CMP``."""
    return dict(comparisons)


cdef inline int comparison_from(object cmp) except -1:
    cdef int overflow = 0
    cdef long long given
    if isinstance(cmp, int):        # members of CMP as well, by far the most common
        given = PyLong_AsLongLongAndOverflow(cmp, &overflow)
        if not overflow and (given == SHMEM_CMP_EQ or given == SHMEM_CMP_NE or given == SHMEM_CMP_GT or given == SHMEM_CMP_LE
                             or given == SHMEM_CMP_LT or given == SHMEM_CMP_GE):
            return <int>given
    return comparison_in_general(cmp)


cdef int comparison_in_general(object cmp) except -1:
    number = comparison_words.get(cmp.lower()) if isinstance(cmp, str) else cmp
    if number is None or number not in comparison_values:
        raise ValueError(f"cmp must be one of {', '.join(comparisons)} or a member of CMP, not {cmp!r}")
    return number


cdef test_function *test_of(cnp.ndarray variables) except NULL:
    """All that can be wrong with what is waited for; the function that looks at it."""
    cdef int element = element_of(variables)
    if element < 0 or engine_tests[element] is NULL:
        raise TypeError(f"OpenSHMEM cannot wait for dtype {variables.dtype}")
    check_layout(variables, "ivars")
    check_symmetric(variables, "ivars")
    return engine_tests[element]


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
    cdef int comparison, look, satisfied = 0
    cdef scalar operand
    cdef test_function *test
    cdef void *address
    check_running()
    variable = as_array(ivar, "ivar")
    if length_of(variable) != 1:
        raise_not_one_element(variable, "ivar")
    test = test_of(variable)
    comparison = comparison_from(cmp)
    scalar_from(variable, element_of(variable), value, &operand)
    address = cnp.PyArray_DATA(variable)
    if test(address, comparison, &operand):
        return
    while not satisfied:
        with nogil:
            look = 0
            while not satisfied and look < LOOKS_BEFORE_SIGNALS:
                satisfied = test(address, comparison, &operand)
                look += 1
                if look % LOOKS_BEFORE_YIELD == 0:
                    sched_yield()
        if not satisfied:
            PyErr_CheckSignals()


def test(ivar, cmp, value):
    """Whether a variable here satisfies a comparison now (specification: ``shmem_test``).

    Parameters
    ----------
    ivar, cmp, value
        As for ``wait_until``.
    """
    cdef cnp.ndarray variable
    cdef scalar operand
    cdef test_function *look
    cdef int comparison
    check_running()
    variable = as_array(ivar, "ivar")
    if length_of(variable) != 1:
        raise_not_one_element(variable, "ivar")
    look = test_of(variable)
    comparison = comparison_from(cmp)
    scalar_from(variable, element_of(variable), value, &operand)
    return bool(look(cnp.PyArray_DATA(variable), comparison, &operand))


# ---- many variables --------------------------------------------------------------------------------------------------

cdef class Watch:
    """Variables, what each is compared with, and which of them do not count."""

    cdef cnp.ndarray variables, values, status      # values: one, or one for each
    cdef test_function *test
    cdef int comparison
    cdef Py_ssize_t count, satisfied, next
    cdef Py_ssize_t *found                          # the indices of those that are satisfied
    cdef object found_memory

    def __cinit__(self, ivars, cmp, values, status, bint vector):
        cdef scalar operand
        check_running()
        self.variables = as_array(ivars, "ivars")
        self.test = test_of(self.variables)
        self.comparison = comparison_from(cmp)
        self.count = cnp.PyArray_SIZE(self.variables)
        if vector:
            self.values = self.checked_values(values)
        else:
            scalar_from(self.variables, element_of(self.variables), values, &operand)
            self.values = np.empty(1, self.variables.dtype)
            memcpy(cnp.PyArray_DATA(self.values), &operand, cnp.PyArray_ITEMSIZE(self.variables))
        self.status = None
        if status is not None:
            self.status = np.ascontiguousarray(status, dtype=np.intc).reshape(-1)
            if cnp.PyArray_SIZE(self.status) < self.count:
                raise ValueError(f"status has {len(self.status)} elements, ivars {self.count}")
        self.found_memory = np.empty(self.count, dtype=np.intp)
        self.found = <Py_ssize_t *>cnp.PyArray_DATA(<cnp.ndarray>self.found_memory)

    cdef cnp.ndarray checked_values(self, object values):
        given = np.asarray(values)
        if given.size < self.count:
            raise ValueError(f"values has {given.size} elements, ivars {self.count}")
        if given.size and given.dtype.kind in "iu" and self.variables.dtype.kind in "iu":
            check_range(int(given.min()), self.variables.dtype)     # whole numbers of any width will do if they fit
            check_range(int(given.max()), self.variables.dtype)
        elif given.size and not np.can_cast(given.dtype, self.variables.dtype, "same_kind"):
            raise TypeError(f"values of dtype {given.dtype} do not fit dtype {self.variables.dtype}")
        return np.ascontiguousarray(given, dtype=self.variables.dtype).reshape(-1)

    cdef bint counts(self, Py_ssize_t i) noexcept nogil:
        return self.status is None or (<int *>cnp.PyArray_DATA(self.status))[i] == 0

    cdef bint holds(self, Py_ssize_t i) noexcept nogil:
        cdef Py_ssize_t bytes = cnp.PyArray_ITEMSIZE(self.variables)
        cdef char *value = <char *>cnp.PyArray_DATA(self.values)
        return self.test(<char *>cnp.PyArray_DATA(self.variables) + i * bytes, self.comparison,
                         <const scalar *>(value + i * bytes if cnp.PyArray_SIZE(self.values) > 1 else value))

    cdef bint look_for_all(self) noexcept nogil:
        """Each was satisfied at some time: those that were are not looked at again."""
        while self.next < self.count and (not self.counts(self.next) or self.holds(self.next)):
            self.next += 1
        return self.next == self.count

    cdef bint look_for_some(self) noexcept nogil:
        """At least one is satisfied; ``found`` has the indices."""
        cdef Py_ssize_t i
        self.satisfied = 0
        for i in range(self.count):
            if self.counts(i) and self.holds(i):
                self.found[self.satisfied] = i
                self.satisfied += 1
        return self.satisfied > 0

    cdef bint nothing_counts(self):
        cdef Py_ssize_t i
        for i in range(self.count):
            if self.counts(i):
                return False
        return True

    cdef int wait(self, bint for_all) except -1:
        """Until a look succeeds; at once where nothing counts."""
        cdef bint done = self.nothing_counts()
        cdef int look
        while not done:
            with nogil:
                look = 0
                while not done and look < LOOKS_BEFORE_SIGNALS:
                    done = self.look_for_all() if for_all else self.look_for_some()
                    look += self.count if self.count < LOOKS_BEFORE_SIGNALS else LOOKS_BEFORE_SIGNALS
                    if not done:
                        sched_yield()
            if not done:
                PyErr_CheckSignals()
        return 0

    cdef object first(self):
        return self.found[0] if self.satisfied else None

    cdef list all_found(self):
        return [self.found[i] for i in range(self.satisfied)]


def wait_until_all(ivars, cmp, value, status=None):
    """Wait until all of several variables have satisfied a comparison (``shmem_wait_until_all``).

    Parameters
    ----------
    ivars : numpy.ndarray
        Symmetric array, integer or real, contiguous.
    cmp, value
        As for ``wait_until``.
    status : sequence of int, optional
        As many as ``ivars``; those that are not 0 say which variables do not count.
    """
    cdef Watch watch = Watch(ivars, cmp, value, status, False)
    watch.wait(True)


def wait_until_all_vector(ivars, cmp, values, status=None):
    """Wait until all of several variables have satisfied each its own comparison (``shmem_wait_until_all_vector``).

    Parameters
    ----------
    values : sequence of number
        One for each variable.
    ivars, cmp, status
        As for ``wait_until_all``.
    """
    cdef Watch watch = Watch(ivars, cmp, values, status, True)
    watch.wait(True)


def wait_until_any(ivars, cmp, value, status=None):
    """Wait until any of several variables satisfies a comparison (``shmem_wait_until_any``).

    Parameters
    ----------
    ivars, cmp, value, status
        As for ``wait_until_all``.

    Returns
    -------
    int or None
        The index of one that does; None if nothing counts.
    """
    cdef Watch watch = Watch(ivars, cmp, value, status, False)
    watch.wait(False)
    return watch.first()


def wait_until_any_vector(ivars, cmp, values, status=None):
    """Wait until any of several variables satisfies its own comparison (``shmem_wait_until_any_vector``).

    Parameters
    ----------
    values : sequence of number
        One for each variable.
    ivars, cmp, status
        As for ``wait_until_all``.

    Returns
    -------
    int or None
        The index of one that does; None if nothing counts.
    """
    cdef Watch watch = Watch(ivars, cmp, values, status, True)
    watch.wait(False)
    return watch.first()


def wait_until_some(ivars, cmp, value, status=None):
    """Wait until some of several variables satisfy a comparison (``shmem_wait_until_some``).

    Parameters
    ----------
    ivars, cmp, value, status
        As for ``wait_until_all``.

    Returns
    -------
    list of int
        The indices of those that do; empty if nothing counts.
    """
    cdef Watch watch = Watch(ivars, cmp, value, status, False)
    watch.wait(False)
    return watch.all_found()


def wait_until_some_vector(ivars, cmp, values, status=None):
    """Wait until some of several variables satisfy each its own comparison (``shmem_wait_until_some_vector``).

    Parameters
    ----------
    values : sequence of number
        One for each variable.
    ivars, cmp, status
        As for ``wait_until_all``.

    Returns
    -------
    list of int
        The indices of those that do; empty if nothing counts.
    """
    cdef Watch watch = Watch(ivars, cmp, values, status, True)
    watch.wait(False)
    return watch.all_found()


def test_all(ivars, cmp, value, status=None):
    """Whether all of several variables satisfy a comparison now (``shmem_test_all``).

    Parameters
    ----------
    ivars, cmp, value, status
        As for ``wait_until_all``.
    """
    cdef Watch watch = Watch(ivars, cmp, value, status, False)
    return bool(watch.look_for_all())


def test_all_vector(ivars, cmp, values, status=None):
    """Whether all of several variables satisfy each its own comparison now (``shmem_test_all_vector``).

    Parameters
    ----------
    values : sequence of number
        One for each variable.
    ivars, cmp, status
        As for ``wait_until_all``.
    """
    cdef Watch watch = Watch(ivars, cmp, values, status, True)
    return bool(watch.look_for_all())


def test_any(ivars, cmp, value, status=None):
    """Which one of several variables satisfies a comparison now (``shmem_test_any``).

    Parameters
    ----------
    ivars, cmp, value, status
        As for ``wait_until_all``.

    Returns
    -------
    int or None
        The index of one that does; None if nothing counts, or none does.
    """
    cdef Watch watch = Watch(ivars, cmp, value, status, False)
    watch.look_for_some()
    return watch.first()


def test_any_vector(ivars, cmp, values, status=None):
    """Which one of several variables satisfies its own comparison now (``shmem_test_any_vector``).

    Parameters
    ----------
    values : sequence of number
        One for each variable.
    ivars, cmp, status
        As for ``wait_until_all``.

    Returns
    -------
    int or None
        The index of one that does; None if nothing counts, or none does.
    """
    cdef Watch watch = Watch(ivars, cmp, values, status, True)
    watch.look_for_some()
    return watch.first()


def test_some(ivars, cmp, value, status=None):
    """Which ones of several variables satisfy a comparison now (``shmem_test_some``).

    Parameters
    ----------
    ivars, cmp, value, status
        As for ``wait_until_all``.

    Returns
    -------
    list of int
        The indices of those that do; empty if nothing counts, or none does.
    """
    cdef Watch watch = Watch(ivars, cmp, value, status, False)
    watch.look_for_some()
    return watch.all_found()


def test_some_vector(ivars, cmp, values, status=None):
    """Which ones of several variables satisfy each its own comparison now (``shmem_test_some_vector``).

    Parameters
    ----------
    values : sequence of number
        One for each variable.
    ivars, cmp, status
        As for ``wait_until_all``.

    Returns
    -------
    list of int
        The indices of those that do; empty if nothing counts, or none does.
    """
    cdef Watch watch = Watch(ivars, cmp, values, status, True)
    watch.look_for_some()
    return watch.all_found()
