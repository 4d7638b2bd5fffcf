"""What is made once for several files of tests."""

from __future__ import annotations

import pytest
from watched import sanitized_libraries


@pytest.fixture(scope="session")
def sanitized_environment(tmp_path_factory):
    """In which ours are preloaded as the build makes them, but watched by sanitizers."""
    return sanitized_libraries(tmp_path_factory.mktemp("sanitized"))
