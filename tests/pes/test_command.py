"""``pyshmem run`` and what it says; plain ``oshrun`` works as well."""

from __future__ import annotations

import os
import shutil
import sys

import pytest
from jobs import RAN, ROOT, clean_environment, launcher, run_command, run_job

HELLO = "import pyshmem as shmem, sys\nshmem.init()\nprint('here', shmem.my_pe(), shmem.n_pes(), sys.argv[1:])\n"


@pytest.fixture
def hello(tmp_path):
    path = tmp_path / "hello.py"
    path.write_text(HELLO)
    return str(path)


@pytest.mark.parametrize("pes", [1, 2, 3, 4])
def test_run(pes, hello):
    result = run_job(pes, [hello, "--flag", "--", "x"])
    assert result.status == 0, result.output
    for pe in range(pes):
        assert f"here {pe} {pes} ['--flag', '--', 'x']" in result.output


def test_verbose_says_the_full_command(hello):
    result = run_command([*launcher(), "run", "-v", "-n", "2", hello], {"SHMEM_INFO": "0", "PYSHMEM_REPORT": "0"})
    assert result.status == 0, result.output
    [said] = [line for line in result.output.splitlines() if "oshrun" in line]
    assert "-n 2" in said and hello in said


def test_plain_oshrun(hello):
    """What a user would type: the engine's own oshrun, and this Python."""
    import pyshmem
    from pyshmem import launch

    RAN.pes.add(2)
    made = launch.job(2, [], [hello])
    result = run_command(made.command, made.environment)
    assert result.status == 0 and "here 1 2" in result.output, result.output
    assert pyshmem.build_info()["oshcc"] is None or os.path.dirname(pyshmem.build_info()["oshcc"]) in made.command[0]


@pytest.mark.parametrize("arguments, text", [
    (["run"], "no program to run"),
    (["run", "-n", "0", "x.py"], "at least 1 PE"),
    (["run", "-n", "2", "nowhere.py"], "there is no program nowhere.py"),
    (["run", "--bind-to", "core", "x.py"], "end launcher options with --"),
    (["frobnicate"], "invalid choice"),
])
def test_mistakes(arguments, text):
    result = run_command([*launcher(), *arguments])
    assert result.status == 2
    assert text in result.output
    assert "Traceback" not in result.output


@pytest.mark.parametrize("arguments, text", [
    (["--help"], "run"), (["run", "--help"], "launcher options"), (["info"], "engine"),
    (["config", "--pkg-config-path"], "pkgconfig"),
    (["config", "--preload"], "lib/libshmem_partition_preload.so"), (["config", "--oshcc"], "oshcc"),
    (["--version"], "pyshmem "),
])
def test_help_and_info(arguments, text):
    result = run_command([*launcher(), *arguments])
    assert result.status == 0
    assert text in result.output


def test_report_is_printed_once(hello):
    result = run_job(2, [hello], {"PYSHMEM_REPORT": "1", "SHMEM_SYMMETRIC_PARTITION2": "size=1M:name=small"})
    assert result.status == 0
    assert result.output.count("small") >= 1 and result.output.count("largest") == 1


def test_launcher_of_another_library_is_noticed(hello):
    """A launcher that this engine does not understand starts n jobs of one PE each."""
    environment = clean_environment({"OMPI_COMM_WORLD_SIZE": "4", "PMI_SIZE": "4"})
    RAN.pes.add(1)
    result = run_command([sys.executable, hello], {"PMI_SIZE": "4"} if "PMI_SIZE" not in os.environ else environment)
    if "sees one PE alone" not in result.output:  # engines that refuse to start at all say so themselves
        assert result.status != 0, result.output
    assert "here 0 1" not in result.output


def test_unbuilt_source_says_what_it_is(tmp_path):
    """Python looks beside a script first, and so at the source before the installation."""
    shutil.copytree(ROOT / "pyshmem", tmp_path / "pyshmem", ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    (tmp_path / "first.py").write_text("import pyshmem\n")
    result = run_command([sys.executable, str(tmp_path / "first.py")])
    assert result.status == 1 and f"{tmp_path / 'pyshmem'} is pyshmem's source and not built" in result.output
