"""Watch folders, and store their changes in a collection."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gem_index.collection.results import UpsertReport
from gem_index.errors import GemIndexError, MissingExtraError
from gem_index.readers import FolderReader
from gem_index.readers.inputs import Inputs

if TYPE_CHECKING:
    from gem_index.collection.collection import Collection

__all__ = ["watch"]

_QUIET = 100  # milliseconds without a change, after which the changes are read
_LONGEST = 500  # milliseconds of continuous changes, after which they are read
_TICK = 500  # milliseconds between two checks whether to stop
_RETRY = 5.0  # seconds after a failure


def watch(
    collection: Collection,
    folders: Sequence[FolderReader],
    *,
    on_report: Callable[[UpsertReport], None],
    on_error: Callable[[GemIndexError], None],
    stop: threading.Event | None = None,
    ignore: Sequence[Path] = (),
) -> None:
    """Update a collection from folders now, and again after every change, until it is stopped.

    The changes of half a second are one transaction. The first update also finds changes that happened before, so a process
    that was killed misses nothing.

    Parameters
    ----------
    collection : Collection
    folders : sequence of FolderReader
    on_report : callable
        Called after each transaction; after the first one even if nothing has changed.
    on_error : callable
        Called with an error; the update runs again five seconds later, and after the next change.
    stop : threading.Event, optional
        If it is set, the watch ends within half a second.
    ignore : sequence of Path
        Folders whose changes are ignored, such as the home.

    Raises
    ------
    MissingExtraError
        If the package ``watchfiles`` is not installed.
    """
    try:
        from watchfiles import watch as changes_of
    except ImportError as error:
        raise MissingExtraError("watching folders", "watch") from error
    roots = {Path(folder.location): bool(folder.glob) for folder in folders}

    def counts(_: object, path: str) -> bool:
        changed = Path(path)
        if any(changed.is_relative_to(folder) for folder in ignore):
            return False
        return any(
            patterns or not any(part.startswith(".") for part in changed.relative_to(root).parts)
            for root, patterns in roots.items()
            if changed.is_relative_to(root)
        )

    due: float | None = time.monotonic()  # the first update reads everything
    first = True
    for changed in _looks(changes_of, list(roots), counts, stop):
        if not changed and (due is None or time.monotonic() < due):
            continue
        due = None
        try:
            report = collection.upsert(Inputs(folders), prune=True)
        except GemIndexError as error:
            on_error(error)
            due = time.monotonic() + _RETRY
            continue
        if first or report.added or report.updated or report.deleted:
            on_report(report)
        first = False


def _looks(
    changes_of: Any,
    roots: Sequence[Path],
    counts: Callable[[object, str], bool],
    stop: threading.Event | None,
) -> Iterator[bool]:
    """Yield, at least twice per second, whether something has changed.

    If another folder with the same name replaces a folder, that one is watched.
    """
    last = _identities(roots)
    while stop is None or not stop.is_set():
        now = _identities(roots)
        if None in now:
            yield now != last
            last = now
            time.sleep(_TICK / 1000)
            continue
        for changes in changes_of(
            *roots,
            watch_filter=counts,
            debounce=_LONGEST,
            step=_QUIET,
            rust_timeout=_TICK,
            yield_on_timeout=True,
            stop_event=stop,
        ):
            yield now != last or bool(changes)
            last = now
            if _identities(roots) != now:
                break
        else:
            return


def _identities(roots: Sequence[Path]) -> list[tuple[int, int] | None]:
    """Return an identity of each folder, to notice another folder with the same name; None for a missing one."""
    found: list[tuple[int, int] | None] = []
    for root in roots:
        try:
            status = root.stat()
            found.append((status.st_dev, status.st_ino))
        except OSError:
            found.append(None)
    return found
