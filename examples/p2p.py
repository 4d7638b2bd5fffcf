"""The point-to-point pipeline of the Parallel Research Kernels: many small messages, each waited for.

A grid's rows are shared by the PEs; column by column each PE waits for the value above its first row, sweeps down, and
puts the value of its last row to the next PE, followed by a flag.  The last corner goes back to the first PE, so that
every sweep depends on the one before.  With --partition the grid and the messages live in that partition.

pyshmem run -n 4 examples/p2p.py 10 1000 200 --partition fast
"""

from __future__ import annotations

import time

import common
import numpy as np

import pyshmem as shmem


class Pipeline:
    """One PE's rows of the grid, with the row above them."""

    def __init__(self, rows: int, columns: int, partition: str | None) -> None:
        self.me, self.count = shmem.my_pe(), shmem.n_pes()
        first, last = rows * self.me // self.count, rows * (self.me + 1) // self.count
        most = int(common.over_all(last - first + 1, "max"))
        self.room = shmem.zeros((columns, most), partition=partition)  # a column is contiguous
        self.grid = self.room[:, : last - first + 1]
        self.values = shmem.zeros(columns, partition=partition)
        self.flags = shmem.zeros(columns, dtype="i8")
        self.columns = columns
        # Boundary values: grid(row, 0) = row, grid(0, column) = column; place 0 holds the row above ours.
        self.grid[0, :] = np.arange(first - 1, last)
        if self.me == 0:
            self.grid[:, 1] = np.arange(columns)
        self.start = 2 if self.me == 0 else 1
        shmem.barrier_all()

    def sweep(self, turn: int) -> None:
        """One pass of the pipeline; flags count the passes."""
        if self.me == 0 and self.count > 1 and turn > 1:
            shmem.wait_until(self.flags[:1], ">=", turn - 1)
            self.grid[0, 1] = self.values[0]
        for column in range(1, self.columns):
            self._column(column, turn)
        corner = -self.grid[-1, -1]
        if self.count == 1:
            self.grid[0, 1] = corner
        elif self.me == self.count - 1:
            self._send(0, np.array([corner]), 0, turn)

    def _column(self, column: int, turn: int) -> None:
        grid, start = self.grid, self.start
        if self.me > 0:
            shmem.wait_until(self.flags[column : column + 1], ">=", turn)
            grid[column, 0] = self.values[column]
        # g(i, j) = g(i-1, j) + g(i, j-1) - g(i-1, j-1), all rows at once: what a row adds is known before the sweep.
        steps = grid[column - 1, start:] - grid[column - 1, start - 1 : -1]
        np.cumsum(steps, out=grid[column, start:])
        grid[column, start:] += grid[column, start - 1]
        if self.me < self.count - 1:
            self._send(column, grid[column, -1:], self.me + 1, turn)

    def _send(self, place: int, value: np.ndarray[tuple[int], np.dtype[np.float64]], pe: int, turn: int) -> None:
        shmem.put(self.values[place : place + 1], value, pe)
        shmem.fence()
        shmem.atomic_set(self.flags[place : place + 1], turn, pe)


def run(iterations: int, rows: int, columns: int, partition: str | None) -> None:
    """Run the kernel: one sweep to warm up, then ``iterations`` that are timed."""
    pipeline = Pipeline(rows, columns, partition)
    start = 0.0
    for turn in range(1, iterations + 2):
        if turn == 2:
            shmem.barrier_all()
            start = time.perf_counter()
        pipeline.sweep(turn)
    seconds = common.over_all(time.perf_counter() - start, "max") / iterations
    corner = float(pipeline.grid[-1, -1]) if pipeline.me == pipeline.count - 1 else 0.0
    found, expected = common.over_all(corner, "sum"), float((iterations + 1) * (rows + columns - 2))
    flops = 2.0 * (rows - 1) * (columns - 1)
    common.report("p2p", abs(found - expected) / expected < common.EPSILON, f"corner {found:g}, reference {expected:g}",
                  f"{flops / seconds / 1e6:.1f} MFlop/s", seconds, pipeline.room)


def main() -> None:
    """Read the command line and run."""
    made = common.parser(__doc__.splitlines()[0] if __doc__ else "", iterations="number of timed sweeps",
                         rows="rows of the grid, shared by the PEs", columns="columns of the grid")
    options = common.start(made)
    if options.rows <= shmem.n_pes():
        common.refuse(f"{options.rows} rows cannot be shared by {shmem.n_pes()} PEs: take more rows than PEs")
    if options.columns < 2:
        common.refuse("a pipeline needs 2 columns or more")
    run(options.iterations, options.rows, options.columns, options.partition)


if __name__ == "__main__":
    main()
