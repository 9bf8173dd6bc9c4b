"""Fixtures that every test may use."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

from gem_index import Home
from gem_index.vectors.mapped import MappedVectors
from gem_index.vectors.subword import SubwordVectors, open_wordllama

SHARED = Path(__file__).resolve().parents[2] / "shared"

# The first example opens word vectors; how many examples run is the same everywhere.
settings.register_profile("default", deadline=None, print_blob=True)
settings.load_profile("default")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip the tests that need the research data if it is absent."""
    if SHARED.is_dir():
        return
    absent = pytest.mark.skip(reason="the research data sets are not beside this checkout")
    for item in items:
        if item.get_closest_marker("shared_data"):
            item.add_marker(absent)


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No test sees the settings or the home of the person who runs it."""
    for name in list(os.environ):
        if name.startswith("GEM_INDEX_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("GEM_INDEX_HOME", str(tmp_path / "default-home"))


@pytest.fixture
def shared() -> Path:
    return SHARED


@pytest.fixture
def home(tmp_path: Path) -> Home:
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
