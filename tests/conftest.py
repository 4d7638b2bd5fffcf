"""What all tests share: jobs on the engine under test, and the account of what ran."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from jobs import RAN

# Machines here are shared and slow by turns: how long an example takes says nothing.
settings.register_profile("pyshmem", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("pyshmem")

LEFT_OUT = "left out on the command line"


def pytest_addoption(parser):
    parser.addoption("--leave-out", action="append", default=[], choices=["guest", "hosts"], metavar="WHAT",
                     help="leave out tests that need WHAT (guest: QEMU; hosts: namespaces, at times forbidden); "
                          "they fail otherwise where it is missing")


def pytest_configure(config):
    config.addinivalue_line("markers", "guest: runs in an emulated machine (QEMU)")
    config.addinivalue_line("markers", "hosts: runs on two hosts, which are namespaces of this one")
    config.addinivalue_line("markers", "beside: leaves room for an emulated machine, with one PE or none")


def pytest_collection_modifyitems(config, items):
    left_out = config.getoption("--leave-out")
    chosen = [item for item in items if not any(item.get_closest_marker(what) for what in left_out)]
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = chosen
    for item in items:
        if not item.get_closest_marker("guest") and _leaves_room(item):
            item.add_marker(pytest.mark.beside)


def _leaves_room(item):
    callspec = getattr(item, "callspec", None)
    one_pe = callspec is not None and callspec.params.get("pes") == 1
    # The one compiles, the other's jobs end at once.
    return one_pe or item.path.parent.name == "unit" or item.path.name in ("test_extension.py", "test_symmetry.py")


def _engine() -> str:
    import pyshmem

    info = pyshmem.build_info()
    return f"{info['engine']} {info['engine_version']}"


def pytest_terminal_summary(terminalreporter, config):
    passed = len(terminalreporter.stats.get("passed", []))
    failed = len(terminalreporter.stats.get("failed", [])) + len(terminalreporter.stats.get("error", []))
    left_out = config.getoption("--leave-out")
    record = {"engine": _engine(), "pes": sorted(RAN.pes), "guests": sorted(RAN.guests), "passed": passed,
              "failed": failed, "left_out": left_out}
    terminalreporter.write_line(
        f"engine {record['engine']}; PEs {', '.join(map(str, record['pes'])) or 'none'}; "
        f"guests {', '.join(record['guests']) or 'none'}" + (f"; {LEFT_OUT}: {', '.join(left_out)}" if left_out else "")
    )
    if path := os.environ.get("PYSHMEM_TEST_SUMMARY"):
        with Path(path).open("a") as file:
            file.write(json.dumps(record) + "\n")
