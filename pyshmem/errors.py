"""What can go wrong, by name.  Wrong arguments raise the usual ``TypeError``, ``ValueError`` and ``MemoryError``."""

from __future__ import annotations


class NotInitializedError(RuntimeError):
    """An operation was called before ``init()`` or after ``finalize()``."""


class PartitionError(RuntimeError):
    """Partitions cannot be what their definitions say.

    Attributes
    ----------
    pe : int or None
        For a failure that all PEs raise together: the first PE that could not do its part.
    """

    def __init__(self, message: str, pe: int | None = None) -> None:
        super().__init__(message)
        self.pe = pe


class _PlainKeyError(KeyError):
    """A ``KeyError`` whose message is shown as it is, not as a quoted key."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class NoPartitionError(_PlainKeyError):
    """There is no partition of this name or ID."""


class FreedError(_PlainKeyError, ValueError):
    """Symmetric memory was used, or freed again, after it had been freed."""


class SymmetryError(RuntimeError):
    """PEs differ in a collective call: in its arguments, or in whether they take part.

    Raised on the PEs that find it out; the job cannot go on after it.
    """
