# Chapter "Memory Ordering Routines".

cdef inline list begun_on(Channel channel):
    """What the quiet that follows completes, to be dropped after it; what other threads begin meanwhile is not in it."""
    cdef list begun = channel.pending
    if begun:
        channel.pending = []
    return begun


def fence(ctx=None):
    """Puts to one PE after this arrive there after those before it (specification: ``shmem_fence``).

    Parameters
    ----------
    ctx : Ctx, optional
        Of which context; the default is the default context.
    """
    check_running()
    shmem_ctx_fence(channel_of(ctx).handle)


def quiet(ctx=None):
    """Wait until all that this PE put is complete everywhere (specification: ``shmem_quiet``).

    Parameters
    ----------
    ctx : Ctx, optional
        On which context; the default is the default context.
    """
    cdef Channel channel
    check_running()
    channel = channel_of(ctx)
    begun = begun_on(channel)
    with nogil:
        shmem_ctx_quiet(channel.handle)


def pe_quiet(target_pes, ctx=None):
    """Wait until all that this PE put on some PEs is complete there (specification: ``shmem_pe_quiet``).

    Parameters
    ----------
    target_pes : sequence of int
        The PEs, by their numbers in the context's team.
    ctx : Ctx, optional
        On which context; the default is the default context.
    """
    cdef Channel channel
    cdef shmem_ctx_t context
    cdef int[::1] pes
    check_running()
    channel = channel_of(ctx)
    world = np.array([route(ctx, pe, &context) for pe in target_pes], dtype=np.intc)
    if not len(world):
        return
    pes = world
    with nogil:
        engine_pe_quiet(channel.handle, &pes[0], pes.shape[0])
