"""The records of a target in SQLite: the state after the last push, and the acknowledged documents."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from gem_index.collection.state.access import CollectionAccess
from gem_index.common.arrays import I64
from gem_index.store.targets import TargetRecord, TargetRepository

__all__ = ["Difference", "PushNotes", "SentDocuments"]


@dataclass(frozen=True)
class SentDocuments:
    """The documents of one batch.

    Attributes
    ----------
    ids : sequence of str (n,)
    seqs : sequence of int (n,)
        The numbers of the documents' contents (``documents.seq``).
    pieces : sequence of int (n,)
        The number of rows of each document in the target.
    """

    ids: Sequence[str]
    seqs: Sequence[int]
    pieces: Sequence[int]


@dataclass(frozen=True)
class Difference:
    """The difference between a target and its collection.

    Attributes
    ----------
    changed : int64 array (n,)
        The documents that must be sent, because the target does not have their present content; by ascending ``seq``.
    held : int64 array (n,)
        For each changed document, 1 if the target has an earlier content of the document, else 0.
    pieces : int64 array (n,)
        For each changed document, an upper bound of the number of rows that the document has in the target.
    stale : sequence of (str, int)
        The id of each document that only the target has, and the number of rows of this document.
    new : bool
        Whether nothing has been sent to the target yet.
    """

    changed: I64
    held: I64
    pieces: I64
    stale: Sequence[tuple[str, int]]
    new: bool

    def __bool__(self) -> bool:
        return bool(len(self.changed) or self.stale)


class PushNotes:
    """The records of one target of a collection; each method has its own transaction.

    Parameters
    ----------
    access : CollectionAccess
    target : str
        The target's URL.
    """

    def __init__(self, access: CollectionAccess, target: str) -> None:
        self._access = access
        self._target = target

    @property
    def live(self) -> TargetRecord | None:
        """The record of the live table."""
        with self._reading() as targets:
            return targets.find(self._target, staged=False)

    @property
    def staged(self) -> TargetRecord | None:
        """The record of the staged table."""
        with self._reading() as targets:
            return targets.find(self._target, staged=True)

    def begin(self, fingerprint: str, *, texts: bool, staged: bool) -> TargetRecord:
        """Record a new, empty table; this record replaces the record of an earlier live or staged table."""
        with self._writing() as targets:
            token = secrets.token_hex(16)
            return targets.add(self._target, token, fingerprint, texts=texts, staged=staged)

    def promote(self) -> None:
        """Record that the staged table is now the live table."""
        with self._writing() as targets:
            targets.promote(self._target)

    def difference(self, record: TargetRecord) -> Difference:
        """Return the documents to send and to delete."""
        with self._reading() as targets:
            new = not targets.noted(record.id)
            stale = [] if new else targets.stale(record.id)
            changed, held, pieces = targets.changed(record.id)
            return Difference(changed, held, pieces, stale, new)

    def announce(
        self,
        record: TargetRecord,
        following: SentDocuments | None,
        acknowledged: Sequence[SentDocuments] = (),
    ) -> None:
        """Record the documents that are about to be sent, and the documents that the target has acknowledged."""
        with self._writing() as targets:
            for sent in acknowledged:
                targets.record(record.id, sent.ids, sent.seqs, sent.pieces)
            if following is not None:
                targets.announce(record.id, following.ids, following.pieces)

    def forget(self, record: TargetRecord, ids: Sequence[str]) -> None:
        """Record that the target has deleted documents."""
        with self._writing() as targets:
            targets.forget(record.id, ids)

    def mark(self, record: TargetRecord, *, complete: bool) -> None:
        """Record that a push is complete; with ``complete=False``, that a push has begun to write."""
        with self._writing() as targets:
            targets.mark(record.id, complete=complete)

    def rows(self, record: TargetRecord) -> int:
        """Return the number of acknowledged rows of the table."""
        with self._reading() as targets:
            return targets.rows(record.id)

    def count(self, record: TargetRecord) -> int:
        """Return the number of acknowledged documents of the table."""
        with self._reading() as targets:
            return targets.count(record.id)

    @contextmanager
    def _reading(self) -> Iterator[TargetRepository]:
        with self._access.reading() as rows:
            yield TargetRepository(rows.connection, self._access.id)

    @contextmanager
    def _writing(self) -> Iterator[TargetRepository]:
        with self._access.writing_rows() as rows:
            yield TargetRepository(rows.connection, self._access.id)
