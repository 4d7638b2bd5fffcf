"""A first program: every PE tells its right neighbour its number, and checks what it heard from its left one.

pyshmem run -n 4 examples/hello.py
"""

from __future__ import annotations

import numpy as np

import pyshmem as shmem


def main() -> None:
    """Start, pass a number round the ring, and say what arrived."""
    shmem.init()
    me, count = shmem.my_pe(), shmem.n_pes()
    right, left = (me + 1) % count, (me - 1) % count

    heard = shmem.full(1, -1, dtype="i8")  # the same array on every PE: symmetric
    shmem.put(heard, np.array([me], dtype="i8"), right)
    shmem.barrier_all()  # now all that was put is there
    assert heard[0] == left, f"PE {me} heard {heard[0]} instead of {left}"

    engine = shmem.build_info()["engine"]
    print(f"PE {me} of {count} on {engine} heard from PE {heard[0]}", flush=True)
    shmem.free(heard)


if __name__ == "__main__":
    main()
