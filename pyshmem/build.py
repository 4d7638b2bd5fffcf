"""What this installation was built against, and where its C half lies."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pyshmem._core import binding

PACKAGE = Path(__file__).resolve().parent


def build_info() -> dict[str, Any]:
    """Describe the engine and the build. Local, and needs no ``init``.

    Returns
    -------
    dict
        ``engine``, ``engine_version``, ``specification`` (what the engine's header says), ``oshcc`` (None if built
        by pkg-config), ``hwloc``, ``compiler``, ``flags``, ``features`` (what was found in the engine) and
        ``functions``: for each function of OpenSHMEM 1.6 whether it is the engine's own (``"native"``), made by
        pyshmem on what the engine has (``"supplied"``), or put right (``"corrected"``).
    """
    record: dict[str, Any] = json.loads((PACKAGE / "build_record.json").read_text())
    for name in binding.corrected_functions():
        record["functions"][name] = "corrected"
    return {"engine": binding.engine_name(), **record}


def include_directory() -> Path:
    """Where ``shmem_partition.h`` is."""
    return PACKAGE / "include"


def library_directory() -> Path:
    """Where ``libshmem_partition`` is."""
    return PACKAGE / "lib"
