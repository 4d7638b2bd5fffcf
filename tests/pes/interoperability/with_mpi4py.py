"""MPI and OpenSHMEM in one job, whichever starts first, each seeing what the other wrote."""

import sys

import numpy as np

import pyshmem as shmem

if sys.argv[1] == "mpi first":
    from mpi4py import MPI

    shmem.init()
else:
    shmem.init()
    from mpi4py import MPI

world = MPI.COMM_WORLD
me, count = shmem.my_pe(), shmem.n_pes()
assert (world.Get_rank(), world.Get_size()) == (me, count)
right, left = (me + 1) % count, (me - 1) % count

numbers = shmem.full(8, me, dtype="i8", order="C")
total = np.zeros(8, dtype="i8")
world.Allreduce(numbers, total)  # MPI reads a symmetric array
assert (total == count * (count - 1) // 2).all()

shmem.put(numbers, np.arange(8) + 10 * me, right)
shmem.barrier_all()
world.Sendrecv_replace(numbers, dest=right, source=left)  # and writes one
assert (numbers == np.arange(8) + 10 * ((me - 2) % count)).all()
world.Barrier()
shmem.get(total, numbers, right)
assert (total == np.arange(8) + 10 * ((right - 2) % count)).all()
shmem.barrier_all()
print("all well")
