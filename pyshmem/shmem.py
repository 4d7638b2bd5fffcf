"""The namespace for programs written for shmem4py: importing it starts OpenSHMEM.

``pyshmem.rc.initialize = False`` before the import prevents that.
"""

from pyshmem import *  # noqa: F403
from pyshmem import THREAD, rc
from pyshmem import init as _init

if rc.initialize:
    _init(thread_level=THREAD[rc.thread_level.upper()] if rc.threads else THREAD.SINGLE)
