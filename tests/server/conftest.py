"""Servers; imported too where FastAPI is not installed and the tests of this folder say so."""

from __future__ import annotations

import gc
import logging
import socket
import time
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from gem_index import Home

if TYPE_CHECKING:
    from fastapi.testclient import TestClient

    from server_process import ServerProcess


@pytest.fixture
def client(home: Home) -> Iterator[TestClient]:
    """The application of an empty home, in this process."""
    from fastapi.testclient import TestClient

    from gem_index.server.app import create_app

    with TestClient(create_app(home)) as started:
        # bodies that are not JSON are files, or lines of JSON
        started.event_hooks["request"].append(
            lambda sent: sent.headers.setdefault("Content-Type", "application/x-ndjson")
        )
        yield started


@pytest.fixture
def logged(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The lines that a server writes, whichever handlers another test has left."""
    from gem_index.server.running import JsonFormatter

    lines: list[str] = []

    class Listener(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(JsonFormatter().format(record))

    logger = logging.getLogger("gem_index.server")
    monkeypatch.setattr(logger, "handlers", [Listener()])
    monkeypatch.setattr(logger, "level", logging.INFO)
    logger.manager._clear_cache()  # type: ignore[attr-defined]
    return lines


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A server of an empty home in a process of its own, for tests that only read."""
    from server_process import ServerProcess

    with ServerProcess(tmp_path_factory.mktemp("served") / "home") as started:
        yield started


_LOOKED_UP = {"huggingface.co"}  # once a day its client asks for a list; it goes on without


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let no client look up another machine's name."""
    looked_up: list[object] = []
    look_up = socket.getaddrinfo

    def here(host, *rest, **options):
        if host not in ("127.0.0.1", b"127.0.0.1", "localhost", "::1", None):
            looked_up.append(host)
            raise OSError(f"the tests have no internet: {host!r}")
        return look_up(host, *rest, **options)

    monkeypatch.setattr(socket, "getaddrinfo", here)
    monkeypatch.setenv("NO_PROXY", "*")
    yield
    assert set(looked_up) <= _LOOKED_UP


@pytest.fixture(scope="module")
def collected() -> Iterator[None]:
    """Collect the connections that clients leave open, before the tests of other files."""
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


@pytest.fixture
def another_time_zone() -> Iterator[None]:
    """A time zone of the machine that is not UTC."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", "XYZ-9")
        time.tzset()
        yield
    time.tzset()
