"""Enumerations of the OpenSHMEM specification, with the members also as plain names (``CMP_EQ``)."""

from __future__ import annotations

import enum

from pyshmem._core.binding import comparison_numbers

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
