"""A pytest plugin: each test has its own home and folder, and no test contacts a model hub.

With ``-p gem_index.testing.isolation`` in pytest's ``addopts`` tests do not see the settings (``GEM_INDEX_*``) or the home
of the person who runs them, and do not write into that person's folders; huggingface_hub is offline, also in child
processes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

__all__ = ["own_home", "own_settings", "pytest_configure"]


def pytest_configure(config: pytest.Config) -> None:
    """Set huggingface_hub offline before a test module imports it, because it reads the variable on import."""
    patch = pytest.MonkeyPatch()
    config.add_cleanup(patch.undo)
    patch.setenv("HF_HUB_OFFLINE", "1")


@pytest.fixture(scope="session", autouse=True)
def own_settings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Give fixtures of module and session scope the default settings and a shared home."""
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("GEM_INDEX_")]:
            patch.delenv(name)
        patch.setenv("GEM_INDEX_HOME", str(tmp_path_factory.mktemp("shared") / "home"))
        yield


@pytest.fixture(autouse=True)
def own_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Make ``tmp_path`` the current directory of a test; return the default home, a folder inside it."""
    home = tmp_path / "default-home"
    monkeypatch.setenv("GEM_INDEX_HOME", str(home))
    monkeypatch.chdir(tmp_path)
    return home
