"""The functions of OpenSHMEM 1.4, 1.5 and 1.6, once: what does each in pyshmem, and what an engine must have for it.

The build reads this table to find out what an engine has, ``build_info()["functions"]`` tells it, and a test goes
through it.  It stands on nothing, so that ``setup.py`` can read it before there is anything to import.
"""

from __future__ import annotations

from typing import NamedTuple


class Function(NamedTuple):
    """One function of the specification.

    Attributes
    ----------
    name : str
        As the specification's C11 interface has it, without ``shmem_``.
    since : str
        The version of the specification that has it first.
    chapter : str
        Where the specification describes it.
    python : str
        What does it in pyshmem: a name, or ``Class.method``.
    symbols : tuple of str
        What the engine must have for it to be the engine's own; empty: pyshmem's layer always does it itself, on
        what all engines have.
    """

    name: str
    since: str
    chapter: str
    python: str
    symbols: tuple[str, ...]


class Feature(NamedTuple):
    """What makes a difference to the C layer: a macro of has.h, and what an engine must have for it to be 1.

    The version counts too: Open MPI 5 has the functions of teams, says that it is 1.4, and they all fail.
    """

    macro: str
    version: tuple[int, int]
    symbols: tuple[str, ...]


FEATURES = (
    Feature("ENGINE_HAS_TEAMS", (1, 5), (
        "shmem_team_split_strided", "shmem_team_split_2d", "shmem_team_sync", "shmem_broadcastmem", "shmem_collectmem",
        "shmem_fcollectmem", "shmem_alltoallmem", "shmem_uint64_alltoalls", "shmem_int32_and_reduce",
    )),
    Feature("ENGINE_HAS_ATOMICS_NBI", (1, 5), (
        "shmem_ctx_int_atomic_fetch_nbi", "shmem_ctx_double_atomic_swap_nbi", "shmem_ctx_long_atomic_compare_swap_nbi",
        "shmem_ctx_int64_atomic_fetch_xor_nbi",
    )),
    Feature("ENGINE_HAS_SIGNALS", (1, 5), ("shmem_ctx_putmem_signal", "shmem_ctx_putmem_signal_nbi")),
    Feature("ENGINE_HAS_PE_QUIET", (1, 6), ("shmem_ctx_pe_quiet",)),
    Feature("ENGINE_HAS_SESSIONS", (1, 6), ("shmem_ctx_session_start", "shmem_ctx_session_stop")),
    Feature("ENGINE_HAS_PCONTROL", (1, 5), ("shmem_pcontrol",)),
    Feature("ENGINE_HAS_PROFILING_NAMES", (1, 0), ("pshmem_init_thread", "pshmem_malloc", "pstart_pes", "pshmalloc")),
    Feature("ENGINE_HAS_OLD_HINT", (1, 0), ("shmemx_malloc_with_hint",)),
)


def _functions() -> list[Function]:
    found: list[Function] = []

    def chapter(title: str, *rows: tuple[str, str, str, str]) -> None:
        for name, since, python, symbols in rows:
            found.append(Function(name, since, title, python or name, tuple(symbols.split())))

    chapter(
        "Library Setup, Exit, and Query Routines",
        ("init", "1.4", "", "shmem_init"),
        ("my_pe", "1.4", "", "shmem_my_pe"),
        ("n_pes", "1.4", "", "shmem_n_pes"),
        ("finalize", "1.4", "", "shmem_finalize"),
        ("query_initialized", "1.6", "", ""),
        ("global_exit", "1.4", "", "shmem_global_exit"),
        ("pe_accessible", "1.4", "", "shmem_pe_accessible"),
        ("addr_accessible", "1.4", "", ""),
        ("ptr", "1.4", "", "shmem_ptr"),
        ("team_ptr", "1.6", "Team.ptr", ""),
        ("info_get_version", "1.4", "", "shmem_info_get_version"),
        ("info_get_name", "1.4", "", "shmem_info_get_name"),
        ("start_pes", "1.4", "init", "shmem_init"),
    )
    chapter(
        "Thread Support",
        ("init_thread", "1.4", "", "shmem_init_thread"),
        ("query_thread", "1.4", "", "shmem_query_thread"),
    )
    chapter(
        "Memory Management Routines",
        ("malloc", "1.4", "alloc", "shmem_malloc"),
        ("free", "1.4", "", "shmem_free"),
        ("realloc", "1.4", "", "shmem_realloc"),
        ("align", "1.4", "alloc", "shmem_align"),
        ("malloc_with_hints", "1.5", "alloc", "shmem_malloc_with_hints"),
        ("calloc", "1.4", "zeros", "shmem_calloc"),
    )
    chapter(
        "Team Management Routines",
        ("team_my_pe", "1.5", "Team.my_pe", ""),
        ("team_n_pes", "1.5", "Team.n_pes", ""),
        ("team_get_config", "1.5", "Team.get_config", ""),
        ("team_translate_pe", "1.5", "Team.translate_pe", ""),
        ("team_split_strided", "1.5", "Team.split_strided", "ENGINE_HAS_TEAMS"),
        ("team_split_2d", "1.5", "Team.split_2d", "ENGINE_HAS_TEAMS"),
        ("team_destroy", "1.5", "Team.destroy", "ENGINE_HAS_TEAMS"),
    )
    chapter(
        "Communication Management Routines",
        ("ctx_create", "1.4", "Ctx.create", "shmem_ctx_create"),
        ("team_create_ctx", "1.5", "Team.create_ctx", ""),
        ("ctx_destroy", "1.4", "Ctx.destroy", ""),
        ("ctx_get_team", "1.5", "Ctx.get_team", ""),
        ("ctx_session_start", "1.6", "Ctx.session_start", "ENGINE_HAS_SESSIONS"),
        ("ctx_session_stop", "1.6", "Ctx.session_stop", "ENGINE_HAS_SESSIONS"),
    )
    chapter(
        "Remote Memory Access Routines",
        ("put", "1.4", "", "shmem_ctx_putmem"),
        ("p", "1.4", "", "shmem_ctx_putmem"),
        ("iput", "1.4", "", "shmem_ctx_iput8 shmem_ctx_iput128"),
        ("ibput", "1.6", "", ""),
        ("get", "1.4", "", "shmem_ctx_getmem"),
        ("g", "1.4", "", "shmem_ctx_getmem"),
        ("iget", "1.4", "", "shmem_ctx_iget8 shmem_ctx_iget128"),
        ("ibget", "1.6", "", ""),
        ("put_nbi", "1.4", "", "shmem_ctx_putmem_nbi"),
        ("get_nbi", "1.4", "", "shmem_ctx_getmem_nbi"),
    )
    chapter(
        "Atomic Memory Operations",
        ("atomic_fetch", "1.4", "", "shmem_ctx_double_atomic_fetch"),
        ("atomic_set", "1.4", "", "shmem_ctx_double_atomic_set"),
        ("atomic_compare_swap", "1.4", "", "shmem_ctx_long_atomic_compare_swap"),
        ("atomic_swap", "1.4", "", "shmem_ctx_double_atomic_swap"),
        ("atomic_fetch_inc", "1.4", "", "shmem_ctx_long_atomic_fetch_inc"),
        ("atomic_inc", "1.4", "", "shmem_ctx_long_atomic_inc"),
        ("atomic_fetch_add", "1.4", "", "shmem_ctx_long_atomic_fetch_add"),
        ("atomic_add", "1.4", "", "shmem_ctx_long_atomic_add"),
        ("atomic_fetch_and", "1.4", "", "shmem_ctx_int64_atomic_fetch_and"),
        ("atomic_and", "1.4", "", "shmem_ctx_int64_atomic_and"),
        ("atomic_fetch_or", "1.4", "", "shmem_ctx_int64_atomic_fetch_or"),
        ("atomic_or", "1.4", "", "shmem_ctx_int64_atomic_or"),
        ("atomic_fetch_xor", "1.4", "", "shmem_ctx_int64_atomic_fetch_xor"),
        ("atomic_xor", "1.4", "", "shmem_ctx_int64_atomic_xor"),
        *((f"atomic_{operation}_nbi", "1.5", "", "ENGINE_HAS_ATOMICS_NBI")
          for operation in ("fetch", "compare_swap", "swap", "fetch_inc", "fetch_add", "fetch_and", "fetch_or",
                            "fetch_xor")),
    )
    chapter(
        "Signaling Operations",
        ("put_signal", "1.5", "", "ENGINE_HAS_SIGNALS"),
        ("put_signal_nbi", "1.5", "", "ENGINE_HAS_SIGNALS"),
        ("signal_add", "1.6", "", ""),
        ("signal_fetch", "1.5", "", ""),
        ("signal_set", "1.6", "", ""),
        ("signal_wait_until", "1.5", "", ""),
    )
    chapter(
        "Collective Routines",
        ("barrier_all", "1.4", "", "shmem_barrier_all"),
        ("barrier", "1.4", "", ""),
        ("sync", "1.4", "", ""),
        ("team_sync", "1.5", "Team.sync", "ENGINE_HAS_TEAMS"),
        ("sync_all", "1.4", "", "shmem_sync_all"),
        ("alltoall", "1.5", "", "ENGINE_HAS_TEAMS"),
        ("alltoalls", "1.5", "", "ENGINE_HAS_TEAMS"),
        ("broadcast", "1.5", "", "ENGINE_HAS_TEAMS"),
        ("collect", "1.5", "", "ENGINE_HAS_TEAMS"),
        ("fcollect", "1.5", "", "ENGINE_HAS_TEAMS"),
        *((f"{operation}_reduce", "1.5", "", "ENGINE_HAS_TEAMS")
          for operation in ("and", "or", "xor", "max", "min", "sum", "prod")),
        ("sum_inscan", "1.6", "", ""),
        ("sum_exscan", "1.6", "", ""),
    )
    chapter(
        "Point-To-Point Synchronization Routines",
        *((f"{verb}{form}", "1.5" if form else "1.4", "", "")
          for verb in ("wait_until", "test")
          for form in ("", "_all", "_any", "_some", "_all_vector", "_any_vector", "_some_vector")),
    )
    chapter(
        "Memory Ordering Routines",
        ("fence", "1.4", "", "shmem_ctx_fence"),
        ("quiet", "1.4", "", "shmem_ctx_quiet"),
        ("pe_quiet", "1.6", "", "ENGINE_HAS_PE_QUIET"),
    )
    chapter(
        "Distributed Locking Routines",
        ("set_lock", "1.4", "", ""),
        ("test_lock", "1.4", "", "shmem_test_lock"),
        ("clear_lock", "1.4", "", "shmem_clear_lock"),
    )
    chapter("Profiling Interface", ("pcontrol", "1.5", "", "ENGINE_HAS_PCONTROL"))
    return found


FUNCTIONS = tuple(_functions())


def symbols_to_look_for() -> list[str]:
    """All names that the build looks for in an engine."""
    names = {symbol for feature in FEATURES for symbol in feature.symbols}
    names |= {symbol for function in FUNCTIONS for symbol in function.symbols if not symbol.startswith("ENGINE_")}
    return sorted(names)


def features_of(version: tuple[int, int], symbols: set[str]) -> dict[str, bool]:
    """The macros of has.h for an engine that says it is of ``version`` and has ``symbols``."""
    return {
        feature.macro: version >= feature.version and symbols.issuperset(feature.symbols) for feature in FEATURES
    }


def origins(features: dict[str, bool], symbols: set[str]) -> dict[str, str]:
    """Who does each function: ``"native"``, the engine itself, or ``"supplied"``, pyshmem's layer."""
    there = symbols | {macro for macro, has in features.items() if has}
    return {
        function.name: "native" if function.symbols and there.issuperset(function.symbols) else "supplied"
        for function in FUNCTIONS
    }
