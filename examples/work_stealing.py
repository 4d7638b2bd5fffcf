"""Work stealing: PEs draw the next piece of work from one counter, so that the fast ones do more.

Run: pyshmem run -n 4 examples/work_stealing.py
"""

import math

import pyshmem as shmem

PIECES = 200

shmem.init()
me, count = shmem.my_pe(), shmem.n_pes()

counter = shmem.zeros(1, dtype="i8")      # the one on PE 0 counts
done = shmem.zeros(PIECES, dtype="i4")    # on PE 0: who did what, plus one
area = shmem.zeros(1)

mine = 0
while True:
    piece = shmem.atomic_fetch_add(counter, 1, 0)
    if piece >= PIECES:
        break
    # A strip of the quarter circle; later strips are harder.
    points = 100 + 10 * piece
    width = 1 / PIECES
    heights = (math.sqrt(1 - ((piece + (i + 0.5) / points) * width) ** 2) for i in range(points))
    area[0] += 4 * width * sum(heights) / points
    shmem.p(done[piece : piece + 1], me + 1, 0)
    mine += 1

total = shmem.zeros(1)
shmem.sum_reduce(total, area)
shmem.barrier_all()
print(f"PE {me} of {count}: did {mine} of {PIECES} pieces")
if me == 0:
    assert (done > 0).all(), "a piece was left out"
    print(f"area of the circle: {total[0]:.8f} (pi is {math.pi:.8f})")
