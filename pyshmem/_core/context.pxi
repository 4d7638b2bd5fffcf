# Chapter "Communication Management Routines": contexts, and the way that an operation takes.

CONTEXT_OPTIONS = {"PRIVATE": SHMEM_CTX_PRIVATE, "SERIALIZED": SHMEM_CTX_SERIALIZED, "NOSTORE": SHMEM_CTX_NOSTORE}

cdef enum:
    MOST_PENDING = 65536            # arrays kept for operations that are not complete; then they are completed


cdef class Channel:
    """What all ``Ctx`` objects of one context share."""

    cdef shmem_ctx_t handle
    cdef long options
    cdef bint open
    cdef bint is_default
    cdef Membership membership      # whose numbers PEs have
    cdef list pending               # arrays that operations still read or write

    def __cinit__(self):
        self.membership = world_membership
        self.pending = []

    cdef close(self):
        """Complete what was begun, and leave the engine's context to the next that wants one like it.

        Engines take long to make one, and Sandia's sockets crash now and then in ending one that was in use.
        """
        if not self.open or self.is_default:
            return
        self.open = False
        if running:
            with nogil:
                shmem_ctx_quiet(self.handle)
            idle_contexts.setdefault(self.options, []).append(self)
        self.pending.clear()


cdef dict idle_contexts = {}        # options -> closed channels, whose handles can be used again


cdef Channel default_channel = Channel()     # its handle is known when the library has started
default_channel.open = True
default_channel.is_default = True
cdef Channel no_channel = Channel()


cdef inline Channel channel_of(object ctx):
    return default_channel if ctx is None else open_channel(ctx)


cdef Channel open_channel(object ctx):
    if not isinstance(ctx, Ctx):
        raise TypeError(f"ctx must be a Ctx or None (the default context), not {type(ctx).__name__}")
    if not (<Ctx>ctx).channel.open:
        raise ValueError("ctx stands for no context (destroyed, or never made)")
    return (<Ctx>ctx).channel


cdef inline int route(object ctx, Py_ssize_t pe, shmem_ctx_t *context) except -1:
    """The context to use, and the number of the PE in the world."""
    if ctx is None:
        check_pe(pe)
        context[0] = SHMEM_CTX_DEFAULT
        return <int>pe
    return route_through(ctx, pe, context)


cdef int route_through(object ctx, Py_ssize_t pe, shmem_ctx_t *context) except -1:
    cdef Channel channel = open_channel(ctx)
    cdef pe_set *members
    context[0] = channel.handle
    if channel.membership is world_membership:
        check_pe(pe)
        return <int>pe
    members = members_of(channel.membership)
    check_team_pe(members, pe)
    return engine_team_world_pe(members, <int>pe)


cdef int keep(object ctx, object array) except -1:
    """Keep an array until the operation that reads or writes it is complete, which a quiet or a barrier sees to."""
    cdef Channel channel = channel_of(ctx)
    # Often the same array over and over.
    if channel.pending and channel.pending[len(channel.pending) - 1] is array:
        return 0
    channel.pending.append(array)
    if len(channel.pending) >= MOST_PENDING:
        quiet(ctx)
    return 0


cdef class Ctx:
    """A stream of operations that are ordered and completed apart from those of others.

    Parameters
    ----------
    ctx : Ctx, optional
        The context that the new object stands for as well; without it, for none.
    """

    cdef Channel channel

    def __cinit__(self, ctx=None):
        if ctx is None:
            self.channel = no_channel
        elif isinstance(ctx, Ctx):
            self.channel = (<Ctx>ctx).channel
        else:
            raise TypeError(f"Ctx() takes a Ctx, not {type(ctx).__name__}")

    def __eq__(self, other):
        if not isinstance(other, Ctx):
            return NotImplemented
        return self.channel is (<Ctx>other).channel or not (self or other)

    def __hash__(self):
        return hash(id(self.channel)) if self else 0

    def __bool__(self):
        return bool(self.channel.open)

    def __enter__(self):
        return self

    def __exit__(self, *args):
        self.destroy()

    def __repr__(self):
        if self.channel is default_channel:
            return "<Ctx, the default>"
        return "<Ctx>" if self else "<no Ctx>"

    @staticmethod
    def create(options=0, team=None):
        """A new context (``shmem_ctx_create``, ``shmem_team_create_ctx``). Local.

        Parameters
        ----------
        options : CTX
            What the program does without: ``CTX.PRIVATE`` (other threads), ``CTX.SERIALIZED`` (several threads at a
            time), ``CTX.NOSTORE`` (order between puts and local stores).
        team : Team, optional
            Whose numbers PEs have in operations on the context; the default is all PEs.

        Raises
        ------
        RuntimeError
            The engine has no more contexts, or this PE is not in the team.
        """
        cdef Channel channel = Channel()
        cdef long option_bits = options
        members = team_of(team)
        if team is not None:
            channel.membership = (<Team>team).membership
        # Without PRIVATE, which would bind the engine's context to this thread, and others may use it later.
        channel.options = option_bits & ~SHMEM_CTX_PRIVATE
        if idle_contexts.get(channel.options):
            channel.handle = (<Channel>idle_contexts[channel.options].pop()).handle
        elif engine_context_create(channel.options, &channel.handle) != 0:
            raise RuntimeError(f"{engine_vendor().decode()} has no more contexts")
        channel.open = True
        channel.membership.contexts.append(channel)
        result = Ctx()
        (<Ctx>result).channel = channel
        return result

    def destroy(self):
        """Complete what was begun on the context, and end it (``shmem_ctx_destroy``). Local."""
        cdef Channel channel = self.channel
        if self is CTX_DEFAULT or self is CTX_INVALID:
            return
        self.channel = no_channel
        if channel.open and not channel.is_default:
            channel.close()
            channel.membership.contexts.remove(channel)

    def get_team(self):
        """The team whose numbers PEs have here (``shmem_ctx_get_team``)."""
        cdef Team result
        if not self:
            raise RuntimeError("this Ctx stands for no context")
        result = Team()
        result.membership = self.channel.membership
        return result

    def fence(self):
        """Order the operations on this context (``shmem_ctx_fence``)."""
        fence(self)

    def quiet(self):
        """Complete the operations on this context (``shmem_ctx_quiet``)."""
        quiet(self)

    def session_start(self, options=0, total_ops=0):
        """Hint that a series of operations follows (``shmem_ctx_session_start``). Local.

        Parameters
        ----------
        options : int
            ``SESSION.BATCH``: the operations may be delayed, to be done together.
        total_ops : int
            About how many; 0 if not known.
        """
        cdef long option_bits = options
        cdef size_t operations = total_ops
        check_running()
        engine_session_start(open_channel(self).handle, option_bits, operations)

    def session_stop(self):
        """The series has ended (``shmem_ctx_session_stop``). Local."""
        check_running()
        engine_session_stop(open_channel(self).handle)


cdef Ctx standing_for(Channel channel):
    result = Ctx()
    (<Ctx>result).channel = channel
    return result


CTX_DEFAULT = standing_for(default_channel)
CTX_INVALID = standing_for(no_channel)
