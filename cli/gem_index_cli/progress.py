"""A bar of progress on the terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gem_index.progress import Progress

__all__ = ["progress_bar"]


@contextmanager
def progress_bar(description: str) -> Iterator[Progress]:
    """Show progress on standard error if it is a terminal; yield a function of stage, done and total."""
    from gem_index.progress import reporting

    with reporting(sys.stderr.isatty(), description) as report:
        yield report or (lambda stage, done, total: None)  # noqa: ARG005 - nobody watches
