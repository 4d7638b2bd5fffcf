"""Partitions as Python sees them: how they are defined, and what they are once they exist."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike, DTypeLike, NDArray

from pyshmem import sizes
from pyshmem._core import binding

if TYPE_CHECKING:
    from pyshmem.migration import Migration


@dataclass(frozen=True)
class PartitionSpec:
    """The definition of a partition, for ``init(partitions=...)``.

    Parameters
    ----------
    size : int or str
        Bytes per PE, or as in the environment: ``"512M"``.
    kind : str, optional
        ``DEFAULT``, ``FASTMEM``, ``DDR``, ``MCDRAM``, ``HBM``, ``CAPACITY``, ``CXL``, ``NVM``, ``GPU``,
        ``NODES(4-7)``, or a sum: ``FASTMEM+DDR``.
    policy : str, optional
        ``MANDATORY``, ``PREFERRED`` or ``INTERLEAVED``, alone or with ``,local`` or ``,all`` after it.
    pgsize : int or str, optional
        Page size, ``2M`` or ``1G``, or ``THP`` for transparent huge pages.
    name : str, optional
        The default is ``partition<ID>``.
    id : int, optional
        1 to 127; the default is the lowest free one from 2 up.
    fallback : str, optional
        The name of the partition that takes what does not fit.
    """

    size: int | str
    kind: str | None = None
    policy: str | None = None
    pgsize: int | str | None = None
    name: str | None = None
    id: int | None = None
    fallback: str | None = None

    def text(self) -> str:
        """The definition as an environment variable would hold it."""
        pairs = [("size", self.size), ("kind", self.kind), ("policy", self.policy), ("pgsize", self.pgsize),
                 ("fallback", self.fallback)]
        return ":".join(f"{key}={value}" for key, value in pairs if value is not None)


Definition = tuple[int, bytes | None, bytes]  # ID or 0, name or None, text


def _definition(key: str | int | None, value: str | PartitionSpec) -> Definition:
    if isinstance(key, bool) or not (key is None or isinstance(key, (str, int))):
        raise TypeError(f"a partition is known by a name or an ID, not by {key!r}")
    name, number = (key, None) if isinstance(key, str) else (None, key)
    if isinstance(value, PartitionSpec):
        text, name, number = value.text(), _one(name, value.name), _one(number, value.id)
    elif isinstance(value, str):
        text = value
    else:
        raise TypeError(f"a partition is defined by a text or a PartitionSpec, not by {type(value).__name__}")
    for part in (text, name or ""):
        if "\0" in part:
            raise ValueError(f"the definition {part!r} holds a NUL character")
    # 0 means "none given" to the C library, which refuses what is out of range; so must an explicit 0 be.
    return 0 if number is None else number or -1, name.encode() if name is not None else None, text.encode()


def _one(from_key: Any, from_spec: Any) -> Any:
    if from_key is not None and from_spec is not None and from_key != from_spec:
        raise ValueError(f"a partition is called {from_key!r} by its key and {from_spec!r} by its PartitionSpec")
    return from_spec if from_key is None else from_key


def definitions_from(
    partitions: Mapping[str | int, str | PartitionSpec] | Iterable[PartitionSpec],
) -> list[Definition]:
    """What ``init(partitions=...)`` was given, as the C library takes it."""
    if isinstance(partitions, Mapping):
        return [_definition(key, value) for key, value in partitions.items()]
    if isinstance(partitions, (str, bytes)):
        raise TypeError("partitions must be a mapping of names to definitions, or PartitionSpec objects, not a text")
    return [_definition(None, value) for value in partitions]


class Partition:
    """A symmetric heap of its own, in a kind of memory that the user chose.

    Made by ``partition()`` and ``partitions()``; all attributes but the definition are read afresh.

    Attributes
    ----------
    id : int
    name : str
    """

    __slots__ = ("id", "name")

    def __init__(self, number: int, name: str) -> None:
        self.id = number
        self.name = name

    def _record(self) -> dict[str, Any]:
        for record in binding.partition_records():
            if record["id"] == self.id:
                return record
        raise KeyError(f"partition {self.id} is gone: OpenSHMEM was finalised")

    size = property(lambda self: int(self._record()["size"]), doc="Bytes per PE.")
    used = property(lambda self: int(self._record()["used"]), doc="Bytes in live allocations on this PE.")
    peak = property(lambda self: int(self._record()["peak"]), doc="The most that was ever used, in bytes.")
    largest_free = property(lambda self: int(self._record()["largest_free"]), doc="The largest that can be had now.")
    live = property(lambda self: int(self._record()["live"]), doc="Number of live allocations.")
    kind = property(lambda self: str(self._record()["kind"]), doc="The kind of memory that was asked for.")
    policy = property(lambda self: str(self._record()["policy"]), doc="MANDATORY, PREFERRED, INTERLEAVED; '' if none.")
    origin = property(lambda self: str(self._record()["origin"]), doc="Who defined it.")
    nodes = property(lambda self: str(self._record()["nodes"]), doc="NUMA nodes it is bound to here: '4-7', or ''.")
    page_size = property(lambda self: int(self._record()["page_size"]), doc="Bytes of a page.")
    fallback = property(lambda self: str(self._record()["fallback"]), doc="The partition that takes what does not fit.")
    diverted = property(lambda self: int(self._record()["diverted"]), doc="Number of allocations that it took.")
    huge_bytes = property(lambda self: int(self._record()["huge_bytes"]), doc="Bytes in huge pages, seen at init.")
    moved_to = property(lambda self: str(self._record()["moved_to"]), doc="Where migrate() has put it here, or ''.")
    placed = property(lambda self: str(self._record()["placed"]),
                      doc="'early': its nodes were set as the heap was mapped; 'late': after that; '' if not bound.")
    fell_back = property(lambda self: bool(self._record()["fell_back"]), doc="PREFERRED, and the kind is absent here.")

    def placement(self, array: NDArray[Any] | None = None) -> dict[int | None, int]:
        """Where the pages are, as the kernel reports it. Local.

        Parameters
        ----------
        array : numpy.ndarray, optional
            Only the pages of this array; the default is the whole partition.

        Returns
        -------
        dict
            ``{NUMA node: bytes}`` in whole pages; what is not present yet stands under None.
        """
        if array is not None:
            return placement(array)
        record = self._record()
        return binding.placement_of(record["base"], record["size"])

    def migrate(self, to: str) -> Migration:
        """``pyshmem.migrate`` for all pages of this partition, on this PE. Local."""
        from pyshmem.migration import migrate  # stands on this module

        return migrate(self, to)

    def alloc(self, count: int, size: int = 1, align: int | None = None, clear: bool = True) -> memoryview:
        """``pyshmem.alloc`` in this partition. Collective."""
        return binding.alloc(count, size, align, None, clear, partition=self.id)

    def empty(self, shape: Any, dtype: DTypeLike = float, order: Any = "C", **options: Any) -> NDArray[Any]:
        """``pyshmem.empty`` in this partition. Collective."""
        return binding.empty(shape, dtype, order, partition=self.id, **options)

    def zeros(self, shape: Any, dtype: DTypeLike = float, order: Any = "C", **options: Any) -> NDArray[Any]:
        """``pyshmem.zeros`` in this partition. Collective."""
        return binding.zeros(shape, dtype, order, partition=self.id, **options)

    def ones(self, shape: Any, dtype: DTypeLike = float, order: Any = "C", **options: Any) -> NDArray[Any]:
        """``pyshmem.ones`` in this partition. Collective."""
        return binding.ones(shape, dtype, order, partition=self.id, **options)

    def full(
        self, shape: Any, fill_value: Any, dtype: DTypeLike | None = None, order: Any = "C", **options: Any
    ) -> NDArray[Any]:
        """``pyshmem.full`` in this partition. Collective."""
        return binding.full(shape, fill_value, dtype, order, partition=self.id, **options)

    def array(self, obj: ArrayLike, dtype: DTypeLike | None = None, **options: Any) -> NDArray[Any]:
        """``pyshmem.array`` in this partition. Collective."""
        return binding.array(obj, dtype, partition=self.id, **options)

    def __repr__(self) -> str:
        return f"<Partition {self.id} {self.name!r}>"

    def __str__(self) -> str:
        from pyshmem import reports  # the table stands on this module

        return reports.table([self])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Partition) and other.id == self.id

    def __hash__(self) -> int:
        return hash(("Partition", self.id))


class Partitions(tuple[Partition, ...]):
    """All partitions in the order of their IDs; printed, a table."""

    def __str__(self) -> str:
        from pyshmem import reports

        return reports.table(self)


def partitions() -> Partitions:
    """All partitions of the job, in the order of their IDs. Local."""
    binding.my_pe()  # raises before init
    return Partitions(Partition(record["id"], record["name"]) for record in binding.partition_records())


def partition(which: str | int) -> Partition:
    """A partition by its name or ID. Local.

    Raises
    ------
    NoPartitionError
        There is none (a ``KeyError``); the message lists those that there are.
    """
    binding.my_pe()
    number = binding.partition_id_of(which)
    return next(one for one in partitions() if one.id == number)


def placement(array: NDArray[Any]) -> dict[int | None, int]:
    """Where the pages of any array are, as the kernel reports it. Local.

    Returns
    -------
    dict
        ``{NUMA node: bytes}`` in whole pages; what is not present yet stands under None.
    """
    return binding.placement_of_array(array)


def describe_placement(found: Mapping[int | None, int]) -> str:
    """``{node: bytes}`` in words: ``node 1 MCDRAM 512 MiB, not present 4 KiB``."""
    return ", ".join(_placed(node, size) for node, size in found.items()) or "nothing"


def _placed(node: int | None, size: int) -> str:
    if node is None:
        return f"not present {sizes.text(size)}"
    memory = binding.memory_of_node(node)
    return f"node {node} {memory + ' ' if memory else ''}{sizes.text(size)}"

