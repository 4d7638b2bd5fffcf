"""The namespace for programs written for shmem4py: importing it starts OpenSHMEM.

It has all of shmem4py 1.0, and all of pyshmem.  ``pyshmem.rc``, or ``SHMEM4PY_RC_INITIALIZE``, ``_THREADS``,
``_THREAD_LEVEL`` and ``_FINALIZE`` in the environment, say how it starts: ``rc.initialize = False`` before the import
prevents that.

Programs ask it what they may use, so the version and the name are those of the namespace, which has the whole of its
version whatever the engine has; ``pyshmem.info_get_version()`` and ``info_get_name()`` tell the engine's.
"""

from __future__ import annotations

import os as _os
from collections.abc import Sequence as _Sequence
from importlib import import_module as _import_module
from importlib.util import find_spec as _find_spec
from types import SimpleNamespace as _SimpleNamespace
from typing import Any as _Any
from typing import Literal as _Literal

import numpy as np
from numpy.typing import DTypeLike as _DTypeLike
from numpy.typing import NDArray as _NDArray

import pyshmem as _pyshmem
from pyshmem import *  # noqa: F403
from pyshmem import constants as _constants
from pyshmem import rc as _rc
from pyshmem.specification import FUNCTIONS as _FUNCTIONS

_build = _pyshmem.build_info()

MAJOR_VERSION, MINOR_VERSION = max(tuple(map(int, function.since.split("."))) for function in _FUNCTIONS)
VENDOR_STRING = f"pyshmem on {_build['engine']} {_build['engine_version']}"

# ``ffi`` and ``lib`` are made when they are first asked for: they need cffi, which few programs do.
_MADE_LATER = ("ffi", "lib")

__all__ = [*_pyshmem.__all__, "MAJOR_VERSION", "MINOR_VERSION", "VENDOR_STRING", "np"]
if _find_spec("cffi"):
    __all__ += _MADE_LATER


def info_get_version() -> tuple[int, int]:  # type: ignore[no-redef]
    """The ``(major, minor)`` version of the specification that this namespace has the whole of."""
    return MAJOR_VERSION, MINOR_VERSION


def info_get_name() -> str:  # type: ignore[no-redef]
    """Who does the work: pyshmem, and the engine below it."""
    return VENDOR_STRING


def fromalloc(  # type: ignore[no-redef]
    mem: memoryview, shape: int | _Sequence[int] | None = None, dtype: _DTypeLike | None = None,
    order: _Literal["C", "F"] = "C",
) -> _NDArray[_Any]:
    """An array over memory from ``alloc()``, or over a part of it. Local.

    Parameters
    ----------
    mem : memoryview
        What ``alloc()`` returned, or a contiguous part of that.
    shape : int or sequence of int, optional
        One length may be -1, which is what fits; the default is one dimension of as many elements as fit.
    dtype : data-type, optional
        Type of the elements; the default is ``float``.
    order : {'C', 'F'}
        Memory layout.
    """
    kind = np.dtype(dtype)
    is_part = isinstance(mem, memoryview) and mem.nbytes != getattr(mem.obj, "nbytes", mem.nbytes)
    if is_part or (shape is not None and -1 in np.atleast_1d(shape)):
        elements = np.broadcast_to(np.False_, mem.nbytes // kind.itemsize)
        shape = elements.shape if shape is None else elements.reshape(shape).shape
    return np.ndarray(shape or (), kind, mem, order=order) if is_part else _pyshmem.fromalloc(mem, shape, kind, order)


# ---- C, as cffi has it -----------------------------------------------------------------------------------------------

# dtype characters, the specification's names and C's.
_C_TYPES = {
    "c": ("char", "char"), "b": ("schar", "signed char"), "h": ("short", "short"), "i": ("int", "int"),
    "l": ("long", "long"), "q": ("longlong", "long long"), "B": ("uchar", "unsigned char"),
    "H": ("ushort", "unsigned short"), "I": ("uint", "unsigned int"), "L": ("ulong", "unsigned long"),
    "Q": ("ulonglong", "unsigned long long"), "f": ("float", "float"), "d": ("double", "double"),
    "g": ("longdouble", "long double"), "F": ("complexf", "float _Complex"), "D": ("complexd", "double _Complex"),
}


def _new_ffi() -> _Any:
    try:
        return _import_module("cffi").FFI()
    except ImportError as error:
        raise ImportError("shmem.ffi and shmem.lib need cffi: pip install pyshmem-openshmem[shmem4py]") from error


def _new_lib() -> _Any:
    """The constants of OpenSHMEM as C programs know them; teams and contexts are those of Python."""
    kinds = (_constants.THREAD, _constants.MALLOC, _constants.CTX, _constants.SIGNAL, _constants.CMP)
    names = {f"SHMEM_{kind.__name__}_{member.name}": int(member) for kind in kinds for member in kind}
    objects = {f"SHMEM_{name}": getattr(_pyshmem, name) for name in
               ("TEAM_WORLD", "TEAM_SHARED", "TEAM_INVALID", "CTX_DEFAULT", "CTX_INVALID")}
    ffi = __getattr__("ffi")
    return _SimpleNamespace(
        SHMEM_MAJOR_VERSION=MAJOR_VERSION, SHMEM_MINOR_VERSION=MINOR_VERSION, SHMEM_MAX_NAME_LEN=256,
        SHMEM_VENDOR_STRING=ffi.new("char[]", VENDOR_STRING.encode()), SHMEM_TEAM_NUM_CONTEXTS=1, **names, **objects,
    )


def _getbuffer(obj: _NDArray[_Any], readonly: bool = False) -> tuple[_Any, int, str]:
    """The data of an array as cffi has it, the number of its elements, and the specification's name of their type."""
    if not isinstance(obj, np.ndarray):
        raise TypeError(f"a NumPy array is wanted, not {type(obj).__name__}")
    if not (readonly or obj.flags.writeable):
        raise ValueError("the array is read-only")
    if not (obj.flags.c_contiguous or obj.flags.f_contiguous):
        raise ValueError("the array is not contiguous")
    name, c_type = _C_TYPES[obj.dtype.char]
    data = obj if obj.flags.c_contiguous else obj.T
    return __getattr__("ffi").from_buffer(f"{c_type}[]", data), obj.size, name


def __getattr__(name: str) -> _Any:
    if name not in _MADE_LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name not in globals():
        globals()[name] = _new_ffi() if name == "ffi" else _new_lib()
    return globals()[name]


# ---- starting --------------------------------------------------------------------------------------------------------

_WORDS = dict.fromkeys(("true", "yes", "on", "y", "1"), True) | dict.fromkeys(("false", "no", "off", "n", "0"), False)


def _read_environment() -> None:
    """Options in the environment win over those of the program."""
    for option in ("initialize", "threads", "thread_level", "finalize"):
        if value := _os.environ.get(f"SHMEM4PY_RC_{option.upper()}", "").lower():
            setattr(_rc, option, _WORDS.get(value, value))


def _start() -> None:
    _read_environment()
    if not _rc.initialize:
        return
    level = str(_rc.thread_level).upper() if _rc.threads else "SINGLE"
    if level not in _constants.THREAD.__members__:
        words = ", ".join(name.lower() for name in _constants.THREAD.__members__)
        raise ValueError(f"rc.thread_level must be one of {words}, not {_rc.thread_level!r}")
    _pyshmem.init(thread_level=_constants.THREAD[level])
    if _rc.finalize is None:
        _rc.finalize = True


_start()
