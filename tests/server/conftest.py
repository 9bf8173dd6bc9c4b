from __future__ import annotations

from collections.abc import Iterator

import pytest
from fastapi.testclient import TestClient

from gem_index import Home
from gem_index.server.app import create_app
from server_process import ServerProcess


@pytest.fixture
def client(home: Home) -> Iterator[TestClient]:
    """The application of an empty home, in this process."""
    with TestClient(create_app(home)) as started:
        yield started


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A server of an empty home in a process of its own, for tests that only read."""
    with ServerProcess(tmp_path_factory.mktemp("served") / "home") as started:
        yield started
