"""Errors of a home: its folder, its database, its files and its index."""

from __future__ import annotations

from gem_index.errors.advice import Action, Advice
from gem_index.errors.base import GemIndexError, InputError
from gem_index.errors.quoting import quoted_error

__all__ = [
    "CommitError",
    "CorruptionError",
    "DatabaseVersionError",
    "DiskError",
    "HomeBusyError",
    "HomeNotWritableError",
    "NotIndexedError",
]


class HomeNotWritableError(InputError):
    """The home directory cannot be created or written."""


class DatabaseVersionError(InputError):
    """The database was written by another version of gem-index, and cannot be upgraded here."""


class HomeBusyError(GemIndexError):
    """Another process held the write lock for longer than the lock timeout."""


class CorruptionError(GemIndexError):
    """A stored file is not what was written."""


class DiskError(GemIndexError):
    """The disk refused to read or write."""


class CommitError(DiskError):
    """The disk failed during a commit: reopening the database shows whether the transaction was kept."""


class NotIndexedError(GemIndexError):
    """Documents are stored and searchable, but fitting their model or writing their index failed.

    Parameters
    ----------
    collection : str
        Its name.
    documents : int
        How many it holds.
    cause : Exception
        What failed.
    action : Action
        What completes the index.
    """

    def __init__(
        self, collection: str, documents: int, cause: BaseException, action: Action
    ) -> None:
        advice = Advice(action, {"collection": collection})
        interrupted = isinstance(cause, KeyboardInterrupt)
        reason = "interrupted" if interrupted else quoted_error(cause)
        first = "" if interrupted else "make room or fix the cause, then "
        super().__init__(
            f"{collection} holds its {documents} documents, all of them stored and searchable, but its index was not "
            f"written: {reason}; {first}{advice}"
        )
        self.collection = collection
        self.documents = documents
        self.advice = advice
