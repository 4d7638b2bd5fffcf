"""One boot of each machine for all tests on it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from jobs import RAN

from pyshmem.build import build_info

from .errors import GuestError
from .guest import Guest
from .machine import Machine

# Sandia OpenSHMEM finds no provider on Soft-RoCE: libfabric's for verbs lacks something that it asks for.
collect_ignore = [] if "Open MPI" in build_info()["engine"] else ["test_soft_roce.py"]


@pytest.fixture(scope="session")
def machine(request: pytest.FixtureRequest) -> Iterator[Machine]:
    """The machine of a layout (an indirect parameter)."""
    with ExitStack() as stack:
        try:
            guest = stack.enter_context(Guest(request.param, boot_timeout=60))
        except GuestError as error:  # the emulator's CPUs lock up at boot, once in some hundred times
            print(error)
            guest = stack.enter_context(Guest(request.param))
        RAN.guests.add(request.param)
        yield Machine(guest)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests on one machine together, whatever file they are in, so that each boots once."""

    def layout(item: pytest.Item) -> str:
        callspec = getattr(item, "callspec", None)
        return str(callspec.params.get("machine", "")) if callspec else ""

    here = [i for i, item in enumerate(items) if layout(item)]
    for i, item in zip(here, sorted((items[i] for i in here), key=layout), strict=True):
        items[i] = item
