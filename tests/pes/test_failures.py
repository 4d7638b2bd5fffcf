"""Jobs that must fail: on all PEs, in a few seconds, with one clear message and a non-zero status."""

from __future__ import annotations

from pathlib import Path

import pytest
from jobs import run_job

SECONDS = 30  # of which most is starting Python several times on a busy machine
DEFINE = "import sys, pyshmem as shmem\n"
DEFINE_AND_GO = DEFINE + "shmem.init()\nprint('started')\n"
ON_PE_1 = "import os\npe = int(os.environ.get('OMPI_COMM_WORLD_RANK') or os.environ.get('PMI_RANK') or 0)\n"


def partition(number, text):
    return {f"SHMEM_SYMMETRIC_PARTITION{number}": text}


@pytest.fixture
def write(tmp_path):
    def write(text):
        path = tmp_path / "program.py"
        path.write_text(text)
        return [str(path)]

    return write


BAD_DEFINITIONS = {
    "twice in the program": (
        {}, DEFINE + "shmem.init(partitions=[shmem.PartitionSpec(name='fast', size='1M'),"
                     " shmem.PartitionSpec(name='fast', size='2M')])\n", ["fast"]),
    "twice in the environment": (
        {"SHMEM_SYMMETRIC_PARTITION2": "size=1M", "SMA_SYMMETRIC_PARTITION2": "size=2M"}, DEFINE_AND_GO,
        ["SHMEM_SYMMETRIC_PARTITION2", "SMA_SYMMETRIC_PARTITION2"]),
    "misspelt key": (
        partition(2, "size=1M:knd=FASTMEM"), DEFINE_AND_GO,
        ["SHMEM_SYMMETRIC_PARTITION2=size=1M:knd=FASTMEM", "^~~", "kind"]),
    "misspelt kind": (partition(2, "size=1M:kind=FASTMEN"), DEFINE_AND_GO, ["FASTMEN", "FASTMEM"]),
    "size of zero": (partition(2, "size=0"), DEFINE_AND_GO, ["SHMEM_SYMMETRIC_PARTITION2"]),
    "size too large to count": (partition(2, "size=99999999999G"), DEFINE_AND_GO, ["99999999999G"]),
    "ID out of range": (partition(128, "size=1M"), DEFINE_AND_GO, ["SHMEM_SYMMETRIC_PARTITION128", "127"]),
    "absent kind": (partition(2, "size=1M:kind=MCDRAM"), DEFINE_AND_GO, ["MCDRAM", "DRAM", "policy=PREFERRED"]),
    "absent node": (partition(2, "size=1M:kind=NODES(900)"), DEFINE_AND_GO, ["900"]),
    "too big": (partition(2, "size=4T:kind=DDR"), DEFINE_AND_GO, ["4.0 TiB wanted per PE", "left in all"]),
    "too big without a kind": (partition(2, "size=4T"), DEFINE_AND_GO, ["4 TiB", "left in all"]),
    "two sizes for one heap": (
        partition(1, "size=1M") | {"SHMEM_SYMMETRIC_SIZE": "1G"}, DEFINE_AND_GO, ["SHMEM_SYMMETRIC_SIZE"]),
    "page size that does not work yet": (partition(2, "size=8M:pgsize=2M"), DEFINE_AND_GO, ["pgsize", "2 MiB"]),
    "another size on PE 1": (
        {}, DEFINE + ON_PE_1 + "shmem.init(partitions={'fast': 'size=2M' if pe == 1 else 'size=1M'})\n",
        ["PE 1 on", "differ between PEs", "here:", "on PE 0:"]),
    "only on PE 1": (
        {}, DEFINE + ON_PE_1 + "shmem.init(partitions={'fast': 'size=2M'} if pe == 1 else None)\n",
        ["PE 1 on", "differ between PEs"]),
    "wrong on PE 1 only": (
        {}, DEFINE + ON_PE_1 + "shmem.init(partitions={'fast': 'size=2X' if pe == 1 else 'size=1M'})\n",
        ["PE 1 on", "2X"]),
}


@pytest.mark.parametrize("case", BAD_DEFINITIONS)
def test_bad_definition(case, write):
    environment, program, texts = BAD_DEFINITIONS[case]
    result = run_job(2, write(program), environment)
    assert result.status != 0, result.output
    assert "started" not in result.output
    assert result.seconds < SECONDS
    for text in texts:
        assert text in result.output, result.output
    assert result.output.count("the job cannot start") == 1, result.output
    assert "Traceback" not in result.output, result.output


@pytest.mark.parametrize("kind", [":kind=DDR", ""])
def test_too_big_only_for_all_pes_of_the_node_together(kind, write):
    meminfo = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
    each = int(meminfo["MemAvailable"].split()[0]) * 7 // 10
    result = run_job(2, write(DEFINE_AND_GO), partition(2, f"size={each}K{kind}"))
    assert result.status != 0 and "started" not in result.output
    assert result.output.count("the job cannot start") == 1, result.output
    assert ("by the 2 PEs there; free: node 0" if kind else "of the 2 PEs on this node add up to") in result.output
    assert "illed" not in result.output


# A container whose seccomp profile forbids the calls by which memory is placed: EPERM, as Docker's default gives.
FORBID = """
import ctypes, struct
def forbid(*calls):
    step = lambda code, jt, jf, k: struct.pack('HBBI', code, jt, jf, k)
    program = step(0x20, 0, 0, 0) + b''.join(step(0x15, 0, 1, call) + step(0x06, 0, 0, 0x00050001) for call in calls)
    program += step(0x06, 0, 0, 0x7fff0000)
    code = ctypes.create_string_buffer(program, len(program))
    filter = struct.pack('HxxxxxxP', len(program) // 8, ctypes.addressof(code))
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, ctypes.c_char_p(filter), 0, 0) == 0
forbid(237, 238, 239, 279)  # mbind, set_mempolicy, get_mempolicy, move_pages on x86-64
"""
FORBIDDEN = FORBID + DEFINE_AND_GO + "a = shmem.ones(9, partition=2)\nassert a.sum() == 9\nprint(shmem.partitions())\n"


def test_placement_forbidden_mandatory_fails(write):
    result = run_job(2, write(FORBIDDEN), partition(2, "size=1M:kind=DDR"))
    assert result.status != 0 and "started" not in result.output
    assert result.output.count("the job cannot start") == 1
    for text in ("mbind: Operation not permitted", "seccomp", "SYS_NICE"):
        assert text in result.output, result.output


def test_placement_forbidden_preferred_warns_once(write):
    result = run_job(2, write(FORBIDDEN), partition(2, "size=1M:kind=DDR:policy=PREFERRED"))
    assert result.status == 0, result.output
    assert result.output.count("stays where the system puts it") == 1, result.output


def test_placement_forbidden_without_a_kind_runs_untouched(write):
    result = run_job(2, write(FORBIDDEN), partition(2, "size=1M"))
    assert result.status == 0, result.output
    assert "warning" not in result.output
    assert "pages: not known" in result.output


def test_preferred_absent_kind_falls_back_and_says_so_once(write):
    result = run_job(2, write(DEFINE_AND_GO + "print(shmem.partition(2).fell_back)\n"),
                     partition(2, "size=1M:kind=MCDRAM:policy=PREFERRED"))
    assert result.status == 0, result.output
    assert result.output.count("falls back to DRAM") == 1, result.output
    assert result.output.count("True") == 2


def test_exception_in_one_pe_ends_the_job(write):
    program = write(DEFINE + "shmem.init()\nif shmem.my_pe() == 1:\n    raise RuntimeError('out of luck')\n"
                             "shmem.barrier_all()\nshmem.barrier_all()\n")
    result = run_job(3, program)
    assert result.status != 0
    assert result.seconds < SECONDS
    assert "[PE 1] RuntimeError: out of luck" in result.output
    assert "[PE 1] Traceback" in result.output
    assert "PE 1 of 3" in result.output


ENDINGS = {
    "sys.exit": "sys.exit(3)",
    "SystemExit": "raise SystemExit('no more')",
    "global_exit": "shmem.global_exit(7)",
    "interrupt": "raise KeyboardInterrupt",
    "killed": "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
    "os._exit": "import os; os._exit(4)",
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_one_pe_that_leaves_ends_the_job(ending, write):
    program = write(DEFINE + f"shmem.init()\nif shmem.my_pe() == 1:\n    {ENDINGS[ending]}\n"
                             "shmem.barrier_all()\nshmem.barrier_all()\n")
    result = run_job(2, program)
    assert result.status != 0, result.output
    assert result.seconds < SECONDS


def test_exit_without_finalize_and_status_zero_are_fine(write):
    result = run_job(3, write(DEFINE + "shmem.init()\na = shmem.zeros(5)\nsys.exit()\n"))
    assert result.status == 0, result.output


def test_forked_child_is_no_pe(write):
    program = write(DEFINE + """
import os, subprocess
shmem.init()
shmem.barrier_all()
child = os.fork()
if child == 0:
    try:
        shmem.barrier_all()
    except shmem.NotInitializedError:
        sys.exit(0)
    sys.exit(9)
assert os.waitpid(child, 0)[1] == 0
assert subprocess.run([sys.executable, '-c', 'print(1)'], capture_output=True).stdout == b'1\\n'
shmem.barrier_all()
print('fine')
""")
    result = run_job(2, program)
    assert result.status == 0 and result.output.count("fine") == 2, result.output
