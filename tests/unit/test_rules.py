"""Rules for allocations against a model in Python: conditions as functions, the first that holds wins."""

from __future__ import annotations

import ctypes
import functools
import operator

import pytest
from clibrary import build
from hypothesis import example, given
from hypothesis import strategies as st
from memory_tables import Message
from test_spec import Definitions, Refused, marked

LIMIT, SITE, TEXT = 64, 128, 192
NAMES = {"fast": 2, "slow": 3, "default": 0, "2": 2, "3": 3, "far": 127, "127": 127}
COMPARE = {">=": operator.ge, ">": operator.gt, "<=": operator.le, "<": operator.lt}
UNITS = {"": 1, "K": 1 << 10, "m": 1 << 20, "G": 1 << 30}


class Rule(ctypes.Structure):
    _fields_ = [("least", ctypes.c_size_t), ("most", ctypes.c_size_t), ("site", ctypes.c_char * SITE),
                ("partition", ctypes.c_int), ("taken", ctypes.c_size_t), ("text", ctypes.c_char * TEXT)]


class Rules(ctypes.Structure):
    _fields_ = [("count", ctypes.c_int), ("ask_site", ctypes.c_bool), ("entry", Rule * LIMIT)]


@functools.cache
def library() -> ctypes.CDLL:
    lib = build("rules", ["rules.c", "spec.c", "syntax.c", "message.c", "bitset.c"])
    lib.rules_find.restype = ctypes.POINTER(Rule)
    lib.rules_canonical.restype = ctypes.c_void_p
    lib.free_text = ctypes.CDLL(None).free
    lib.free_text.argtypes = [ctypes.c_void_p]
    return lib


@functools.cache
def definitions() -> Definitions:
    made = Definitions(count=3)
    for entry, (number, name) in zip(made.entry, [(2, b"fast"), (3, b"slow"), (127, b"far")], strict=False):
        entry.id, entry.name = number, name
    return made


def read(text: str | bytes) -> Rules:
    rules, message = Rules(), Message()
    value = text if isinstance(text, bytes) else text.encode()
    if library().rules_read(ctypes.byref(rules), value, ctypes.byref(definitions()), ctypes.byref(message)) != 0:
        raise Refused(message.text.decode())
    assert message.text == b""
    return rules


def decide(rules: Rules, size: int, site: str | None) -> int | None:
    """The partition that a rule gives; None if no rule holds."""
    found = library().rules_find(ctypes.byref(rules), ctypes.c_size_t(size), site and site.encode())
    return found.contents.partition if found else None


def canonical(rules: Rules) -> str:
    pointer = library().rules_canonical(ctypes.byref(rules))
    text = ctypes.string_at(pointer).decode()
    library().free_text(pointer)
    return text


sizes = st.tuples(st.integers(1, 2000), st.sampled_from(sorted(UNITS)))
size_conditions = st.tuples(st.sampled_from(sorted(COMPARE)), sizes)
file_names = st.sampled_from(["libfoo.so", "libfoo", "libbar.so.2", "app", "foo.so"])
conditions = st.lists(st.one_of(size_conditions, file_names), min_size=1, max_size=3).filter(
    lambda chosen: sum(isinstance(one, str) for one in chosen) <= 1)
blanks = st.sampled_from(["", " ", "  "])


def condition_text(condition) -> str:
    if isinstance(condition, str):
        return f"site={condition}"
    comparison, (number, unit) = condition
    return f"size{comparison}{number}{unit}"


def is_site(path: str | None, name: str) -> bool:
    base = (path or "").rsplit("/", 1)[-1]
    return base == name or (name.endswith(".so") and base.startswith(name + "."))


def holds(condition, size: int, path: str | None) -> bool:
    if isinstance(condition, str):
        return is_site(path, condition)
    comparison, (number, unit) = condition
    return COMPARE[comparison](size, number * UNITS[unit])


def is_possible(rule) -> bool:
    """Whether the size conditions of a rule hold for any size: for 1, or one at an edge of them."""
    limits = [condition for condition in rule if not isinstance(condition, str)]
    edges = {1} | {number * UNITS[unit] + off for _, (number, unit) in limits for off in (-1, 0, 1)}
    return any(all(holds(one, size, None) for one in limits) for size in edges if size > 0)


near_edges = st.builds(lambda pair, off: max(pair[0] * UNITS[pair[1]] + off, 1), sizes, st.integers(-1, 1))
paths = st.sampled_from([None, "app", "/x/app", "/usr/lib/libfoo.so.1.2", "libfoo.so", "libfoo.sox", "/a/libbar.so.2",
                         "libbar.so.21"])


@given(st.lists(st.tuples(conditions, st.sampled_from(sorted(NAMES)), blanks), min_size=1, max_size=5),
       st.lists(st.tuples(st.one_of(st.integers(1, 1 << 41), near_edges), paths), min_size=1, max_size=8))
def test_first_rule_that_holds_wins(chosen, allocations):
    text = ";".join(f"{blank}{','.join(map(condition_text, one))}:{blank}{name}{blank}" for one, name, blank in chosen)
    if not all(is_possible(one) for one, _, _ in chosen):
        with pytest.raises(Refused, match="no size holds here"):
            read(text)
        return
    rules = read(text)
    for size, path in allocations:
        expected = next((NAMES[name] for one, name, _ in chosen if all(holds(c, size, path) for c in one)), None)
        assert decide(rules, size, path) == expected


@given(st.binary(max_size=80).filter(lambda text: b"\0" not in text))
@example(b"size")
@example(b"size>=:fast")
@example(b"site=" + b"x" * 5000 + b":fast")
@example(b";" * 5000)
def test_any_text_is_taken_or_refused_with_a_mark(text):
    try:
        read(text)
    except Refused as refused:
        first, mark, sentence = str(refused).split("\n", 2)
        assert first.startswith("SHMEM_PARTITION_RULES=") and "^" in mark and sentence


@given(st.text(alphabet="size=<>0123456789KMG:;, fastdeul.o", max_size=60))
def test_pieces_of_rules_are_taken_or_refused_with_a_mark(text):
    test_any_text_is_taken_or_refused_with_a_mark.hypothesis.inner_test(text.encode())


@pytest.mark.parametrize("text, part, sentence", [
    ("", "", "this is no rule"),
    ("size>=64M:fast;", "", "this is no rule"),
    ("size>=64M", "size>=64M", "a colon and a partition"),
    ("size>=64Mfast:2", "fast", "does not belong to a size"),
    ("size>=64M:fats", "fats", "no partition has this name or ID"),
    ("size>=64M:4", "4", "no partition has this name or ID"),
    ("size>=64M:02", "02", "no partition has this name or ID"),
    ("size>=64M:", "", "a partition is missing"),
    ("size=64M:fast", "size=64M", "size>=, size>, size<=, size<"),
    ("size>=:fast", "size>=", "a size is missing"),
    ("size<0:fast", "0", "a size of zero"),
    ("size<4K,size>=4K:fast", "size>=4K", "no size holds here"),
    ("site=/usr/lib/libfoo.so:slow", "/usr/lib/libfoo.so", "without its directory"),
    ("site=:slow", "site=", "no file's name"),
    ("site=a,site=b:slow", "site=b", "a site was given before"),
    ("weight>3:slow", "weight>3", "this is no condition"),
    (",size>3:slow", "", "a condition is missing"),
])
def test_fault_is_marked_where_it_is(text, part, sentence):
    with pytest.raises(Refused) as refused:
        read(text)
    message = str(refused.value)
    assert sentence in message
    if part:
        assert marked(message) == part


def test_many_rules():
    assert read(";".join(["size>1:fast"] * LIMIT)).count == LIMIT
    with pytest.raises(Refused, match="more than 64 rules"):
        read(";".join(["size>1:fast"] * (LIMIT + 1)))


def test_canonical_text_is_the_meaning():
    assert canonical(read("size>=4K:fast")) == canonical(read(" SIZE>4095 : 2 "))
    texts = [canonical(read(text)) for text in
             ("size>=4K:fast", "size>4K:fast", "size>=4K:slow", "size>=4K,site=a:fast", "size>=4K:fast;size<4K:fast")]
    assert len(set(texts)) == len(texts)
