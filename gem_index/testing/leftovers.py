"""A pytest plugin that reports what a test leaves open in that test, not in a later one.

Files, sockets and event loops that nobody closes warn when they are garbage collected, which may be several tests later.
With ``-p gem_index.testing.leftovers`` in pytest's ``addopts`` the garbage of each test is collected in its teardown; with
``filterwarnings = ["error"]`` the test that left something open fails, in any order of the tests.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

__all__ = ["collect_leftovers"]


@pytest.fixture(autouse=True)
def collect_leftovers() -> Iterator[None]:
    """Collect the garbage of a test in its teardown."""
    yield
    gc.collect()
