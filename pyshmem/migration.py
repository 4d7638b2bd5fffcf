"""Moving pages that are in use to another kind of memory, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from pyshmem import sizes
from pyshmem._core import binding
from pyshmem.memory import Partition


@dataclass(frozen=True)
class Migration:
    """What became of the pages; printed, it says so in words.

    Attributes
    ----------
    to : str
        The kind of memory that was asked for.
    nodes : str
        The NUMA nodes of that kind for this PE: ``"4-7"``.
    moved : int
        Bytes, in whole pages, that were moved there.
    there : int
        Bytes that lay there before.
    absent : int
        Bytes of pages that are not present yet: they will come there, while there is room.
    stayed : dict of str to int
        Bytes that are elsewhere still, by the reason.
    """

    to: str
    nodes: str
    moved: int
    there: int
    absent: int
    stayed: dict[str, int]

    @property
    def complete(self) -> bool:
        """Whether all pages that are present lie there now."""
        return not self.stayed

    def __str__(self) -> str:
        parts = [f"{sizes.text(self.moved)} moved to {self.to} (node {self.nodes})"]
        if self.there:
            parts.append(f"{sizes.text(self.there)} lay there before")
        if self.absent:
            parts.append(f"{sizes.text(self.absent)} not present yet")
        parts += [f"{sizes.text(size)} stayed: {reason}" for reason, size in self.stayed.items()]
        return "; ".join(parts)


REASONS = {
    "shared": "other processes have mapped the pages, and moving those takes the capability CAP_SYS_NICE",
    "full": "the nodes are full",
    "pinned": "the pages are pinned, probably registered by a network",
}


def _described(to: str, record: dict[str, Any]) -> Migration:
    stayed = {reason: record[key] for key, reason in REASONS.items() if record[key]}
    return Migration(to, record["nodes"], record["moved"], record["there"], record["absent"], stayed)


def migrate(what: NDArray[Any] | Partition | str | int, to: str) -> Migration:
    """Move pages of this PE to another kind of memory. Local.

    Contents stay, and other PEs may go on reading and writing them meanwhile.  What is not present yet will come
    there too, while there is room.  A partition that has been moved is PREFERRED there, whatever its policy was.

    Parameters
    ----------
    what : numpy.ndarray, Partition, str or int
        An array in memory of this PE, with all pages that it touches; or a partition, or its name or ID.
    to : str
        A kind, or a sum of kinds, as in a definition: ``MCDRAM``, ``NODES(1)``.  Several nodes get pages in turn.

    Returns
    -------
    Migration
        How many bytes moved, and why others did not.

    Raises
    ------
    PartitionError
        There is no memory of this kind here, or the system moves no pages (in a container, perhaps).
    FreedError, NotInitializedError, NoPartitionError, TypeError
    ValueError
        The array is in memory of another PE, which ``ptr()`` gave.
    """
    if not isinstance(to, str) or "\0" in to or not to.isascii():
        raise TypeError(f"memory is named by a kind like 'MCDRAM', not by {to!r}")
    binding.my_pe()  # raises before init
    if isinstance(what, Partition):
        return _described(to, binding.migrate_partition(what.id, to))
    if isinstance(what, (str, int)):
        return _described(to, binding.migrate_partition(binding.partition_id_of(what), to))
    return _described(to, binding.migrate_array(what, to))
