"""An emulated Knights Landing, and other machines with several kinds of memory, for tests."""

from .errors import GuestError, GuestTimeoutError, MissingProgramError
from .guest import Guest, Result, run
from .layouts import LAYOUTS, Layout

__all__ = [
    "LAYOUTS",
    "Guest",
    "GuestError",
    "GuestTimeoutError",
    "Layout",
    "MissingProgramError",
    "Result",
    "run",
]
