"""A pytest plugin that reports unclosed resources in the test that opened them, not in a later one.

Unclosed files, sockets and event loops cause a warning when they are garbage collected, perhaps several tests later.
With ``-p gem_index.testing.leftovers`` in pytest's ``addopts`` the garbage of each test is collected in its teardown; with
``filterwarnings = ["error"]`` the test that left something open fails, in any order of the tests.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

__all__ = ["collect_leftovers", "leave_out_what_stands"]


@pytest.fixture(autouse=True, scope="module")
def leave_out_what_stands() -> Iterator[None]:
    """Leave out of these collections what stands before a module's tests: packages have many objects."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture(autouse=True)
def collect_leftovers() -> Iterator[None]:
    """Collect the garbage of a test in its teardown."""
    yield
    gc.collect()
