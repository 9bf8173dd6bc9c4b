"""Fixtures of the unit tests."""

import pytest

from download_server import running_server
from gem_index.vectors import download
from homes import create_faq, leave_empty


@pytest.fixture
def home(request, copied_home, small_vectors_folder):
    """A home that holds the collection faq if the test asks for that too, and is empty otherwise."""
    if "faq" in request.fixturenames:
        return copied_home(create_faq, small_vectors_folder)
    return copied_home(leave_empty)


@pytest.fixture
def faq(home):
    """An empty collection with small word vectors."""
    return home.collection("faq")


@pytest.fixture
def server(monkeypatch):
    """A server of one file, which downloads ask again without a pause."""
    monkeypatch.setattr(download, "_PAUSE", 0.001)
    with running_server() as running:
        yield running
