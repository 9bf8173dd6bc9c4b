"""Fixtures that every test may use."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from alembic import command
from alembic.config import Config
from hypothesis import settings
from sqlalchemy import inspect

from gem_index import Home
from gem_index.common.settings import DATABASE
from gem_index.vectors.mapped import MappedVectors
from gem_index.vectors.subword import SubwordVectors, open_wordllama
from homes import leave_empty
from parts import CORE, SHARED

pytest_plugins = ["choosing"]

# No deadline: the first example opens word vectors.
settings.register_profile("all", deadline=None, print_blob=True)
settings.register_profile(CORE, parent=settings.get_profile("all"), max_examples=25)


def pytest_configure(config: pytest.Config) -> None:
    """Run a quarter of the random examples in the core, which people run while they work."""
    settings.load_profile(CORE if config.option.markexpr.startswith(CORE) else "all")


@pytest.fixture(scope="session", autouse=True)
def _default_settings() -> Iterator[None]:
    """No fixture of a module or a session sees the settings of the person who runs the tests."""
    with pytest.MonkeyPatch.context() as patch:
        for name in _settings():
            patch.delenv(name)
        yield


@pytest.fixture(scope="session")
def tables(empty_home: Path) -> list[str]:
    """The statements that make a new database as the migrations do."""
    with closing(sqlite3.connect(empty_home / DATABASE)) as connection:
        begin, *statements, commit = connection.iterdump()
    assert (begin, commit) == ("BEGIN TRANSACTION;", "COMMIT;")
    return statements


@pytest.fixture(autouse=True)
def _own_environment(
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    tables: list[str],
) -> None:
    """Each test has default settings and a home of its own.

    Commits and files wait for the disk only in tests of faults: a killed process loses none without it. Migrations run one
    by one in their own tests, and for a database that has tables.
    """
    for name in _settings():
        monkeypatch.delenv(name)
    monkeypatch.setenv("GEM_INDEX_HOME", str(tmp_path / "default-home"))
    if request.node.get_closest_marker("faults") is None:
        monkeypatch.setenv("GEM_INDEX_SYNCHRONOUS", "normal")
        monkeypatch.setattr(os, "fsync", _without_waiting)
    if "migrations" not in request.path.parts:
        monkeypatch.setattr(command, "upgrade", partial(_upgrade_at_once, command.upgrade, tables))


def _upgrade_at_once(
    upgrade: Callable[[Config, str], None], tables: list[str], config: Config, revision: str
) -> None:
    """Take the place of Alembic's ``upgrade``, which needs 40 ms for a new database."""
    connection = config.attributes["connection"]
    if inspect(connection).get_table_names():
        return upgrade(config, revision)
    for statement in tables:
        connection.exec_driver_sql(statement)
    return None


def _without_waiting(descriptor: int) -> None:
    """Take the place of ``os.fsync``, which tests of what is durable patch or trace."""
    os.fstat(descriptor)  # a descriptor that is closed is an error here too


def _settings() -> list[str]:
    return [name for name in os.environ if name.startswith("GEM_INDEX_")]


@pytest.fixture
def shared() -> Path:
    return SHARED


@pytest.fixture(scope="session")
def empty_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home of which each test has a copy: its tables are created once."""
    return _at_rest(Home(tmp_path_factory.mktemp("empty") / "home"))


@pytest.fixture(scope="session")
def _templates() -> dict[tuple[object, ...], Path]:
    return {}


@pytest.fixture
def copied_home(
    empty_home: Path,
    _templates: dict[tuple[object, ...], Path],
    tmp_path_factory: pytest.TempPathFactory,
    tmp_path: Path,
) -> Callable[..., Home]:
    """Make the test's home a copy of one that a function fills once in a session: ``copied_home(fill, *arguments)``.

    The function is called with the home and the arguments.
    """

    def copied(fill: Callable[..., object], *arguments: object) -> Home:
        key = (fill, *arguments)
        if key not in _templates:
            made = Home(_copy(empty_home, tmp_path_factory.mktemp("template") / "home"))
            fill(made, *arguments)
            _templates[key] = _at_rest(made)
        return Home(_copy(_templates[key], tmp_path / "home"))

    return copied


@pytest.fixture
def home(copied_home: Callable[..., Home]) -> Home:
    return copied_home(leave_empty)


def _at_rest(home: Home) -> Path:
    """Return the folder of a home of which the database's file holds everything."""
    with closing(sqlite3.connect(home.root / DATABASE)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return home.root


def _copy(root: Path, to: Path) -> Path:
    return Path(shutil.copytree(root, to, ignore=shutil.ignore_patterns("*-wal", "*-shm")))


WORDS = [
    "the",
    "of",
    "and",
    "to",
    "a",
    "in",
    "is",
    "it",
    "you",
    "that",
    "he",
    "was",
    "for",
    "on",
    "are",
    "with",
    "as",
    "his",
    "they",
    "at",
    "be",
    "this",
    "from",
    "have",
    "or",
    "by",
    "one",
    "had",
    "not",
    "but",
    "what",
    "all",
    "were",
    "when",
    "we",
    "there",
    "can",
    "an",
    "your",
    "which",
    "their",
    "said",
    "if",
    "do",
    "will",
    "each",
    "about",
    "how",
    "up",
    "out",
    "them",
    "then",
    "she",
    "many",
    "some",
    "bank",
    "account",
    "open",
    "money",
    "loan",
    "school",
    "visa",
    "renew",
    "phone",
    "plan",
    "battery",
    "river",
    "two",
    "ducks",
    "swimming",
    "water",
    "tea",
    "cup",
]


@pytest.fixture(scope="session")
def small_vectors() -> MappedVectors:
    """92 words of 24 dimensions, in frequency order: small, deterministic, made for the tests."""
    matrix = np.random.default_rng(7).normal(size=(len(WORDS), 24)).astype(np.float32)
    return MappedVectors.from_words(WORDS, matrix)


@pytest.fixture
def vectors_folder(tmp_path: Path) -> Path:
    """The same kind of vectors as a folder of words.txt and matrix.npy."""
    return write_small_vectors(tmp_path)


def write_small_vectors(below: Path) -> Path:
    folder = below / "tiny-24d"
    folder.mkdir()
    (folder / "words.txt").write_text("\n".join(WORDS) + "\n")
    matrix = np.random.default_rng(8).normal(size=(len(WORDS), 24))
    np.save(folder / "matrix.npy", matrix.astype(np.float16))
    return folder


@pytest.fixture(scope="session")
def small_vectors_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Those of ``vectors_folder``, for homes that are made once in a session."""
    return write_small_vectors(tmp_path_factory.mktemp("vectors"))


@pytest.fixture(scope="session")
def wordllama() -> SubwordVectors:
    return open_wordllama()
