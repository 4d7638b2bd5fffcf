"""Options of ``from pyshmem import shmem``, to be set before that import; those of shmem4py."""

from __future__ import annotations

initialize: bool = True
threads: bool = False
thread_level: str = "multiple"
finalize: bool | None = None
