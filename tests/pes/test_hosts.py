"""Jobs on two hosts, which are namespaces of this one (``host.sh``): their PEs share no memory, and talk by TCP."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from jobs import Result, check_job, run_job

import pyshmem

pytestmark = pytest.mark.hosts
HERE = Path(__file__).parent
AGENT = str(HERE / "host.sh")
OPEN_MPI = "Open MPI" in pyshmem.build_info()["engine"]
LAUNCHER = ["--host"] if OPEN_MPI else ["-launcher", "ssh", "-launcher-exec", AGENT, "-hosts"]
HOSTS = [*LAUNCHER, "left:2,right:2"]
ASKED = {"OMPI_MCA_plm_rsh_agent": AGENT, "PRTE_MCA_plm_ssh_agent": AGENT, "OMPI_MCA_mpi_yield_when_idle": "1"}
PROGRAM = str(HERE / "programs/report_file.py")


@pytest.fixture(autouse=True, scope="module")
def namespaces():
    """Some containers forbid them, and then there is but one host."""
    tried = subprocess.run([AGENT, "left", "hostname"], capture_output=True, text=True)
    assert tried.stdout.strip() == "left", f"no further host here (--leave-out hosts): {tried.stderr.strip()}"


def on_two_hosts(program: list[str], environment: dict[str, str] | None = None) -> Result:
    return run_job(4, program, ASKED | (environment or {}), options=HOSTS)


def written(tmp_path: Path, text: str) -> list[str]:
    program = tmp_path / "program.py"
    program.write_text(f"import pyshmem as shmem\n{text}\n")
    return [str(program)]


def test_report_tells_the_hosts_apart(tmp_path):
    path = tmp_path / "report.json"
    check_job(4, [PROGRAM], ASKED | {"PYSHMEM_REPORT": str(path)}, options=HOSTS)
    report = json.loads(path.read_text())
    assert {host["name"]: host["pes"] for host in report["hosts"]} == {"left": [0, 1], "right": [2, 3]}
    assert {one["pe"]: one["host"] for one in report["placements"]} == {0: "left", 1: "left", 2: "right", 3: "right"}


def test_memory_is_that_of_each_host(tmp_path):
    """Too much for the PEs of a host together; those of the other host do not count."""
    program = written(tmp_path, "shmem.init()")
    free = next(int(line.split()[1]) for line in Path("/proc/meminfo").read_text().splitlines() if "MemFree" in line)
    result = on_two_hosts(program, {"SHMEM_SYMMETRIC_PARTITION2": f"size={free * 6 // 10}K:kind=DDR"})
    assert result.status != 0 and "by the 2 PEs there" in result.output, result.output
    assert result.output.count("does not fit") == 1 and "on left: partition 2" in result.output, result.output


def test_difference_between_hosts_is_found(tmp_path):
    result = on_two_hosts(written(tmp_path, "shmem.init()\nshmem.empty(11 if shmem.my_pe() == 3 else 10, 'u1')"))
    assert result.status != 0 and "allocates 10 bytes" in result.output, result.output  # PE 2 or 0, its neighbours
    assert "PE 3 allocates 11 bytes" in result.output, result.output
    assert result.output.count("errors.SymmetryError") == 1, result.output


def test_failure_ends_the_job_on_both_hosts(tmp_path):
    text = "shmem.init()\nif shmem.my_pe() == 2:\n    raise ValueError('mine')\nshmem.barrier_all()"
    result = on_two_hosts(written(tmp_path, text))
    assert result.status != 0 and "PE 2 of 4 on right ended the job" in result.output, result.output


# Sandia's own teams take a minute over its emulated network.
@pytest.mark.parametrize("name", ["transfers", "waits", "atomics", *(["teams"] if OPEN_MPI else [])])
def test_program(name):
    """Each PE must help what others send it, or it never arrives."""
    check_job(2, [str(HERE / f"programs/{name}.py")], ASKED, options=[*LAUNCHER, "left:1,right:1"])
