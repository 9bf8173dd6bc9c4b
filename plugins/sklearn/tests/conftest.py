"""Every test has a home of its own."""

import pytest


@pytest.fixture(autouse=True)
def _own_home(monkeypatch, tmp_path):
    monkeypatch.setenv("GEM_INDEX_HOME", str(tmp_path / "default-home"))
    monkeypatch.chdir(tmp_path)
