"""Progress of long operations: a callback, or a bar on standard error."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import contextmanager
from typing import TypeAlias, TypeVar

__all__ = ["Progress", "ProgressOption", "counted", "reporting"]

Progress: TypeAlias = Callable[[str, int, int], None]
"""Called with the name of a stage, the number of items done, and the total (0: unknown)."""

ProgressOption: TypeAlias = bool | Progress | None
"""A callback, True for a bar on standard error, or False or None for no progress."""

Item = TypeVar("Item")

_EVERY = 1000


@contextmanager
def reporting(progress: ProgressOption, stage: str) -> Iterator[Progress | None]:
    """Yield the function to call with stage, done and total, or None; a bar disappears after the block.

    Parameters
    ----------
    progress : bool or callable, optional
    stage : str
        The stage that a bar shows first.
    """
    if progress is None or isinstance(progress, bool):
        if progress:
            with _bar(stage) as report:
                yield report
        else:
            yield None
        return
    yield progress


def counted(
    items: Iterable[Item], stage: str, progress: Progress | None, total: int | None = None
) -> Iterable[Item]:
    """Return an iterable that reports how many of its items have been taken."""
    if progress is None:
        return items
    if total is None:
        total = len(items) if isinstance(items, Sized) else 0
    return _report_items(items, stage, progress, total)


def _report_items(
    items: Iterable[Item], stage: str, progress: Progress, total: int
) -> Iterator[Item]:
    done = 0
    for done, item in enumerate(items, 1):
        yield item
        if done % _EVERY == 0:
            progress(stage, done, total)
    progress(stage, done, total or done)


@contextmanager
def _bar(stage: str) -> Iterator[Progress]:
    # imported here: only a progress bar needs it
    from rich import progress as bars
    from rich.console import Console

    columns = (
        bars.TextColumn("{task.description}"),
        bars.BarColumn(),
        bars.MofNCompleteColumn(),
        bars.TimeRemainingColumn(),
    )
    with bars.Progress(*columns, console=Console(file=sys.stderr), transient=True) as bar:
        task = bar.add_task(stage, total=None)
        yield lambda stage, done, total: bar.update(
            task, description=stage, completed=done, total=total or None
        )
