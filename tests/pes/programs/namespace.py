"""Programs written for shmem4py: importing starts the library, at exit it stops."""

import pyshmem

pyshmem.rc.threads = True
pyshmem.rc.thread_level = "serialized"

from pyshmem import shmem  # noqa: E402

assert 0 <= shmem.my_pe() < shmem.n_pes()
assert shmem.query_thread() in shmem.THREAD
src = shmem.array([shmem.my_pe()], dtype="i")
dst = shmem.zeros(1, dtype="i")
shmem.put(dst, src, (shmem.my_pe() + 1) % shmem.n_pes())
shmem.barrier_all()
assert dst[0] == (shmem.my_pe() - 1) % shmem.n_pes()
shmem.del_array(src)
assert shmem.CMP.EQ == shmem.CMP_EQ
print("all well")
