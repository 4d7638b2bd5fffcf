"""What this installation was built against, and where its C half lies."""

from __future__ import annotations

import json
import textwrap
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pyshmem._core import binding

PLACEMENT = "early with `pyshmem run --preload`, else late"
PACKAGE = Path(__file__).resolve().parent


def build_info() -> dict[str, Any]:
    """Describe the engine and the build. Local, and needs no ``init``.

    Returns
    -------
    dict
        ``engine``, ``engine_version``, ``specification`` (what the engine's header says), ``oshcc`` (None if built
        by pkg-config), ``hwloc``, ``compiler``, ``flags``, ``features`` (what was found in the engine),
        ``placement`` (of partitions: before or after a network can register the engine's heap) and
        ``functions``: for each function of OpenSHMEM 1.6 whether it is the engine's own (``"native"``), made by
        pyshmem on what the engine has (``"supplied"``), or put right (``"corrected"``).
    """
    record: dict[str, Any] = json.loads((PACKAGE / "build_record.json").read_text())
    for name in binding.corrected_functions():
        record["functions"][name] = "corrected"
    return {"engine": binding.engine_name(), **record, "placement": PLACEMENT}


def rows() -> list[tuple[str, str]]:
    """``build_info()`` for people: names and texts, the functions gathered by who does them, in lines of 60 columns."""
    info = build_info()
    functions: dict[str, str] = info.pop("functions")
    features: dict[str, bool] = info.pop("features")
    found = [("pyshmem", version("pyshmem-openshmem"))]
    found += [(key.replace("_", " "), str(value)) for key, value in info.items()]
    found.append(("has", ", ".join(name.removeprefix("ENGINE_HAS_").lower() for name, has in features.items() if has)
                  or "OpenSHMEM 1.4"))
    for origin in ("native", "corrected", "supplied"):
        names = [name for name, who in functions.items() if who == origin]
        text = textwrap.fill(", ".join(names), 60, break_on_hyphens=False) or "none"
        found.append((f"{origin} functions", text))
    return found


def include_directory() -> Path:
    """Where ``shmem_partition.h`` is."""
    return PACKAGE / "include"


def library_directory() -> Path:
    """Where ``libshmem_partition`` is."""
    return PACKAGE / "lib"


def preload_library() -> Path:
    """The library that gives partitions to programs that were not linked with any of it: for ``LD_PRELOAD``."""
    return library_directory() / "libshmem_partition_preload.so"
