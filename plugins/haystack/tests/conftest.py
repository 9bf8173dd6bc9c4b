"""Every test has a home of its own, and nothing is reported to anyone."""

import os

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"  # before Haystack is imported

import pytest


@pytest.fixture(autouse=True)
def _own_home(monkeypatch, tmp_path):
    monkeypatch.setenv("GEM_INDEX_HOME", str(tmp_path / "default-home"))
    monkeypatch.chdir(tmp_path)
