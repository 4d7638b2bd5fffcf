# Chapter "Distributed Locking Routines".

cdef enum:
    LONGEST_PAUSE = 200             # microseconds between two tries of a PE that waits for a lock

cdef extern from "unistd.h" nogil:
    int usleep(unsigned int microseconds)


def new_lock():
    """A lock, open: a symmetric array of one C ``long``. Collective.

    Hand it to ``set_lock``, ``test_lock`` and ``clear_lock``; ``Lock`` is the same as an object.
    """
    return zeros(1, np.dtype("l"))


def del_lock(lock):
    """Free a lock. Collective."""
    lock_word(lock)
    free(lock)


cdef long *lock_word(object lock) except NULL:
    cdef cnp.ndarray array
    check_running()
    array = as_array(lock, "lock")
    if cnp.PyArray_SIZE(array) != 1 or cnp.PyArray_TYPE(array) != cnp.NPY_LONG:
        raise TypeError(f"lock must be a symmetric array of one C long, as new_lock() makes it, not {lock!r}")
    check_symmetric(array, "lock")
    return <long *>cnp.PyArray_DATA(array)


def set_lock(lock):
    """Wait for a lock, and take it (specification: ``shmem_set_lock``).

    Other Python threads run meanwhile, and Ctrl-C interrupts the wait.
    """
    cdef long *word = lock_word(lock)
    cdef int taken = 0
    cdef unsigned int attempt, pause = 1
    while not taken:
        with nogil:
            for attempt in range(64):
                taken = shmem_test_lock(word) == 0
                if taken:
                    break
                usleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE)
        PyErr_CheckSignals()


def test_lock(lock):
    """Take a lock if nobody has it (specification: ``shmem_test_lock``).

    Returns
    -------
    bool
        False if it was taken by this call, True if another PE has it.
    """
    return bool(shmem_test_lock(lock_word(lock)))


def clear_lock(lock):
    """Complete what this PE did, and give the lock back (specification: ``shmem_clear_lock``)."""
    cdef long *word = lock_word(lock)
    with nogil:
        shmem_clear_lock(word)
