"""Fixtures of the unit tests."""

import pytest

from gem_index import GemConfig


@pytest.fixture
def faq(home, vectors_folder):
    home.vectors.add("tiny", vectors_folder)
    return home.create_collection(
        "faq", vectors="tiny", config=GemConfig(n_components=12, n_removed=5)
    )
