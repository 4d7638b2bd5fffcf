# Chapter "Distributed Locking Routines".

import _thread

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


cdef dict held_locks = {}           # address -> the thread that has it; engines know PEs only


cdef int give_back_locks(char *start, Py_ssize_t bytes) except -1:
    """Of memory that is about to be freed: what this PE holds there would be held in the next lock at the same place."""
    if held_locks:
        for word in [word for word in held_locks if <uintptr_t>start <= word < <uintptr_t>start + bytes]:
            shmem_clear_lock(<long *><uintptr_t>word)
            del held_locks[word]
    return 0


cdef bint take_lock(long *word) except *:
    """One try, with the GIL held, since engines do not look at one lock from two threads."""
    if <uintptr_t>word in held_locks or shmem_test_lock(word) != 0:
        return False
    held_locks[<uintptr_t>word] = _thread.get_ident()
    return True


def set_lock(lock):
    """Wait for a lock, and take it (specification: ``shmem_set_lock``).

    Other Python threads run meanwhile, and Ctrl-C interrupts the wait.

    Raises
    ------
    RuntimeError
        This thread has it already, and would wait for ever.
    """
    cdef long *word = lock_word(lock)
    cdef unsigned int pause = 1
    if held_locks.get(<uintptr_t>word) == _thread.get_ident():
        raise RuntimeError("this thread has the lock already")
    while not take_lock(word):
        with nogil:
            usleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE)
        PyErr_CheckSignals()


def test_lock(lock):
    """Take a lock if nobody has it (specification: ``shmem_test_lock``).

    Returns
    -------
    bool
        False if it was taken by this call, True if another PE or thread has it.
    """
    return not take_lock(lock_word(lock))


def clear_lock(lock):
    """Complete what this PE did, and give the lock back (specification: ``shmem_clear_lock``).

    Raises
    ------
    RuntimeError
        This PE does not have it.
    """
    cdef long *word = lock_word(lock)
    if <uintptr_t>word not in held_locks:
        raise RuntimeError("this PE does not have the lock")
    shmem_clear_lock(word)
    del held_locks[<uintptr_t>word]
