"""Fixtures of the tests."""

from __future__ import annotations

from pathlib import Path

import pytest
from llama_index.vector_stores.gem import GemVectorStore
from stores import SMALL, TEXTS, of

from gem_index import Home
from gem_index.testing import write_word_vectors


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A home with word vectors of eight dimensions, whose background components are computed quickly."""
    home = Home(tmp_path / "home")
    home.vectors.add(
        "small", write_word_vectors(tmp_path / "small.txt", list(TEXTS.values()), seed=1)
    )
    return home


@pytest.fixture
def store(home: Home) -> GemVectorStore:
    store = GemVectorStore("faq", vectors="small", config=SMALL, home=home)
    store.add(of("permits", "permits", "money"))
    return store
