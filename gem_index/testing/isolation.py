"""A pytest plugin: each test has a home and a folder of its own, and none asks a model hub.

With ``-p gem_index.testing.isolation`` in pytest's ``addopts`` no test sees the settings (``GEM_INDEX_*``) or the home of
the person who runs it, nor writes into their folder; huggingface_hub is offline, also in child processes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

__all__ = ["own_home", "own_settings", "pytest_configure"]


def pytest_configure(config: pytest.Config) -> None:
    """Put huggingface_hub offline: it reads the variable when it is imported, so before any test module is."""
    patch = pytest.MonkeyPatch()
    config.add_cleanup(patch.undo)
    patch.setenv("HF_HUB_OFFLINE", "1")


@pytest.fixture(scope="session", autouse=True)
def own_settings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Give the fixtures of modules and sessions the default settings, and a home that they share."""
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("GEM_INDEX_")]:
            patch.delenv(name)
        patch.setenv("GEM_INDEX_HOME", str(tmp_path_factory.mktemp("shared") / "home"))
        yield


@pytest.fixture(autouse=True)
def own_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Make ``tmp_path`` the current directory of a test, and a folder in it the default home, which is returned."""
    home = tmp_path / "default-home"
    monkeypatch.setenv("GEM_INDEX_HOME", str(home))
    monkeypatch.chdir(tmp_path)
    return home
