# Chapter "Library Setup, Exit, and Query Routines": the life of the library in this process.

cdef int running = 0            # every operation looks here first
cdef int this_pe = -1
cdef int pe_count = 0


cdef str words_of(const char *message):
    """What the C library says; names and paths in it may be bytes that are no text."""
    return (<bytes>message).decode(errors="backslashreplace")


cdef int raise_not_running() except -1:
    raise NotInitializedError("OpenSHMEM is not initialised: call pyshmem.init() first (and not after finalize())")


cdef inline int check_running() except -1:
    return raise_not_running() if not running else 0


cdef int raise_bad_pe(Py_ssize_t pe) except -1:
    raise ValueError(f"PE {pe} is out of range: this job has PEs 0 to {pe_count - 1}")


cdef inline int check_pe(Py_ssize_t pe) except -1:
    return raise_bad_pe(pe) if pe < 0 or pe >= pe_count else 0


def define(int partition_id, name, text):
    """Hand one definition of the program to the C library; ``name`` and ``text`` are bytes that stay alive."""
    cdef const char *c_name = NULL
    if name is not None:
        c_name = <const char *>name
    if shmem_partition_define(partition_id, c_name, <const char *>text) != 0:
        raise PartitionError(words_of(shmem_partition_error()))


def start(int requested):
    """Start OpenSHMEM and the partitions, collectively; the thread level provided."""
    global running, this_pe, pe_count
    cdef int provided = requested, status
    shmem_partition_finalize_at_exit()
    with nogil:
        status = shmem_partition_init_thread(requested, &provided)
    if status != 0:
        raise PartitionError(words_of(shmem_partition_error()), pe=shmem_partition_failed_pe())
    this_pe = shmem_my_pe()
    pe_count = shmem_n_pes()
    default_channel.handle = SHMEM_CTX_DEFAULT
    open_drop_area()
    running = 1
    return provided


def stop():
    """Undo one start; the last one finalises, collectively."""
    with nogil:
        shmem_finalize()
    if not running:
        outlive()
        forget_teams()


def mark_stopped():
    """From here on every operation raises: finalised, or a forked child that is no PE."""
    global running
    running = 0


cdef extern from *:
    """
    /* Giving the GIL up and taking it again costs more than the smallest collectives; alone there is nobody to take it. */
    static inline PyThreadState *pyshmem_let_threads_run(void)
    {
    #ifndef Py_GIL_DISABLED
        PyThreadState *thread = PyInterpreterState_ThreadHead(PyInterpreterState_Get());
        if (thread && !PyThreadState_Next(thread))
            return NULL;
    #endif
        return PyEval_SaveThread();
    }

    /* One thread at a time has the GIL, so that only those who look on need the atomic. */
    static inline void pyshmem_count(int *calls, int change)
    {
    #ifdef Py_GIL_DISABLED
        __atomic_fetch_add(calls, change, __ATOMIC_RELAXED);
    #else
        __atomic_store_n(calls, *calls + change, __ATOMIC_RELAXED);
    #endif
    }
    """
    ctypedef struct PyThreadState:
        pass
    PyThreadState *pyshmem_let_threads_run() noexcept
    void pyshmem_count(int *calls, int change) noexcept
    void PyEval_RestoreThread(PyThreadState *state) noexcept

cdef int *waiting_calls = engine_waiting_calls()


cdef inline PyThreadState *begin_waiting() noexcept:
    """Before a call that waits for other PEs: other Python threads run meanwhile, and Ctrl-C ends the job."""
    pyshmem_count(waiting_calls, 1)
    return pyshmem_let_threads_run()


cdef inline void end_waiting(PyThreadState *waiting) noexcept:
    if waiting is not NULL:
        PyEval_RestoreThread(waiting)
    pyshmem_count(waiting_calls, -1)


cdef void meet_all() noexcept:
    """A barrier of all PEs."""
    waiting = begin_waiting()
    shmem_barrier_all()
    end_waiting(waiting)


def watch_interrupts():
    """Let Ctrl-C end the job where the main thread waits in a collective call that cannot be left."""
    return engine_watch_interrupts() == 0


def interrupt_noted():
    """Python has seen the interrupt."""
    engine_interrupt_noted()


def my_pe():
    """The number of this PE, 0 to ``n_pes() - 1`` (specification: ``shmem_my_pe``)."""
    check_running()
    return this_pe


def n_pes():
    """The number of PEs of the job (specification: ``shmem_n_pes``)."""
    check_running()
    return pe_count


def info_get_version():
    """The ``(major, minor)`` version of the specification that the engine follows; needs no ``init``."""
    cdef int major = 0, minor = 0
    shmem_info_get_version(&major, &minor)
    return (major, minor)


def info_get_name():
    """The name that the engine gives itself; needs no ``init``."""
    name = bytearray(SHMEM_MAX_NAME_LEN + 1)
    shmem_info_get_name(<char *>name)
    return bytes(name).split(b"\0", 1)[0].decode()


def query_thread():
    """The thread level that the engine provides, as a number."""
    cdef int provided = 0
    check_running()
    shmem_query_thread(&provided)
    return provided


def end_job(int status):
    """End all PEs of the job with this status; does not return (specification: ``shmem_global_exit``)."""
    shmem_global_exit(status)


def pe_of_failed_start():
    """The number of this PE as far as it is known, for a start that failed."""
    return engine_my_pe()


cdef outlive():
    """After ``finalize``: arrays that are still alive do no harm, though their contents are gone."""
    cdef Py_ssize_t i
    global allocation_count, dropped_count
    for i in range(allocation_count):
        if allocations[i].holder is not NULL:
            (<SymmetricMemory>allocations[i].holder).live = False
            shmem_partition_outlive(allocations[i].address, allocations[i].bytes)
    allocation_count = 0
    dropped_count = 0
    for address, bytes in peer_views.items():
        shmem_partition_outlive(<void *><uintptr_t>address, bytes)
    peer_views.clear()


def query_initialized():
    """Whether OpenSHMEM is running: after ``init()``, before the last ``finalize()`` (``shmem_query_initialized``)."""
    return bool(running)


def pe_accessible(Py_ssize_t pe):
    """Whether operations on this PE are possible (specification: ``shmem_pe_accessible``)."""
    check_running()
    return 0 <= pe < pe_count and bool(shmem_pe_accessible(<int>pe))


def addr_accessible(addr, Py_ssize_t pe):
    """Whether an array can be reached on another PE: it is symmetric there (specification: ``shmem_addr_accessible``)."""
    cdef cnp.ndarray array
    cdef SymmetricMemory memory
    check_running()
    array = as_array(addr, "addr")
    if pe < 0 or pe >= pe_count:
        return False
    memory = owner_of(array)
    return memory is not None and bool(memory.live)


def pcontrol(int level=1):
    """Tell a profiler what is of interest: 0 nothing, 1 the usual, 2 all (specification: ``shmem_pcontrol``)."""
    engine_pcontrol(level)


def corrected_functions():
    """Functions that the engine has and gets wrong, and that are put right."""
    cdef const char *const *names = engine_corrected()
    found = []
    while names[len(found)] is not NULL:
        found.append(names[len(found)].decode())
    return found


def may_speak():
    """Of several PEs with something to say, True on the first to ask."""
    return bool(engine_may_speak())


def engine_name():
    """The engine's name for people."""
    return engine_vendor().decode()
