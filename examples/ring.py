"""Ring exchange: every PE sends an array to its right neighbour and waits for the one from its left.

Run: pyshmem run -n 4 examples/ring.py
"""

import numpy as np

import pyshmem as shmem

shmem.init()
me, count = shmem.my_pe(), shmem.n_pes()
right, left = (me + 1) % count, (me - 1) % count

inbox = shmem.zeros(1000)          # symmetric: at the same place on every PE
arrived = shmem.new_signal()

for step in range(1, count + 1):
    message = np.full(1000, 100.0 * me + step)
    # The signal is raised after the data is there: no barrier, no polling of the data itself.
    shmem.put_signal(inbox, message, right, arrived, 1, shmem.SIGNAL_ADD)
    shmem.signal_wait_until(arrived, ">=", step)
    assert (inbox == 100.0 * left + step).all()
    shmem.barrier_all()            # nobody overwrites an inbox that is still being read

print(f"PE {me} of {count}: {count} rounds from PE {left}, the last began with {inbox[0]}")
