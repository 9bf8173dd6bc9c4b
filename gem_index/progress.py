"""Progress of long work: a function of the caller's, or a bar on standard error."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import contextmanager
from typing import TypeAlias, TypeVar

__all__ = ["Progress", "ProgressOption", "counted", "reporting"]

Progress: TypeAlias = Callable[[str, int, int], None]
"""Called with the name of a stage, what is done of it, and the whole (0: not known)."""

ProgressOption: TypeAlias = bool | Progress | None
"""A function to call, True for a bar on standard error, nothing otherwise."""

Item = TypeVar("Item")

_EVERY = 1000


@contextmanager
def reporting(progress: ProgressOption, stage: str) -> Iterator[Progress | None]:
    """Yield what to call with stage, done and total; a bar is gone after the block.

    Parameters
    ----------
    progress : bool or callable, optional
    stage : str
        What a bar shows at first.
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
    return _counting(items, stage, progress, total)


def _counting(items: Iterable[Item], stage: str, progress: Progress, total: int) -> Iterator[Item]:
    done = 0
    for done, item in enumerate(items, 1):
        yield item
        if done % _EVERY == 0:
            progress(stage, done, total)
    progress(stage, done, total or done)


@contextmanager
def _bar(stage: str) -> Iterator[Progress]:
    # imported here: only who watches pays for it
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
