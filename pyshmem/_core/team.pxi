# Chapter "Team Management Routines".

cdef enum:
    TEAM_MADE, TEAM_OF_WORLD, TEAM_OF_SHARED, TEAM_OF_NONE


cdef class Membership:
    """What all ``Team`` objects of one team share."""

    cdef int kind
    cdef pe_set *members              # of one that was made; NULL once it was destroyed
    cdef list contexts              # that end with the team

    def __cinit__(self, int kind):
        self.kind = kind
        self.contexts = []


cdef Membership world_membership = Membership(TEAM_OF_WORLD)
cdef Membership shared_membership = Membership(TEAM_OF_SHARED)
cdef Membership no_membership = Membership(TEAM_OF_NONE)
cdef list made_teams = []           # forgotten when the library stops


cdef pe_set *members_of(Membership membership) except NULL:
    check_running()
    if membership.kind == TEAM_OF_WORLD:
        return engine_team_world()
    if membership.kind == TEAM_OF_SHARED:
        return engine_team_shared()
    if membership.members is NULL:
        raise RuntimeError(
            "this PE is not a member of the team, or has destroyed it" if membership.kind == TEAM_OF_NONE
            else "the team was destroyed"
        )
    return membership.members


cdef pe_set *team_of(object which) except NULL:
    """The team behind a ``team=`` argument; None is all PEs."""
    if which is None:
        check_running()
        return engine_team_world()
    if not isinstance(which, Team):
        raise TypeError(f"team must be a Team or None (all PEs), not {type(which).__name__}")
    return members_of((<Team>which).membership)


cdef int check_team_pe(const pe_set *members, Py_ssize_t pe) except -1:
    if pe < 0 or pe >= engine_team_size(members):
        raise ValueError(f"PE {pe} is out of range: this team has PEs 0 to {engine_team_size(members) - 1}")
    return 0


cdef int contexts_in(object config, dict more) except -1:
    """The configuration of a team, which knows one word."""
    wanted = {word.lower(): number for word, number in dict(config or {}, **more).items()}
    number = wanted.pop("num_contexts", 0)
    if wanted:
        raise ValueError(f"a team's configuration has num_contexts, and no {', '.join(map(repr, wanted))}")
    if number < 0:
        raise ValueError(f"num_contexts must not be negative, got {number}")
    return number


cdef Team made_team(pe_set *members):
    cdef Membership membership
    if members is NULL:
        return Team()
    membership = Membership(TEAM_MADE)
    membership.members = members
    made_teams.append(membership)
    result = Team()
    (<Team>result).membership = membership
    return result


cdef forget_teams():
    """The library has stopped; its teams are gone."""
    cdef Membership membership
    for candidate in made_teams:
        membership = <Membership>candidate
        engine_team_forget(membership.members)
        membership.members = NULL
    made_teams.clear()


cdef class Team:
    """A set of PEs that take part in collective operations together, with numbers of their own.

    ``TEAM_WORLD`` has all PEs, ``TEAM_SHARED`` those whose memory this PE can load from; others are made with
    ``split_strided`` and ``split_2d``.  A team that this PE is no member of is false.

    Parameters
    ----------
    team : Team, optional
        The team that the new object stands for as well; without it, for no team.
    """

    cdef Membership membership

    def __cinit__(self, team=None):
        if team is None:
            self.membership = no_membership
        elif isinstance(team, Team):
            self.membership = (<Team>team).membership
        else:
            raise TypeError(f"Team() takes a Team, not {type(team).__name__}")

    def __eq__(self, other):
        if not isinstance(other, Team):
            return NotImplemented
        return self.membership is (<Team>other).membership

    def __hash__(self):
        return hash(id(self.membership))

    def __bool__(self):
        return self.membership.kind != TEAM_OF_NONE and (
            self.membership.kind != TEAM_MADE or self.membership.members is not NULL)

    def __enter__(self):
        return self

    def __exit__(self, *args):
        self.destroy()

    def __repr__(self):
        if self.membership.kind == TEAM_OF_WORLD:
            return "<Team of all PEs>"
        if self.membership.kind == TEAM_OF_SHARED:
            return "<Team of the PEs that share memory>"
        if not self:
            return "<no Team>"
        return f"<Team of {self.n_pes()} PEs, here PE {self.my_pe()}>"

    def destroy(self):
        """End the team, and the contexts on it (``shmem_team_destroy``). Collective over the team.

        Predefined teams stay as they are; an object that stands for one is false afterwards.
        """
        cdef Membership membership = self.membership
        cdef pe_set *members
        if self is TEAM_WORLD or self is TEAM_SHARED:
            return
        self.membership = no_membership
        if membership.kind != TEAM_MADE or membership.members is NULL:
            return
        check_running()
        for context in membership.contexts:
            (<Channel>context).close()
        made_teams.remove(membership)
        members, membership.members = membership.members, NULL
        waiting = begin_waiting()
        engine_team_destroy(members)
        end_waiting(waiting)

    def my_pe(self):
        """The number of this PE in the team (``shmem_team_my_pe``)."""
        return engine_team_me(members_of(self.membership))

    def n_pes(self):
        """The number of PEs in the team (``shmem_team_n_pes``)."""
        return engine_team_size(members_of(self.membership))

    def get_config(self):
        """The configuration that the team was made with: ``{"num_contexts": number}`` (``shmem_team_get_config``)."""
        return {"num_contexts": engine_team_contexts(members_of(self.membership))}

    def translate_pe(self, pe=None, team=None):
        """The number that a PE of this team has in another (``shmem_team_translate_pe``). Local.

        Parameters
        ----------
        pe : int, optional
            Its number here; the default is this PE.
        team : Team, optional
            The other team; the default is all PEs.

        Raises
        ------
        RuntimeError
            It is not a member of the other team.
        """
        cdef pe_set *mine = members_of(self.membership)
        cdef pe_set *other = team_of(team)
        cdef Py_ssize_t number = engine_team_me(mine) if pe is None else pe
        check_team_pe(mine, number)
        found = engine_team_number_of(other, engine_team_world_pe(mine, <int>number))
        if found < 0:
            raise RuntimeError(f"PE {number} of this team is not a member of the other")
        return found

    def split_strided(self, Py_ssize_t start=0, Py_ssize_t stride=1, size=None, config=None, **kwargs):
        """A team of the PEs ``start``, ``start + stride``, ... of this one (``shmem_team_split_strided``).

        Collective over this team, with the same arguments on all its PEs.

        Parameters
        ----------
        start, stride : int
            Which PEs, by their numbers in this team; a negative stride reverses their order.
        size : int, optional
            How many; the default is as many as there are.
        config : mapping, optional
            ``{"num_contexts": number}``, which may also be given by keyword.

        Returns
        -------
        Team
            False on PEs that are not in it.
        """
        cdef pe_set *parent = members_of(self.membership)
        cdef pe_set *result
        cdef message reason
        cdef int status, contexts = contexts_in(config, kwargs)
        cdef int all_pes = engine_team_size(parent)
        cdef Py_ssize_t wanted
        check_team_pe(parent, start)
        if size is None:
            wanted = 1 if stride == 0 else len(range(start, all_pes if stride > 0 else -1, stride))
        else:
            wanted = size
        # A stride as long as the team leads out of it, and is not multiplied below, where it might overflow.
        if wanted < 1 or wanted > all_pes or (wanted > 1 and (stride == 0 or not -all_pes < stride < all_pes)):
            raise ValueError(f"a team of {wanted} PEs with stride {stride} cannot be made of {all_pes}")
        if wanted == 1:
            stride = 1
        if not 0 <= start + stride * (wanted - 1) < all_pes:
            raise ValueError(
                f"{wanted} PEs from {start} with stride {stride} end at PE {start + stride * (wanted - 1)}, outside "
                f"this team of {all_pes}"
            )
        if check_collectives:
            check_symmetry(parent, CALL_SPLIT, start, stride, wanted, 0)
        waiting = begin_waiting()
        status = engine_team_split_strided(parent, <int>start, <int>stride, <int>wanted, contexts, &result, &reason)
        end_waiting(waiting)
        if status != 0:
            raise RuntimeError(words_of(reason.text))
        return made_team(result)

    def split_2d(self, Py_ssize_t xrange, xaxis_config=None, yaxis_config=None):
        """The rows and columns of this team in a grid ``xrange`` wide (``shmem_team_split_2d``).

        Collective over this team, with the same ``xrange`` on all its PEs.

        Parameters
        ----------
        xrange : int
            The width: PE ``i`` stands at ``x = i % xrange``, ``y = i // xrange``; the last row may be shorter.
        xaxis_config, yaxis_config : mapping, optional
            ``{"num_contexts": number}``.

        Returns
        -------
        tuple of Team
            The row of this PE, in which its number is ``x``, and its column, in which it is ``y``.
        """
        cdef pe_set *parent = members_of(self.membership)
        cdef pe_set *row
        cdef pe_set *column
        cdef message reason
        cdef int status
        cdef int x_contexts = contexts_in(xaxis_config, {}), y_contexts = contexts_in(yaxis_config, {})
        if xrange < 1:
            raise ValueError(f"xrange must be 1 or more, got {xrange}")
        xrange = min(xrange, engine_team_size(parent))
        if check_collectives:
            check_symmetry(parent, CALL_SPLIT, xrange, 0, 0, 0)
        waiting = begin_waiting()
        status = engine_team_split_2d(parent, <int>xrange, x_contexts, y_contexts, &row, &column, &reason)
        end_waiting(waiting)
        if status != 0:
            raise RuntimeError(words_of(reason.text))
        return made_team(row), made_team(column)

    def create_ctx(self, options=0):
        """A context on which PEs have this team's numbers (``shmem_team_create_ctx``). Local."""
        return Ctx.create(options, self)

    def sync(self):
        """Wait for all PEs of the team (``shmem_team_sync``). Collective over the team."""
        sync(self)

    def ptr(self, target, Py_ssize_t pe):
        """``ptr()`` with a number in this team (``shmem_team_ptr``)."""
        cdef pe_set *members = members_of(self.membership)
        check_team_pe(members, pe)
        return ptr(target, engine_team_world_pe(members, <int>pe))


cdef Team predefined(Membership membership):
    result = Team()
    (<Team>result).membership = membership
    return result


TEAM_WORLD = predefined(world_membership)
TEAM_SHARED = predefined(shared_membership)
TEAM_INVALID = predefined(no_membership)
