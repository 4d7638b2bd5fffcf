"""The table of functions against a list made from the specification's text, and against what pyshmem has."""

from __future__ import annotations

import inspect

import pytest

import pyshmem
from pyshmem.specification import FEATURES, FUNCTIONS, features_of, origins, symbols_to_look_for


def words(text):
    return text.split()


ATOMICS = ("fetch", "compare_swap", "swap", "fetch_inc", "fetch_add", "fetch_and", "fetch_or", "fetch_xor")
FORMS = ("all", "any", "some", "all_vector", "any_vector", "some_vector")

# Names of the C11 interface without shmem_, from the chapters of each version.  Left out is what is deprecated:
# start_pes, cache control, and the collectives on active sets, which 1.5 has as collectives on teams.
OF_1_4 = {
    *words("init my_pe n_pes finalize global_exit pe_accessible addr_accessible ptr info_get_version info_get_name"),
    *words("init_thread query_thread"),
    *words("malloc free realloc align calloc"),
    *words("ctx_create ctx_destroy"),
    *words("put p iput get g iget put_nbi get_nbi"),
    *(f"atomic_{name}" for name in (*ATOMICS, "set", "inc", "add", "and", "or", "xor")),
    *words("barrier_all sync_all"),
    *words("wait_until test fence quiet clear_lock set_lock test_lock"),
}
NEW_IN_1_5 = {
    "malloc_with_hints",
    *words("team_my_pe team_n_pes team_get_config team_translate_pe team_split_strided team_split_2d team_destroy"),
    *words("team_create_ctx ctx_get_team"),
    *(f"atomic_{name}_nbi" for name in ATOMICS),
    *words("put_signal put_signal_nbi signal_fetch signal_wait_until"),
    *words("team_sync alltoall alltoalls broadcast collect fcollect"),
    *(f"{name}_reduce" for name in ("and", "or", "xor", "max", "min", "sum", "prod")),
    *(f"{verb}_{form}" for verb in ("wait_until", "test") for form in FORMS),
    "pcontrol",
}
NEW_IN_1_6 = {
    *words("query_initialized team_ptr ctx_session_start ctx_session_stop ibput ibget signal_add signal_set"),
    *words("sum_inscan sum_exscan pe_quiet"),
}
# Deprecated ones, which the table may have as well: their meaning is that of others.
OLD = {"start_pes", "barrier", "sync"}
VERSIONS = {"1.4": OF_1_4, "1.5": OF_1_4 | NEW_IN_1_5, "1.6": OF_1_4 | NEW_IN_1_5 | NEW_IN_1_6}


@pytest.mark.parametrize("version", VERSIONS)
def test_no_function_is_missing(version):
    there = {function.name for function in FUNCTIONS if function.since <= version}
    assert VERSIONS[version] - there == set()
    assert there - VERSIONS[version] - OLD == set()


def test_numbers_of_functions():
    """A slip in the lists above would show: counted by hand in the chapters of version 1.6."""
    assert (len(OF_1_4), len(NEW_IN_1_5), len(NEW_IN_1_6)) == (50, 48, 11)
    names = [function.name for function in FUNCTIONS]
    assert len(set(names)) == len(names) == 109 + len(OLD)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.name)
def test_what_does_it_in_python_is_there_and_explained(function):
    found = pyshmem
    for name in function.python.split("."):
        found = getattr(found, name)
    assert callable(found)
    text = inspect.getdoc(found)
    assert text and len(text.splitlines()[0]) > 20
    assert function.python.split(".")[0] in pyshmem.__all__
    assert function.since in VERSIONS and function.chapter[0].isupper()


def test_functions_of_one_name_do_what_their_name_says():
    other = {function.name: function.python for function in FUNCTIONS if function.python != function.name}
    assert other.keys() == {
        "team_ptr", "start_pes", "malloc", "align", "malloc_with_hints", "calloc", "team_create_ctx", "ctx_create",
        "ctx_destroy", "ctx_get_team", "ctx_session_start", "ctx_session_stop",
        *(name for name in NEW_IN_1_5 if name.startswith("team_")),
    }
    for name, python in other.items():
        if name.startswith(("team_", "ctx_")):
            kind, _, method = name.partition("_")
            assert python == f"{kind.capitalize()}.{method}", name


def test_build_info_tells_of_all_functions():
    info = pyshmem.build_info()
    assert info["functions"].keys() == {function.name for function in FUNCTIONS}
    assert set(info["functions"].values()) <= {"native", "supplied", "corrected"}
    # every engine has these, and none has all
    for name in ("init", "put", "atomic_fetch_add", "barrier_all"):
        assert info["functions"][name] == "native"
    assert "supplied" in info["functions"].values()
    version = tuple(int(part) for part in info["specification"].split("."))
    for feature in FEATURES:
        assert not info["features"][feature.macro] or version >= feature.version, feature


def test_an_engine_with_everything_and_one_with_nothing():
    everything = set(symbols_to_look_for())
    features = features_of((1, 6), everything)
    assert all(features.values())
    of_all = origins(features, everything)
    for function in FUNCTIONS:
        assert of_all[function.name] == ("native" if function.symbols else "supplied")
    nothing = features_of((1, 6), set())
    assert not any(nothing.values())
    assert set(origins(nothing, set()).values()) == {"supplied"}
    # the functions alone are not enough: Open MPI 5 has those of teams, says it is 1.4, and they fail
    old = features_of((1, 4), everything)
    assert not any(old[feature.macro] for feature in FEATURES if feature.version > (1, 4))
    assert origins(old, everything)["broadcast"] == "supplied" and origins(old, everything)["put"] == "native"
    for feature in FEATURES:
        for symbol in feature.symbols:
            assert not features_of((1, 6), everything - {symbol})[feature.macro]
