"""Ctrl-C in a PE that waits: it raises where the wait can be left, and ends the job where it cannot."""

from __future__ import annotations

import os
import signal
import subprocess
import time

import pytest
from jobs import ROOT, clean_environment, launcher

PROGRAM = """\
import os, sys, time
import pyshmem as shmem

shmem.init()
me = shmem.my_pe()
flag, lock = shmem.zeros(1, dtype="i4"), shmem.new_lock()
team = shmem.TEAM_WORLD.split_strided()
if me == 0:
    shmem.set_lock(lock)
shmem.barrier_all()
with open(f"{sys.argv[2]}.{me}.part", "w") as file:
    file.write(str(os.getpid()))
os.rename(f"{sys.argv[2]}.{me}.part", f"{sys.argv[2]}.{me}")
waits = {
    "wait_until": lambda: shmem.wait_until(flag, "==", 1),
    "wait_until_any": lambda: shmem.wait_until_any(flag, "==", 1),
    "lock": lambda: shmem.set_lock(lock),
    "barrier": shmem.barrier_all,
    "team": team.sync,
    "reduce": lambda: shmem.sum_reduce(flag, flag),
}
if me == 0:
    time.sleep(60)
waits[sys.argv[1]]()
"""


def pid_of(path):
    end = time.monotonic() + 60
    while not path.exists():
        assert time.monotonic() < end, "the job did not start"
        time.sleep(0.05)
    return int(path.read_text())


@pytest.mark.parametrize("what", ["wait_until", "wait_until_any", "lock", "barrier", "team", "reduce"])
def test_interrupted(what, tmp_path):
    script = tmp_path / "waiting.py"
    script.write_text(PROGRAM)
    job = subprocess.Popen([*launcher(), "run", "-n", "2", str(script), what, str(tmp_path / "pid")], cwd=ROOT,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=clean_environment({}),
                           start_new_session=True)
    try:
        victim = pid_of(tmp_path / "pid.1")
        time.sleep(0.5)
        os.kill(victim, signal.SIGINT)
        start = time.monotonic()
        output, _ = job.communicate(timeout=30)
        seconds = time.monotonic() - start
    finally:
        if job.poll() is None:
            os.killpg(job.pid, signal.SIGKILL)
    assert job.returncode != 0
    if what in ("barrier", "team", "reduce"):
        assert "PE 1 was interrupted while it waited for other PEs in a collective call" in output
    else:
        assert "[PE 1] KeyboardInterrupt" in output and "PE 1 of 2" in output
    assert seconds < 15, output  # one second here, and what launchers take to end a job
