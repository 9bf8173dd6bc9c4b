"""Tasks of workers, and the function that runs them in the processes of workers."""

from __future__ import annotations

import importlib.metadata
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gem_index.errors import (
    GemIndexError,
    WorkerMismatchError,
)
from gem_index.errors.quoting import quoted, quoted_error

if TYPE_CHECKING:
    pass

__all__ = ["Task", "WorkerFault", "attempt", "other_version"]

_LOG = logging.getLogger("gem_index.distributed")


class WorkerFault(Exception):  # noqa: N818 - becomes an error when other workers fail too
    """A failure of a worker's machine, such as a full disk; another machine may succeed."""


def attempt(version: str, place: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """Run a task on a worker; the log of the worker has the traceback of a failure.

    Raises
    ------
    WorkerMismatchError
        If the worker has another version of gem-index.
    """
    from distributed import get_worker

    worker = get_worker()
    name = f"{worker.name} ({worker.address})"
    try:
        found = importlib.metadata.version("gem-index")
        if found != version:
            raise other_version(name, found, version)
        return function(*arguments)
    except GemIndexError as error:
        _LOG.warning("%s: %s", place, error)
        raise
    except (OSError, MemoryError) as error:
        _LOG.warning("%s: %s", place, quoted_error(error))
        raise WorkerFault(worker.address, name, quoted_error(error)) from error


def other_version(worker: str, found: str, wanted: str) -> WorkerMismatchError:
    """Return the error of a worker with another version."""
    return WorkerMismatchError(
        worker,
        f"has gem-index {quoted(found)[1:-1]}, found {wanted} here",
        "install the same version there",
    )


@dataclass(frozen=True)
class Task:
    """A function to run on a worker.

    Attributes
    ----------
    place : str
        The input of the task, for messages.
    function : callable
    arguments : tuple
        Futures among them are replaced by their results.
    tag : object
        The key by which the caller identifies the task.
    """

    place: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    tag: Any = None
