"""A distributed lock as an object."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from pyshmem._core.binding import clear_lock, del_lock, new_lock, set_lock, test_lock


class Lock:
    """A lock that one PE has at a time. Making one is collective, and so is ``destroy()``.

    ::

        lock = shmem.Lock()
        with lock:
            ...
    """

    def __init__(self) -> None:
        self._lock: NDArray[Any] | None = new_lock()

    def _word(self) -> NDArray[Any]:
        if self._lock is None:
            raise ValueError("the lock was destroyed")
        return self._lock

    def destroy(self) -> None:
        """Free the lock. Collective; a second call does nothing."""
        lock, self._lock = self._lock, None
        if lock is not None:
            del_lock(lock)

    def acquire(self, blocking: bool = True) -> bool:
        """Take the lock.

        Parameters
        ----------
        blocking : bool
            Whether to wait while another PE has it.

        Returns
        -------
        bool
            Whether this PE has it now.
        """
        if blocking:
            set_lock(self._word())
            return True
        return not test_lock(self._word())

    def release(self) -> None:
        """Complete what this PE did, and give the lock back."""
        clear_lock(self._word())

    def __enter__(self) -> None:
        self.acquire()

    def __exit__(self, *args: object) -> None:
        self.release()
