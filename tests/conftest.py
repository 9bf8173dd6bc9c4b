"""Fixtures that every test may use."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

from gem_index import Home
from gem_index.settings import DATABASE
from gem_index.vectors.mapped import MappedVectors
from gem_index.vectors.subword import SubwordVectors, open_wordllama
from parts import SHARED

pytest_plugins = ["choosing"]

# The first example opens word vectors; how many examples run is the same everywhere.
settings.register_profile("default", deadline=None, print_blob=True)
settings.load_profile("default")


@pytest.fixture(scope="session", autouse=True)
def _default_settings() -> Iterator[None]:
    """No fixture of a module or a session sees the settings of the person who runs the tests."""
    with pytest.MonkeyPatch.context() as patch:
        for name in _settings():
            patch.delenv(name)
        yield


@pytest.fixture(autouse=True)
def _own_environment(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Each test has default settings and a home of its own.

    Commits wait for the disk only in tests of faults: a killed process loses none without it.
    """
    for name in _settings():
        monkeypatch.delenv(name)
    monkeypatch.setenv("GEM_INDEX_HOME", str(tmp_path / "default-home"))
    if request.node.get_closest_marker("faults") is None:
        monkeypatch.setenv("GEM_INDEX_SYNCHRONOUS", "normal")


def _settings() -> list[str]:
    return [name for name in os.environ if name.startswith("GEM_INDEX_")]


@pytest.fixture
def shared() -> Path:
    return SHARED


@pytest.fixture(scope="session")
def empty_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home of which each test has a copy: its tables are created once."""
    root = Home(tmp_path_factory.mktemp("empty") / "home").root
    with closing(sqlite3.connect(root / DATABASE)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return root


@pytest.fixture
def home(empty_home: Path, tmp_path: Path) -> Home:
    shutil.copytree(empty_home, tmp_path / "home", ignore=shutil.ignore_patterns("*-wal", "*-shm"))
    return Home(tmp_path / "home")


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
    folder = tmp_path / "tiny-24d"
    folder.mkdir()
    (folder / "words.txt").write_text("\n".join(WORDS) + "\n")
    matrix = np.random.default_rng(8).normal(size=(len(WORDS), 24))
    np.save(folder / "matrix.npy", matrix.astype(np.float16))
    return folder


@pytest.fixture(scope="session")
def wordllama() -> SubwordVectors:
    return open_wordllama()
