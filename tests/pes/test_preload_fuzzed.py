"""A program without the library, with it preloaded and watched by sanitizers, in environments that nobody would write.

Whatever the environment says, one of two things happens.  Either the program runs, and its memory holds what it wrote
(``preload/fuzzed.c``); or the job ends with status 1 and one message of ours, which names a variable.  Good definitions
by construction are taken, and the partitions have the bytes that they say; names that are no partition's are refused.

PYSHMEM_TEST_EXAMPLES=100 tries so many environments of each sort, others each time; without it a few, always the same.
"""

from __future__ import annotations

import math
import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st
from jobs import Result, launcher, run_command
from watched import ELSEWHERE, sanitized_program

EXAMPLES = int(os.environ.get("PYSHMEM_TEST_EXAMPLES", "0"))
# To make a failing one smaller takes many jobs.
few = settings(max_examples=EXAMPLES or 4, derandomize=not EXAMPLES, phases=[Phase.explicit, Phase.generate])
EXACT = str(Path(__file__).with_name("exact_environment.py"))
PREFIXES = ("SHMEM_SYMMETRIC_PARTITION", "SMA_SYMMETRIC_PARTITION")
SANITIZERS = {"ASAN_OPTIONS": "detect_leaks=0:exitcode=99", "UBSAN_OPTIONS": "exitcode=99"}
FAULT = re.compile(r"Sanitizer|runtime error|[Ss]ignal|SIGNAL|Segmentation|core dumped|Assertion|\(-\d+\) instead of")
ADVICE = "as in SHMEM_SYMMETRIC_PARTITION2"  # which names a variable, but not the one that is wrong


@dataclass
class Case:
    """An environment, and what must become of it."""

    entries: list[tuple[bytes, bytes]]
    partitions: list[str]  # in the words of fuzzed.c
    taken: bool | None = None  # None: nobody knows

    def raw(self) -> bytes:
        return b"".join(name + b"=" + value + b"\0" for name, value in self.entries)


# ---- good ones -------------------------------------------------------------------------------------------------------

UNITS = {"": 0, "K": 10, "k": 10, "M": 20, "m": 20}
KINDS = ["DEFAULT", "d", "NODES(0)", "nodes(0)", "Nodes(0-0)", "DDR", "dram", "FASTMEM", "f", "HBM", "MCDRAM", "CXL",
         "nvm", "Capacity", "GPU", "HBM+DDR", "fastmem+capacity"]
SWITCHES = {"PYSHMEM_EARLY": ["0", "1", ""], "PYSHMEM_POPULATE": ["0", "1", ""], "PYSHMEM_REPORT": ["0", "1", ""]}


@st.composite
def sizes(draw):
    """The text of a size below 8 MiB, and its bytes."""
    unit = draw(st.sampled_from(sorted(UNITS)))
    number = draw(st.integers(1, (8 << 20 >> UNITS[unit]) - 1))
    fraction = draw(st.sampled_from(["", "5", "25", "000"])) if unit else ""
    text = f"{number}.{fraction}" if fraction else str(number)
    return text + unit, math.ceil(float(text) * 2 ** UNITS[unit])


@st.composite
def bindings(draw):
    """Kind, policy and page size that every machine has, or need not have."""
    kind = draw(st.none() | st.sampled_from(KINDS))
    pairs = [] if kind is None else [("kind", kind)]
    if kind and kind.upper().startswith("NODES"):
        policy = draw(st.sampled_from([None, "M", "mandatory", "P", "i", "INTERLEAVED"]))
        pairs += [] if policy is None else [("policy", policy)]
    elif kind and kind.upper() not in ("D", "DEFAULT"):
        pairs.append(("policy", draw(st.sampled_from(["P", "preferred", "Preferred,local", "p,all"]))))
    return pairs + draw(st.sampled_from([[], [], [("pgsize", "4k")]]))


def drawn_name(draw, number, taken):
    """A name of its own; None for the one that it has without."""
    name = draw(st.none() | st.sampled_from(["fast", "Fast", "a", "x" * 63]) |
                st.from_regex(r"[A-Za-z][A-Za-z0-9_-]{0,10}", fullmatch=True))
    free = name and name != "default" and name not in taken and not name.startswith("partition")
    return name if free else None


@st.composite
def conditions(draw):
    least = draw(st.integers(1, 100000))
    site = draw(st.sampled_from(["", "site=fuzzed", " site=libfoo.so", "SITE=none.so.1 "]))
    size = draw(st.sampled_from(["", f"size>={least}", f" SIZE > {least} ".replace(" > ", ">"), f"size<={least}",
                                 f"size>={least},size<={least}", "size<64M"]))
    return ",".join(filter(None, [site, size])) or "size>4K"


@st.composite
def good(draw):
    """An environment that every machine can give."""
    entries, partitions, names = [], [], []
    numbers = draw(st.lists(st.integers(1, 127) | st.integers(1, 3), min_size=1, max_size=4, unique=True))
    for number in numbers:
        text, size = draw(sizes())
        name = drawn_name(draw, number, names)
        fallback = draw(st.none() | st.sampled_from(names)) if names else None
        pairs = [("size", text), *draw(bindings()), ("name", name), ("fallback", fallback)]
        pairs = draw(st.permutations([(key, value) for key, value in pairs if value is not None]))
        spell = draw(st.sampled_from([str.lower, str.upper, str.title]))
        value = ":".join(f"{spell(key)}={value}" for key, value in pairs).encode()
        spellings = draw(st.sampled_from([PREFIXES[:1], PREFIXES[1:], PREFIXES]))
        entries += [(f"{prefix}{number}".encode(), value) for prefix in spellings]
        partitions.append(f"{number}{'+' if fallback else ':'}{size}")
        names.append(name or f"partition{number}")
    targets = st.sampled_from([*names, *map(str, numbers), "default"])
    rules = [f"{draw(conditions())}:{draw(targets)}" for _ in range(draw(st.integers(0, 4)))]
    if rules:
        entries.append((b"SHMEM_PARTITION_RULES", ";".join(rules).encode()))
    for name, values in SWITCHES.items():
        if draw(st.booleans()):
            entries.append((name.encode(), draw(st.sampled_from(values)).encode()))
    if 1 not in numbers and draw(st.booleans()):
        entries.append((draw(st.sampled_from([b"SHMEM_SYMMETRIC_SIZE", b"SMA_SYMMETRIC_SIZE"])), b"65536k"))
    return Case(draw(st.permutations(entries)), partitions, taken=True)


# ---- good ones gone bad ----------------------------------------------------------------------------------------------

# With few units, as a size that is just within the machine's is one that it must make.
PIECES = [b"", b":", b"=", b"::", b"+", b",", b";", b"(", b")", b"-", b" ", b"\t", b"\n", b"0", b"1", b".", b"9" * 40,
          b"99999999999G", b"999T", b"kind=HBM", b"policy=I", b"NODES(0-1023)", b"NODES(1024)", b"name=fast",
          b"name=a", b"fallback=a", b"size=1M",
          b"pgsize=THP", b"pgsize=3", b"%s%n", b"\xff\xfe", b"\xc3\xa4", b"\x7f", b"\x1b[31m"]
NO_ID = [b"", b"0", b"128", b"01", b"001", b"-1", b"1x", b" 1", b"_1", b"1_SIZE", b"999999999999999999999", b"%n",
         b"7" * 4000]
SIZES = (b"SHMEM_SYMMETRIC_SIZE", b"SMA_SYMMETRIC_SIZE")  # only good ones: a huge one, let through, fills all memory


@st.composite
def mutated(draw):
    """A good environment with one or two faults, which may be none."""
    case = draw(good())
    entries = case.entries
    for _ in range(draw(st.integers(1, 2))):
        which = draw(st.sampled_from([i for i, (name, _) in enumerate(entries) if name not in SIZES]))
        name, value = entries[which]
        start = draw(st.integers(0, len(value)))
        end = draw(st.sampled_from([start, start + 1, start + 3, len(value)]))
        entries[which] = name, value[:start] + draw(st.sampled_from(PIECES)) + value[end:]
    if draw(st.integers(0, 3)) == 0:
        entries.append(draw(st.sampled_from(entries)))
    return Case(entries, [])


@st.composite
def misnamed(draw):
    """A good environment, and beside it a variable that is nearly a partition's."""
    case = draw(good())
    name = draw(st.sampled_from(PREFIXES)).encode() + draw(st.sampled_from(NO_ID))
    entry = name, draw(st.sampled_from([b"size=1M", b"", b"\xff", b"size=1M:name=other"]))
    place = draw(st.integers(0, len(case.entries)))
    return Case([*case.entries[:place], entry, *case.entries[place:]], [], taken=False)


# ---- bytes -----------------------------------------------------------------------------------------------------------

LONGEST = 100_000  # the kernel takes 128 KiB
bytes_of_all_sorts = st.one_of(
    st.binary(max_size=300).map(lambda raw: raw.replace(b"\0", b"")),
    st.builds(lambda start, piece, times: start + (piece * times)[:LONGEST],
              st.sampled_from([b"", b"size=1M:", b"size=1M:kind=NODES(", b"size=1M:name=", b"size=", b"size>1:"]),
              st.sampled_from([piece for piece in PIECES if piece] + [b"x", b"size=1M:", b"size>1:default;"]),
              st.sampled_from([1, 3, 63, 64, 65, 191, 512, 2048, LONGEST])))
VARIABLES = [b"SHMEM_SYMMETRIC_PARTITION1", b"SMA_SYMMETRIC_PARTITION1", b"SHMEM_SYMMETRIC_PARTITION127",
             b"SMA_SYMMETRIC_PARTITION3", b"SHMEM_PARTITION_RULES", *map(str.encode, SWITCHES)]


@st.composite
def rubbish(draw):
    """Any bytes in some of the variables, beside a good partition or not."""
    values = draw(st.dictionaries(st.sampled_from(VARIABLES), bytes_of_all_sorts, min_size=1, max_size=4))
    if draw(st.booleans()) or not set(values) & set(VARIABLES[:5]):
        values[b"SHMEM_SYMMETRIC_PARTITION2"] = b"size=1M:kind=NODES(0)"
    return Case(list(values.items()), [])


# ---- what becomes of them --------------------------------------------------------------------------------------------


def shown(name: bytes) -> str:
    """As much of a variable's name as messages have at least; bytes that are no text as \\xff."""
    return "".join(chr(byte) if 0x20 <= byte < 0x7F else f"\\x{byte:02x}" for byte in name[:58])


def messages(output: str) -> list[str]:
    """Ours, each up to the next; warnings are none."""
    texts = output.replace(ADVICE, "").split("shmem_partition: ")[1:]
    return [text for text in texts if not text.startswith("warning: ")]


def check_end(case: Case, result: Result, pes: int) -> None:
    told = f"status {result.status}, {str(case)[:3000]}\n{result.output[:3000]}"
    right = result.output.count("memory is right")
    assert not FAULT.search(result.output) and result.status in (0, 1), told
    assert all(letter in "\n\t" or " " <= letter < "\x7f" for letter in result.output), told
    assert case.taken is None or case.taken == (result.status == 0), told
    if result.status == 0:
        assert right == pes, told
        return
    said = messages(result.output)
    assert right == 0 and len(said) == 1, told
    assert any(shown(name) in said[0] for name, _ in case.entries), told


@pytest.fixture(scope="module")
def check(sanitized_environment, tmp_path_factory):
    directory = tmp_path_factory.mktemp("fuzzed")
    program, entries = sanitized_program(directory, "fuzzed"), directory / "entries"
    first = "".join(f"{name}={value}\0" for name, value in sanitized_environment.items()).encode()

    def check(case, pes):
        """The environment is the program's alone: what launchers do with it is their own affair."""
        entries.write_bytes(first + case.raw())
        command = [*launcher(), "run", "-n", str(pes), "--", sys.executable, EXACT, str(entries), program]
        result = run_command([*command, *case.partitions], ELSEWHERE | SANITIZERS)
        check_end(case, result, pes)
        return result

    return check


one_or_two = st.sampled_from([1, 1, 1, 2])


@given(case=good(), pes=one_or_two)
@few
def test_good_environments_are_taken(check, case, pes):
    check(case, pes)


@given(case=mutated(), pes=one_or_two)
@few
def test_faults_are_refused_or_harmless(check, case, pes):
    check(case, pes)


@given(case=misnamed(), pes=one_or_two)
@few
def test_names_of_no_partition_are_refused(check, case, pes):
    check(case, pes)


RULE = b"size>1:default"


@given(case=rubbish(), pes=one_or_two)
@example(Case([(b"SHMEM_SYMMETRIC_PARTITION3", b"size=1M:" * 12500)], [], taken=False), 1)
@example(Case([(b"SHMEM_PARTITION_RULES", b";".join([RULE] * 64))], [], taken=True), 1)
@example(Case([(b"SHMEM_PARTITION_RULES", b";".join([RULE] * 65))], [], taken=False), 2)
@few
def test_any_bytes_are_refused_or_harmless(check, case, pes):
    check(case, pes)


# ---- what must not reach the engine, or the screen -------------------------------------------------------------------

GOOD = (b"SHMEM_SYMMETRIC_PARTITION2", b"size=1M")


@pytest.mark.parametrize("end", [b"\xff", b"1\n"])
def test_names_that_are_no_text_are_shown_as_text(check, end):
    check(Case([GOOD, (b"SHMEM_SYMMETRIC_PARTITION" + end, b"size=1M")], [], taken=False), 1)


@pytest.mark.parametrize("size, pes", [(b"rubbish", 1), (b"rubbish", 2), (b"0", 1), (b"-1", 1), (b"1e400", 1),
                                       (b"", 1)])
def test_heap_sizes_that_are_none_are_refused_in_our_words(check, size, pes):
    """Given to the engine it would end the job before our words are said."""
    check(Case([GOOD, *[(name, size) for name in SIZES]], [], taken=False), pes)


@pytest.mark.parametrize("entries, named", [
    ([(b"SHMEM_SYMMETRIC_PARTITION1", b"size=100T"), (b"SHMEM_SYMMETRIC_PARTITION2", b"size=100T")], "PARTITION2"),
    ([(b"SHMEM_SYMMETRIC_PARTITION2", b"size=16000000T")], "PARTITION2"),
    ([GOOD, (SIZES[0], b"200T")], "SIZE"),
    ([GOOD, (SIZES[0], b"16777215T")], "SIZE")])
def test_heaps_larger_than_any_address_space_are_refused_with_a_name(check, entries, named):
    result = check(Case(entries, [], taken=False), 1)
    assert named in result.output.split("128 TiB")[0], result.output
