"""The stencil of the Parallel Research Kernels: a star-shaped divergence operator on a square grid.

The grid is cut into tiles, one per PE; before each step neighbours put the edges of their tiles into each other's
halo buffers and raise a flag.  With --partition the tiles and the buffers live in that partition.

pyshmem run -n 4 examples/stencil.py 10 1000 --partition fast
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import common
import numpy as np
from numpy.typing import NDArray

import pyshmem as shmem

Grid = NDArray[Any]


def grid_of_pes(count: int) -> tuple[int, int]:
    """The most nearly square ``columns * rows`` of PEs."""
    columns = next(number for number in range(int(count**0.5), 0, -1) if count % number == 0)
    return columns, count // columns


def share(length: int, parts: int, part: int) -> tuple[int, int]:
    """First and last-but-one index of a part of a length that is cut as evenly as can be."""
    return length * part // parts, length * (part + 1) // parts


@dataclass
class Side:
    """A neighbour, the edge that it needs of our tile, and the halo that we need of its."""

    pe: int
    edge: tuple[slice, slice]
    halo: tuple[slice, slice]
    arriving: int  # which of our buffers it fills, and which of its we fill
    there: int


class Stencil:
    """One PE's tile of the grid, its halo, and the steps."""

    def __init__(self, order: int, radius: int, partition: str | None) -> None:
        me, count = shmem.my_pe(), shmem.n_pes()
        columns, rows = grid_of_pes(count)
        self.order, self.radius = order, radius
        self.x = share(order, columns, me % columns)
        self.y = share(order, rows, me // columns)
        width, height = self.x[1] - self.x[0], self.y[1] - self.y[0]
        largest = int(common.over_all(max(width, height), "max"))
        if common.over_all(min(width, height), "min") < radius:
            common.refuse(f"a grid of {order} is too small for {count} PEs: a tile must be {radius} or more wide")
        # Symmetric arrays have one shape on all PEs; a tile uses what it needs of it.
        room = shmem.zeros((largest + 2 * radius, largest + 2 * radius), partition=partition)
        self.out_room = shmem.zeros((largest, largest), partition=partition)
        self.room = room
        self.tile = room[: height + 2 * radius, : width + 2 * radius]
        self.out = self.out_room[:height, :width]
        self.inner = self.tile[radius : radius + height, radius : radius + width]
        self.inner[...] = np.add.outer(np.arange(*self.y), np.arange(*self.x))
        # Two sets of buffers in turn: a fast neighbour may be one step ahead.
        self.buffers = shmem.zeros((2, 4, radius * largest), partition=partition)
        self.arrived = shmem.zeros(2, dtype="i8")
        self.sides = self._sides(me, columns, rows, width, height)
        shmem.barrier_all()

    def _sides(self, me: int, columns: int, rows: int, width: int, height: int) -> list[Side]:
        r = self.radius
        across, down = slice(r, r + width), slice(r, r + height)
        sides = []
        if me % columns > 0:
            sides.append(Side(me - 1, (down, slice(r, 2 * r)), (down, slice(0, r)), 0, 1))
        if me % columns < columns - 1:
            sides.append(Side(me + 1, (down, slice(width, width + r)), (down, slice(r + width, None)), 1, 0))
        if me // columns > 0:
            sides.append(Side(me - columns, (slice(r, 2 * r), across), (slice(0, r), across), 2, 3))
        if me // columns < rows - 1:
            bottom = slice(height, height + r)
            sides.append(Side(me + columns, (bottom, across), (slice(r + height, None), across), 3, 2))
        return sides

    def exchange(self, step: int) -> None:
        """Give the neighbours our edges and take theirs: data, then flag."""
        turn = step % 2
        for side in self.sides:
            edge = np.ascontiguousarray(self.tile[side.edge]).reshape(-1)
            shmem.put(self.buffers[turn, side.there], edge, side.pe, size=edge.size)
        shmem.fence()
        for side in self.sides:
            shmem.atomic_inc(self.arrived[turn : turn + 1], side.pe)
        if self.sides:
            shmem.wait_until(self.arrived[turn : turn + 1], ">=", len(self.sides) * (step // 2 + 1))
        for side in self.sides:
            halo = self.tile[side.halo]
            halo[...] = self.buffers[turn, side.arriving, : halo.size].reshape(halo.shape)

    def compute(self) -> None:
        """Add the operator's value at every point that has all its neighbours, then change the input."""
        r, n = self.radius, self.order
        rows = slice(max(self.y[0], r) - self.y[0], min(self.y[1], n - r) - self.y[0])
        columns = slice(max(self.x[0], r) - self.x[0], min(self.x[1], n - r) - self.x[0])
        if rows.start < rows.stop and columns.start < columns.stop:
            for distance in range(1, r + 1):
                weight = 1.0 / (2.0 * distance * r)
                for offset in (distance, -distance):
                    sign = weight if offset > 0 else -weight
                    self.out[rows, columns] += sign * self._shifted(rows, columns, offset, 0)
                    self.out[rows, columns] += sign * self._shifted(rows, columns, 0, offset)
        self.inner += 1.0

    def _shifted(self, rows: slice, columns: slice, down: int, right: int) -> Grid:
        r = self.radius
        return self.tile[
            rows.start + r + down : rows.stop + r + down, columns.start + r + right : columns.stop + r + right
        ]

    def norm(self) -> float:
        """The L1 norm of the output over all active points. Collective."""
        active = float(self.order - 2 * self.radius) ** 2
        return common.over_all(float(np.abs(self.out).sum()), "sum") / active


def run(iterations: int, order: int, radius: int, partition: str | None) -> None:
    """Run the kernel: one step to warm up, then ``iterations`` that are timed."""
    stencil = Stencil(order, radius, partition)
    start = 0.0
    for step in range(iterations + 1):
        if step == 1:
            shmem.barrier_all()
            start = time.perf_counter()
        stencil.exchange(step)
        stencil.compute()
    seconds = common.over_all(time.perf_counter() - start, "max") / iterations
    norm, reference = stencil.norm(), 2.0 * (iterations + 1)
    flops = (2 * (4 * radius + 1) + 1) * (order - 2 * radius) ** 2
    common.report("stencil", abs(norm - reference) < common.EPSILON, f"L1 norm {norm:.6g}, reference {reference:.6g}",
                  f"{flops / seconds / 1e6:.1f} MFlop/s", seconds, stencil.room)


def main() -> None:
    """Read the command line and run."""
    made = common.parser(__doc__.splitlines()[0] if __doc__ else "", iterations="number of timed steps",
                         order="points on a side of the grid")
    made.add_argument("--radius", type=common.positive, default=2, help="reach of the star")
    options = common.start(made)
    if 2 * options.radius + 1 > options.order:
        common.refuse(f"a star of radius {options.radius} needs a grid of {2 * options.radius + 1} or more")
    run(options.iterations, options.order, options.radius, options.partition)


if __name__ == "__main__":
    main()
