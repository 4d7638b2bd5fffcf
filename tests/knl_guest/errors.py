"""What can go wrong around a guest, as distinct from what a command in it answers."""

from __future__ import annotations


class GuestError(RuntimeError):
    """The guest could not be made, did not boot, or died."""


class GuestTimeoutError(GuestError):
    """A command did not end in its time; the guest is still usable.

    Attributes
    ----------
    output
        What the command had written.
    """

    def __init__(self, message: str, output: str) -> None:
        super().__init__(f"{message}; its output so far:\n{output}")
        self.output = output


class MissingProgramError(GuestError):
    """Something must be installed first; the message says what."""
