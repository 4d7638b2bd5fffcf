"""The transpose of the Parallel Research Kernels: B += A^T, A += 1, over and over.

Each PE owns a block of columns of both matrices; an exchange of all with all brings every block where it belongs, and
each PE transposes what it got.  With --partition the matrices live in that partition.

pyshmem run -n 4 examples/transpose.py 10 1024 --partition fast
"""

from __future__ import annotations

import time

import common
import numpy as np

import pyshmem as shmem


def run(iterations: int, order: int, partition: str | None) -> None:
    """Run the kernel: one transpose to warm up, then ``iterations`` that are timed."""
    me, count = shmem.my_pe(), shmem.n_pes()
    block = order // count
    first = me * block
    # A PE's columns are stored as rows: a[j] is column first + j, and its element i is A(i, first + j).
    columns = np.arange(first, first + block)[:, None]
    a = shmem.array(order * columns + np.arange(order), dtype="f8", partition=partition)
    b = shmem.zeros((block, order), partition=partition)
    outgoing = shmem.empty((count, block, block), partition=partition)
    incoming = shmem.empty((count, block, block), partition=partition)
    start = 0.0
    for step in range(iterations + 1):
        if step == 1:
            shmem.barrier_all()
            start = time.perf_counter()
        outgoing[...] = a.reshape(block, count, block).transpose(1, 2, 0)
        shmem.barrier_all()  # all have read what the last exchange brought
        shmem.alltoall(incoming, outgoing)
        b.reshape(block, count, block)[...] += incoming.transpose(1, 0, 2)
        a += 1.0
    seconds = common.over_all(time.perf_counter() - start, "max") / iterations

    # B(i, j) has gathered A(j, i) of every step, which rose by 1 each time.
    expected = (iterations + 1) * (order * np.arange(order) + columns + iterations / 2.0)
    error = common.over_all(float(np.abs(b - expected).sum()), "sum")
    moved = 2.0 * 8 * order * order
    common.report("transpose", error < common.EPSILON, f"absolute error {error:.3g}",
                  f"{moved / seconds / 1e6:.1f} MB/s", seconds, a)


def main() -> None:
    """Read the command line and run."""
    made = common.parser(__doc__.splitlines()[0] if __doc__ else "", iterations="number of timed transposes",
                         order="rows and columns of the matrix")
    options = common.start(made)
    if options.order % shmem.n_pes():
        common.refuse(f"an order of {options.order} cannot be shared by {shmem.n_pes()} PEs: take a multiple of that")
    run(options.iterations, options.order, options.partition)


if __name__ == "__main__":
    main()
