"""Halo exchange: a bar of metal, shared out among the PEs, cools down from its hot end.

Run: pyshmem run -n 4 examples/halo.py [cells per PE] [steps]
"""

import sys

import numpy as np

import pyshmem as shmem

cells = int(sys.argv[1]) if len(sys.argv) > 1 else 100
steps = int(sys.argv[2]) if len(sys.argv) > 2 else 2000

shmem.init()
me, count = shmem.my_pe(), shmem.n_pes()

bar = shmem.zeros(cells + 2)       # with a cell of each neighbour at the ends: the halo
if me == 0:
    bar[0] = 1.0                   # the hot end, which stays hot

for _ in range(steps):
    # My outermost cells become the neighbours' halo.
    if me > 0:
        shmem.put(bar[cells + 1 :], bar[1:2], me - 1)
    if me < count - 1:
        shmem.put(bar[:1], bar[cells : cells + 1], me + 1)
    shmem.barrier_all()            # all halos are there
    inner = bar[1:-1] + 0.25 * (bar[:-2] - 2 * bar[1:-1] + bar[2:])
    shmem.barrier_all()            # all have read their halos
    bar[1:-1] = inner

heat = shmem.array(bar[1:-1].sum())
total = shmem.zeros((), dtype=float)
shmem.sum_reduce(total, heat)

# The same on one PE, in NumPy alone.
whole = np.zeros(cells * count + 2)
whole[0] = 1.0
for _ in range(steps):
    whole[1:-1] += 0.25 * (whole[:-2] - 2 * whole[1:-1] + whole[2:])
mine = whole[1 + me * cells : 1 + (me + 1) * cells]
assert np.allclose(bar[1:-1], mine, rtol=0, atol=1e-12)
if me == 0:
    print(f"{steps} steps of {cells * count} cells on {count} PEs: heat {float(total):.6f}, as on one PE")
