"""One real service for all tests of the API: a process of its own, uvicorn, a free port."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from headway.testing.service import Running, running


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    state: Path = tmp_path_factory.mktemp("state")
    options = ("--engine", "memory", "--slots", "4", "--policy", "fifo", "--round-s", "0.2")
    with running(state, *options) as service:
        yield service
        assert service.stop() == (0, "")  # no traceback in its log either
