"""What homes hold that are made once in a session and copied for each test: functions for the fixture ``copied_home``."""

from __future__ import annotations

from pathlib import Path

from gem_index import GemConfig, Home


def leave_empty(home: Home) -> None:
    """Leave a home without collections."""


def create_faq(home: Home, vectors_folder: Path) -> None:
    """Create an empty collection with small word vectors."""
    home.vectors.add("tiny", vectors_folder)
    config = GemConfig(n_components=12, n_removed=5)
    home.create_collection("faq", vectors="tiny", config=config)
