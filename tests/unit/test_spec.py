"""Definitions against an independent model in Python: exact fractions for sizes, dictionaries for merging."""

from __future__ import annotations

import ctypes
import functools
import math
import string
from fractions import Fraction

import pytest
from clibrary import build
from hypothesis import given, settings
from hypothesis import strategies as st
from memory_tables import KIND, Message, Nodeset

POLICY = {"NONE": 0, "MANDATORY": 1, "PREFERRED": 2, "INTERLEAVED": 3}
REACH = {"": 0, "local": 1, "all": 2}
PROGRAM, ENVIRONMENT, ENVIRONMENT_OVER_PROGRAM = range(3)
PREFIX = "SHMEM_SYMMETRIC_PARTITION"
LIMIT = 127


class Definition(ctypes.Structure):
    _fields_ = [
        ("id", ctypes.c_int), ("name", ctypes.c_char * 64), ("size", ctypes.c_size_t), ("kinds", ctypes.c_uint),
        ("nodes", Nodeset), ("policy", ctypes.c_int), ("reach", ctypes.c_int), ("page_size", ctypes.c_size_t),
        ("thp", ctypes.c_bool), ("fallback", ctypes.c_char * 64), ("origin", ctypes.c_int),
        ("text", ctypes.c_char * 512),
    ]


class Definitions(ctypes.Structure):
    _fields_ = [("count", ctypes.c_int), ("entry", Definition * LIMIT), ("default_heap", ctypes.c_size_t),
                ("variable", ctypes.c_char * 64)]


class ProgramDefinition(ctypes.Structure):
    _fields_ = [("id", ctypes.c_int), ("name", ctypes.c_char_p), ("text", ctypes.c_char_p)]


class Refused(Exception):
    """The library's message."""


@functools.cache
def library() -> ctypes.CDLL:
    lib = build("spec", ["spec.c", "syntax.c", "message.c", "bitset.c"])
    lib.definitions_canonical.restype = ctypes.c_void_p
    return lib


def read(environment=(), program=(), engine_variable=None) -> list[Definition]:
    """What the library makes of ``NAME=value`` texts and ``(id, name, text)`` of the program."""
    return read_all(environment, program, engine_variable)[0]


def read_all(environment=(), program=(), engine_variable=None):
    entries = [text if isinstance(text, bytes) else text.encode() for text in environment]
    environ = (ctypes.c_char_p * (len(entries) + 1))(*entries, None)
    given_by_program = (ProgramDefinition * max(len(program), 1))(
        *[ProgramDefinition(number, name.encode() if name else None, text.encode()) for number, name, text in program])
    result, message = Definitions(), Message()
    status = library().definitions_read(ctypes.byref(result), environ, engine_variable, given_by_program,
                                        len(program), ctypes.byref(message))
    if status != 0:
        raise Refused(message.text.decode())
    return [result.entry[i] for i in range(result.count)], result


def one(value: str) -> Definition:
    [definition] = read([f"{PREFIX}5={value}"])
    return definition


def marked(message: str) -> str:
    """The part of the first line under which the second has its mark."""
    text, mark, sentence = message.split("\n", 2)
    assert set(mark) <= {" ", "^", "~"} and mark.count("^") == 1 and sentence
    start = mark.index("^")
    assert start < len(text) + 1
    return text[start : len(mark)]


# ---- sizes ---------------------------------------------------------------------------------------------------------

UNIT = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}


@given(st.integers(0, 2**45), st.text(string.digits, max_size=25), st.sampled_from([*UNIT, "k", "m", "g", "t"]))
def test_sizes_are_exact(whole, fraction, suffix):
    number = f"{whole}.{fraction}" if fraction else str(whole)
    expected = math.ceil(Fraction(number) * 2 ** UNIT[suffix.upper()])
    if expected == 0:
        with pytest.raises(Refused, match="zero"):
            one(f"size={number}{suffix}")
    elif expected <= 2**62:
        assert one(f"size={number}{suffix}").size == expected
    else:
        with pytest.raises(Refused, match="more than any machine"):
            one(f"size={number}{suffix}")


@pytest.mark.parametrize("text, size", [
    ("1.5g", 3 << 29), ("20m", 20 << 20), ("1", 1), ("0.5K", 512), ("007", 7), ("4T", 4 << 40),
    ("0.0000000000000000000001T", 1),
])
def test_sizes_of_the_contract(text, size):
    assert one(f"size={text}").size == size


@pytest.mark.parametrize("text, part", [
    ("0", "0"), ("0.0M", "0.0M"), ("1GB", "B"), ("0x10", "x10"), ("-1", "-1"), ("+1", "+1"), (" 1", " 1"), ("1 ", " "),
    ("1 G", " G"), ("1e3", "e3"), ("1.", "1."), (".5", ".5"), ("1.5.2", ".2"), ("inf", "inf"), ("nan", "nan"),
    ("99999999999G", "99999999999G"), ("9" * 40, "9" * 40), ("1,5G", ",5G"), ("G", "G"), ("1Q", "Q"), ("", "size="),
    ("18446744073709551616", "18446744073709551616"),
])
def test_sizes_that_are_none(text, part):
    with pytest.raises(Refused) as caught:
        one(f"size={text}")
    assert marked(str(caught.value)) == part


# ---- one definition ------------------------------------------------------------------------------------------------

KINDS = {"D": "DEFAULT", "DEFAULT": "DEFAULT", "F": "FASTMEM", "FASTMEM": "FASTMEM", "DDR": "DRAM", "DRAM": "DRAM",
         "MCDRAM": "MCDRAM", "HBM": "HBM", "CAPACITY": "CAPACITY", "CXL": "CXL", "NVM": "NVM", "GPU": "GPU"}
POLICIES = {"M": "MANDATORY", "MANDATORY": "MANDATORY", "P": "PREFERRED", "PREFERRED": "PREFERRED",
            "I": "INTERLEAVED", "INTERLEAVED": "INTERLEAVED"}
PAGES = {"4K": 4096, "2m": 2 << 20, "1G": 1 << 30, "THP": None, "thp": None}


def any_case(words):
    return st.sampled_from(sorted(words)).flatmap(
        lambda word: st.tuples(*[st.sampled_from([letter.lower(), letter.upper()]) for letter in word]).map("".join))


nodes = st.sets(st.integers(0, 1023), min_size=1, max_size=12)


@st.composite
def definitions(draw):
    """The text of a good definition, and what it must mean."""
    size = draw(st.integers(1, 2**40))
    pairs, meaning = [("size", str(size))], {"size": size, "kinds": {"DEFAULT"}, "policy": "NONE", "nodes": set(),
                                               "reach": ""}
    if draw(st.booleans()):
        if draw(st.booleans()):
            meaning["nodes"] = draw(nodes)
            pairs.append(("kind", draw(any_case(["NODES"])) + f"({','.join(map(str, meaning['nodes']))})"))
            meaning["kinds"] = {"NODES"}
        else:
            words = draw(st.lists(any_case(KINDS), min_size=1, max_size=4, unique_by=lambda word: KINDS[word.upper()]))
            if len(words) > 1:
                words = [word for word in words if KINDS[word.upper()] != "DEFAULT"]
            meaning["kinds"] = {KINDS[word.upper()] for word in words}
            pairs.append(("kind", "+".join(words)))
        if meaning["kinds"] != {"DEFAULT"}:
            meaning["policy"] = "MANDATORY"
            if draw(st.booleans()):
                word = draw(any_case(POLICIES))
                meaning["policy"] = POLICIES[word.upper()]
                if meaning["kinds"] != {"NODES"}:
                    meaning["reach"] = draw(st.sampled_from(sorted(REACH)))
                pairs.append(("policy", word + (f",{draw(any_case([meaning['reach']]))}" if meaning["reach"] else "")))
    if draw(st.booleans()):
        page = draw(st.sampled_from(sorted(PAGES)))
        meaning["page"] = PAGES[page]
        pairs.append(("pgsize", page))
    if draw(st.booleans()):
        meaning["name"] = draw(st.from_regex(r"[A-Za-z][A-Za-z0-9_-]{0,62}", fullmatch=True))
        pairs.append(("name", meaning["name"]))
    text = ":".join(f"{draw(any_case([key]))}={value}" for key, value in draw(st.permutations(pairs)))
    return text, meaning


@given(definitions(), st.integers(1, LIMIT))
@settings(max_examples=300)
def test_good_definitions(made, number):
    text, meaning = made
    [definition] = read(["PATH=/bin", f"SMA_SYMMETRIC_PARTITION{number}={text}"])
    assert definition.id == number
    assert definition.size == meaning["size"]
    assert definition.kinds == sum(1 << KIND[kind] for kind in meaning["kinds"])
    assert definition.reach == REACH[meaning["reach"]]
    assert definition.policy == POLICY[meaning["policy"]]
    assert definition.nodes.numbers() == meaning["nodes"]
    assert definition.name.decode() == meaning.get("name", f"partition{number}")
    assert definition.thp == ("page" in meaning and meaning["page"] is None)
    assert definition.page_size == (meaning.get("page") or 0)
    assert definition.origin == ENVIRONMENT


@pytest.mark.parametrize("text, part, hint", [
    ("size=1G:knd=FASTMEM", "knd", 'did you mean "kind"'),
    ("size=1G:kind=FASTMEN", "FASTMEN", 'did you mean "FASTMEM"'),
    ("size=1G:kind=HBM:policy=PREFERED", "PREFERED", 'did you mean "PREFERRED"'),
    ("size=1G:size=2G", "size=2G", "once"),
    ("size=1G:SIZE=1G", "SIZE=1G", "once"),
    ("kind=HBM", "kind=HBM", "size is missing"),
    ("size=1G:policy=M", "size=1G:policy=M", "needs a kind"),
    ("size=1G:kind=", "kind=", "no value"),
    ("size=1G:", "", "key and its value"),
    ("size=1G::kind=F", ":", "key and its value"),
    ("size", "size", "key and its value"),
    ("", "", "empty"),
    ("size=1G:name=9lives", "9lives", "letter followed by"),
    ("size=1G:name=a b", "a b", "letter followed by"),
    ("size=1G:name=" + "x" * 64, "x" * 60, "at most 63"),
    ("size=1G:kind=NODES()", ")", "0 to 1023"),
    ("size=1G:kind=NODES(4-2)", "4-2", "0 to 1023"),
    ("size=1G:kind=NODES(1024)", "1024", "0 to 1023"),
    ("size=1G:kind=NODES(1,)", ")", "0 to 1023"),
    ("size=1G:kind=NODES(1;2)", "1;2", "0 to 1023"),
    ("size=1G:kind=NODES(1", "NODES(1", "unknown kind"),
    ("size=1G:pgsize=3M", "3M", "power of two"),
    ("size=1G:pgsize=huge", "huge", "no size"),
    ("size=1G,kind=HBM", ",kind=HBM", "does not belong"),
    ("size=1G:kind=HBM+DDDR", "DDDR", 'did you mean "DDR"'),
    ("size=1G:kind=HBM+", "HBM+", "missing beside the +"),
    ("size=1G:kind=HBM+DDR+DRAM", "DRAM", "in the sum already"),
    ("size=1G:kind=HBM+DEFAULT", "HBM+DEFAULT", "cannot be part of a sum"),
    ("size=1G:kind=HBM+NODES(1)", "NODES(1)", "unknown kind"),
    ("size=1G:kind=HBM:policy=P,locl", "locl", 'did you mean "LOCAL"'),
    ("size=1G:kind=HBM:policy=P,", "", "After a policy"),
    ("size=1G:kind=HBM:policy=,all", ",", "The policies are"),
    ("size=1G:kind=NODES(1):policy=M,all", "size=1G:kind=NODES(1):policy=M,all", "says itself"),
    ("size=1G:fallback=9", "9", "letter followed by"),
])
def test_bad_definitions_are_marked(text, part, hint):
    with pytest.raises(Refused) as caught:
        one(text)
    message = str(caught.value)
    assert message.startswith(f"{PREFIX}5={text}"[:60])
    assert marked(message) == part
    assert hint in message


def test_fallbacks():
    found = read([f"{PREFIX}2=size=1:fallback=b", f"{PREFIX}3=size=1:name=b:fallback=c"], [(0, "c", "size=1")])
    assert [one.fallback for one in found] == [b"b", b"c", b""]
    with pytest.raises(Refused, match='no partition is called "d"'):
        read([f"{PREFIX}2=size=1:fallback=d"])
    for ends in ("a", "b", "c"):
        with pytest.raises(Refused, match="lead round in a circle"):
            read([], [(0, name, f"size=1:fallback={to}") for name, to in (("a", "b"), ("b", "c"), ("c", ends))])


def test_node_lists():
    assert one("size=1:kind=nodes(0,4-7,1023)").nodes.numbers() == {0, 4, 5, 6, 7, 1023}


@given(st.binary(max_size=300).filter(lambda raw: b"\0" not in raw))
@settings(max_examples=400)
def test_garbage_is_refused_in_one_readable_message(raw):
    try:
        read([PREFIX.encode() + b"3=" + raw])
    except Refused as refusal:
        assert all(letter == "\n" or " " <= letter < "\x7f" for letter in str(refusal))
        assert len(str(refusal)) < 2000
        marked(str(refusal))


@given(st.text("sizekndpolcyfb=:FASTMEMNODES()+0123456789,-KMG. ", max_size=60))
@settings(max_examples=400)
def test_near_misses_are_refused_or_mean_something(text):
    try:
        assert one(text).size > 0
    except Refused as refusal:
        marked(str(refusal))


# ---- variables -----------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("suffix", ["", "0", "128", "01", "-1", "1x", "X", "_1", "1_SIZE", "999999999999", " 1"])
def test_names_that_end_in_no_id(suffix):
    for prefix in (PREFIX, "SMA_SYMMETRIC_PARTITION"):
        with pytest.raises(Refused, match="no partition ID"):
            read([f"{prefix}{suffix}=size=1M"])


@pytest.mark.parametrize("name, meant", [
    ("SHMEM_SYMMETRIC_PARTITON2", "SHMEM_SYMMETRIC_PARTITION2"), ("SHEM_SYMMETRIC_PARTITION12", f"{PREFIX}12"),
    ("shmem_symmetric_partition3", f"{PREFIX}3"), ("SHMEM_SYMMETRIC_PARTITIO", PREFIX),
    ("SHMEM_PARTITION_RULE", "SHMEM_PARTITION_RULES"), ("SHMEM_PARTITIONS_RULES", "SHMEM_PARTITION_RULES")])
def test_misspelt_names_are_refused(name, meant):
    with pytest.raises(Refused) as caught:
        read([f"{PREFIX}1=size=1M", f"{name}=size=1M"])
    assert str(caught.value) == f"{name}\nthere is no such variable; did you mean {meant}?"


def test_both_spellings():
    assert len(read([f"{PREFIX}2=size=1M", "SMA_SYMMETRIC_PARTITION2=size=1M"])) == 1
    with pytest.raises(Refused, match="two spellings of one variable") as caught:
        read([f"{PREFIX}2=size=1M", "SMA_SYMMETRIC_PARTITION2=size=2M"])
    assert f"{PREFIX}2=size=1M" in str(caught.value) and "SMA_SYMMETRIC_PARTITION2=size=2M" in str(caught.value)


def test_all_ids_in_order():
    found = read([f"{PREFIX}{number}=size={number}" for number in range(LIMIT, 0, -1)])
    assert [(d.id, d.size) for d in found] == [(number, number) for number in range(1, LIMIT + 1)]


def test_other_variables_do_not_matter():
    others = ["SHMEM_DEBUG=1", "nonsense", f"MY_{PREFIX}2=x", "MY_SYMMETRIC_PARTITION1=x", "SHMEM_SYMMETRIC_SIZE=1M",
              "SHMEM_SYMMETRIC_HEAP_SIZE=1M", "SHMEM_PARTITION_RULES=", "SHMEM_PARTITION=1", "S=", "="]
    assert read(others) == []


@pytest.mark.parametrize("settings_, heap", [
    (["SHMEM_SYMMETRIC_SIZE=1G"], 1 << 30), (["SMA_SYMMETRIC_SIZE=64m"], 64 << 20), (["ENGINE_SIZE=5"], 5),
    (["SHMEM_SYMMETRIC_SIZE=1G", "SMA_SYMMETRIC_SIZE=1024M", "ENGINE_SIZE=1073741824"], 1 << 30), ([], 0),
])
def test_size_of_the_default_heap(settings_, heap):
    assert read_all(settings_, engine_variable=b"ENGINE_SIZE")[1].default_heap == heap


def test_sizes_of_the_default_heap_that_contradict():
    with pytest.raises(Refused, match="differ"):
        read(["SHMEM_SYMMETRIC_SIZE=1G", "SMA_SYMMETRIC_SIZE=2G"])
    with pytest.raises(Refused, match="two sizes for one heap"):
        read(["SHMEM_SYMMETRIC_SIZE=1G", f"{PREFIX}1=size=1G"])
    with pytest.raises(Refused, match="two sizes for one heap"):
        read(["SMA_SYMMETRIC_SIZE=1G"], [(1, None, "size=1G")])
    with pytest.raises(Refused, match="size"):
        read(["SHMEM_SYMMETRIC_SIZE="])


# ---- merging -------------------------------------------------------------------------------------------------------

names = st.sampled_from(["fast", "slow", "big", "work"])


@given(st.dictionaries(st.integers(1, 6), st.none() | names, max_size=4),
       st.lists(st.tuples(st.sampled_from([0, 0, 1, 2, 3, 5]), st.none() | names), max_size=4))
@settings(max_examples=500)
def test_merging(environment, program):
    """The environment wins over the same name or ID; names without an ID take the lowest free one from 2 up."""
    expected = model(environment, program)
    variables = [f"{PREFIX}{number}=size={100 + number}" + (f":name={name}" if name else "")
                 for number, name in environment.items()]
    given_by_program = [(number, name, f"size={200 + i}") for i, (number, name) in enumerate(program)]
    if expected is None:
        with pytest.raises(Refused):
            read(variables, given_by_program)
        return
    found = {d.id: (d.name.decode(), d.size, d.origin) for d in read(variables, given_by_program)}
    assert found == expected


def model(environment, program):
    merged = {number: [name, 100 + number, ENVIRONMENT] for number, name in environment.items()}
    named = [name for name in environment.values() if name]
    if len(set(named)) < len(named):
        return None
    own, waiting = {}, []
    for i, (number, name) in enumerate(program):
        by_id = merged.get(number) if number else None
        by_name = next((entry for entry in merged.values() if name and entry[0] == name), None)
        if (number and number in own) or (name and name in [entry[0] for entry in [*own.values(), *waiting]]):
            return None
        if by_id and by_name and by_id is not by_name:
            return None
        winner = by_name or by_id
        if winner is None:
            entry = [name, 200 + i, PROGRAM]
            if number:
                own[number] = entry
            else:
                waiting.append(entry)
        elif winner[2] == ENVIRONMENT_OVER_PROGRAM:
            return None
        else:
            winner[0], winner[2] = winner[0] or name, ENVIRONMENT_OVER_PROGRAM
    merged |= own
    for entry in waiting:
        free = next(number for number in range(2, LIMIT + 1) if number not in merged)
        merged[free] = entry
    result = {number: (name or f"partition{number}", size, origin) for number, (name, size, origin) in merged.items()}
    return None if len({name for name, _, _ in result.values()}) < len(result) else result


def test_default_names_are_taken_too():
    with pytest.raises(Refused, match='both partitions are called "partition3"'):
        read([f"{PREFIX}3=size=1", f"{PREFIX}4=size=1:name=partition3"])


@pytest.mark.parametrize("name", ["9a", "a:b", "a b", "x" * 64, "ä", "a=b"])
def test_names_of_the_program_are_checked(name):
    with pytest.raises(Refused, match="cannot be a name"):
        read([], [(0, name, "size=1")])


def test_name_by_key_and_by_definition():
    assert read([], [(0, "a", "size=1:name=a")])[0].name == b"a"
    with pytest.raises(Refused, match='called "a" by its key and "b" by its definition'):
        read([], [(0, "a", "size=1:name=b")])
    for number in (-1, 128):
        with pytest.raises(Refused, match="IDs are the numbers 1 to 127"):
            read([], [(number, None, "size=1")])


def canonical(environment=(), program=()):
    _, everything = read_all(environment, program)
    address = library().definitions_canonical(ctypes.byref(everything))
    text = ctypes.string_at(address).decode()
    ctypes.CDLL(None).free(ctypes.c_void_p(address))
    return text


def test_canonical_text_is_about_meaning():
    base = canonical([f"{PREFIX}2=size=1024:kind=F:name=a"])
    assert base == canonical(["SMA_SYMMETRIC_PARTITION2=name=a:policy=m:KIND=fastmem:size=1k"])
    assert base == canonical([], [(2, "a", "size=1K:kind=FASTMEM")])
    for other in ("size=1025:kind=F:name=a", "size=1K:kind=HBM:name=a", "size=1K:kind=F:name=b",
                  "size=1K:kind=F:name=a:policy=P", "size=1K:kind=F:name=a:pgsize=2M",
                  "size=1K:kind=F:name=a:pgsize=THP", "size=1K:kind=NODES(1):name=a", "size=1K:kind=F+DDR:name=a",
                  "size=1K:kind=F:name=a:policy=M,all"):
        assert base != canonical([f"{PREFIX}2={other}"])
    assert canonical([f"{PREFIX}2=size=1:kind=NODES(1)"]) != canonical([f"{PREFIX}2=size=1:kind=NODES(2)"])
    assert canonical() != canonical(["SHMEM_SYMMETRIC_SIZE=1G"])
    assert base.endswith("\n")
