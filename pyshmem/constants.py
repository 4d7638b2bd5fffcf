"""Enumerations of the OpenSHMEM specification, with the members also as plain names (``CMP_EQ``)."""

from __future__ import annotations

import enum

from pyshmem._core.binding import CONTEXT_OPTIONS, comparison_numbers

_number = comparison_numbers()


class THREAD(enum.IntEnum):
    """Thread levels: what the program asks for and the engine grants (specification, chapter "Thread Support")."""

    SINGLE = 0
    FUNNELED = 1
    SERIALIZED = 2
    MULTIPLE = 3


class CMP(enum.IntEnum):
    """Comparisons of ``wait_until``."""

    EQ = _number["=="]
    NE = _number["!="]
    GT = _number[">"]
    LE = _number["<="]
    LT = _number["<"]
    GE = _number[">="]


class CTX(enum.IntFlag):
    """Options of contexts: what the program does without on one."""

    PRIVATE = CONTEXT_OPTIONS["PRIVATE"]
    SERIALIZED = CONTEXT_OPTIONS["SERIALIZED"]
    NOSTORE = CONTEXT_OPTIONS["NOSTORE"]


class SESSION(enum.IntFlag):
    """Options of ``Ctx.session_start``."""

    BATCH = 1


class SIGNAL(enum.IntEnum):
    """What ``put_signal`` does to the signal."""

    SET = 0
    ADD = 1


class AMO(str, enum.Enum):
    """Operations of ``atomic_op`` and its fetching forms."""

    SET = "set"
    INC = "inc"
    ADD = "add"
    AND = "and"
    OR = "or"
    XOR = "xor"

    __str__ = str.__str__


class OP(str, enum.Enum):
    """Operations of ``reduce``."""

    AND = "and"
    OR = "or"
    XOR = "xor"
    MAX = "max"
    MIN = "min"
    SUM = "sum"
    PROD = "prod"

    __str__ = str.__str__


class MALLOC(enum.IntFlag):
    """Hints for allocations."""

    ATOMICS_REMOTE = 1
    SIGNAL_REMOTE = 2
    HIGH_BANDWIDTH = 1 << 16


THREAD_SINGLE = THREAD.SINGLE
THREAD_FUNNELED = THREAD.FUNNELED
THREAD_SERIALIZED = THREAD.SERIALIZED
THREAD_MULTIPLE = THREAD.MULTIPLE
CTX_PRIVATE = CTX.PRIVATE
CTX_SERIALIZED = CTX.SERIALIZED
CTX_NOSTORE = CTX.NOSTORE
SIGNAL_SET = SIGNAL.SET
SIGNAL_ADD = SIGNAL.ADD
AMO_SET = AMO.SET
AMO_INC = AMO.INC
AMO_ADD = AMO.ADD
AMO_AND = AMO.AND
AMO_OR = AMO.OR
AMO_XOR = AMO.XOR
CMP_EQ = CMP.EQ
CMP_NE = CMP.NE
CMP_GT = CMP.GT
CMP_LE = CMP.LE
CMP_LT = CMP.LT
CMP_GE = CMP.GE
OP_AND = OP.AND
OP_OR = OP.OR
OP_XOR = OP.XOR
OP_MAX = OP.MAX
OP_MIN = OP.MIN
OP_SUM = OP.SUM
OP_PROD = OP.PROD
MALLOC_ATOMICS_REMOTE = MALLOC.ATOMICS_REMOTE
MALLOC_SIGNAL_REMOTE = MALLOC.SIGNAL_REMOTE
