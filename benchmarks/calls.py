"""What calls cost from C, pyshmem, shmem4py and mpi4py, in one job on the engine that pyshmem was built with.

    pyshmem run -n 2 benchmarks/calls.py [--output DIR] [--quick] [--only TEXT]

writes a table, a picture (SVG and PNG) and all figures (JSON).  Needs the extra ``benchmark``; what is not installed
is left out, and said so.  All contenders call in turn, round after round, on the same memory and the same peer.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import re
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from measuring import Measurement, Times, contenders, let_threads_run
from operations import CASES, SWEPT, Case, swept
from table import CONTENDERS, LEGEND, calls_table, sweep_table

import pyshmem as shmem

Results = list[tuple[Case, Times]]


def options() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--output", type=Path, default=Path("benchmark-results"), metavar="DIR",
                        help="where to write (default: benchmark-results)")
    parser.add_argument("--quick", action="store_true", help="fewer sizes and rounds: a look, not a judgement")
    parser.add_argument("--only", default="", metavar="TEXT", help="only the calls with this in their name")
    parser.add_argument("--rounds", type=int, help="rounds of each call (default 101, quick 15)")
    parser.add_argument("--milliseconds", type=float, help="what one loop of a round takes (default 1, quick 0.2)")
    return parser.parse_args()


def processor() -> str:
    """The name that the processor gives itself."""
    found = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return found[1] if found else platform.machine()


def version_of(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def circumstances(rounds: int, missing: dict[str, str]) -> dict[str, Any]:
    """What figures mean nothing without."""
    info = shmem.build_info()
    packages = ("pyshmem-openshmem", "shmem4py", "mpi4py", "numpy")
    return {
        "engine": info["engine"], "engine_version": info["engine_version"], "pes": shmem.n_pes(),
        "machine": platform.node(), "processor": processor(), "cores": os.cpu_count(),
        "system": platform.platform(), "python": platform.python_version(),
        "date": datetime.datetime.now().astimezone().isoformat(timespec="minutes"),
        "load_before": os.getloadavg()[0], "rounds": rounds,
        "packages": {name: version_of(name) for name in packages}, "left_out": missing,
        "settings": {name: value for name, value in os.environ.items() if name.startswith(("SHMEM_", "SMA_", "FI_"))},
    }


def titles(facts: dict[str, Any]) -> tuple[str, str]:
    """What, and where and when."""
    return (f"{facts['engine']} {facts['engine_version']}, {facts['pes']} PEs on one machine",
            f"{facts['machine']}: {facts['processor']}, {facts['cores']} cores; {facts['date'][:10]}")


def report(results: Results, names: Sequence[str], facts: dict[str, Any]) -> str:
    """All that is printed, and written as text."""
    parts = [*titles(facts)]
    parts += [f"without {name}: {reason}" for name, reason in facts["left_out"].items()]
    busy = max(facts["load_before"], facts["load_after"] - facts["pes"])
    if busy > 0.5:
        parts.append(f"The machine was busy (load {busy:.1f} besides this job): figures are less sure.")
    judged = [(case, times) for case, times in results if case in CASES]
    parts += ["", calls_table(judged, names), "", LEGEND]
    if any(case.operation in SWEPT for case, _ in results):
        parts += ["", sweep_table(results, names)]
    return "\n".join(parts) + "\n"


def as_json(results: Results, facts: dict[str, Any]) -> str:
    """Nanoseconds per call of every round."""
    cases = [{"call": case.name, "operation": case.operation.name, "bytes": case.bytes,
              "nanoseconds": {name: [round(time, 1) for time in rounds] for name, rounds in times.rounds.items()}}
             for case, times in results]
    return json.dumps({**facts, "cases": cases}, indent=None) + "\n"


def write(results: Results, names: Sequence[str], facts: dict[str, Any], directory: Path) -> None:
    """Print the table, and write everything."""
    directory.mkdir(parents=True, exist_ok=True)
    stem = directory / re.sub(r"[^a-z0-9.]+", "-", f"{facts['engine']} {facts['engine_version']}".lower())
    text = report(results, names, facts)
    print(text, flush=True)
    written = [stem.with_name(stem.name + ending) for ending in (".txt", ".json")]
    written[0].write_text(text)
    written[1].write_text(as_json(results, facts))
    try:
        from picture import draw
    except ImportError:
        print("without a picture: matplotlib is not installed")
    else:
        written += draw(results, names, *titles(facts), stem)
    print("written:", *written, flush=True)


def main() -> None:
    """Measure, as one PE of the job; PE 0 writes."""
    chosen = options()
    let_threads_run()
    shmem.init()
    if shmem.n_pes() < 2:
        raise SystemExit("two PEs are wanted: pyshmem run -n 2 benchmarks/calls.py")
    rounds = chosen.rounds or (15 if chosen.quick else 101)
    milliseconds = chosen.milliseconds or (0.2 if chosen.quick else 1)
    there, missing = contenders()
    facts = circumstances(rounds, missing)
    measurement = Measurement(there, milliseconds * 1e6)
    cases = [(case, rounds) for case in CASES]
    cases += [(case, max(rounds // 5, 9)) for case in swept(8 if chosen.quick else 2)]
    results = [(case, measurement.measure(case, count)) for case, count in cases if chosen.only in case.name]
    facts["load_after"] = os.getloadavg()[0]
    if shmem.my_pe() == 0:
        write(results, [name for name in CONTENDERS if name in there], facts, chosen.output)
    if "mpi4py" in there:
        there["mpi4py"].close()


if __name__ == "__main__":
    main()
