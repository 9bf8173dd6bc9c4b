"""Fixtures of the unit tests."""

import pytest

from gem_index import GemConfig


@pytest.fixture
def faq(home, vectors_folder):
    home.vectors.add("tiny", vectors_folder)
    return home.create_collection("faq", vectors="tiny", config=GemConfig(components=12, removed=5))
