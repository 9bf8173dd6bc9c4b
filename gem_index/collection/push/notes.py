"""What SQLite holds of a target: where the last push left it, and which documents it has acknowledged."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from gem_index.arrays import I64
from gem_index.collection.state.access import CollectionAccess
from gem_index.store.targets import TargetRecord, TargetRepository

__all__ = ["Difference", "PushNotes", "SentDocuments"]


@dataclass(frozen=True)
class SentDocuments:
    """Documents that are sent at once.

    Attributes
    ----------
    ids : sequence of str (n,)
    seqs : sequence of int (n,)
        Which contents of them.
    pieces : sequence of int (n,)
        How many rows of the target each is.
    """

    ids: Sequence[str]
    seqs: Sequence[int]
    pieces: Sequence[int]


@dataclass(frozen=True)
class Difference:
    """In what a target differs from its collection.

    Attributes
    ----------
    changed : int64 array (n,)
        The documents that it does not hold as they are, by ascending ``seq``.
    held : int64 array (n,)
        1 if it holds an earlier content of the document, else 0.
    pieces : int64 array (n,)
        How many of its rows may be of the document.
    stale : sequence of (str, int)
        The ids of documents that only the target holds, and how many rows each is.
    new : bool
        Whether nothing was sent to it yet.
    """

    changed: I64
    held: I64
    pieces: I64
    stale: Sequence[tuple[str, int]]
    new: bool

    def __bool__(self) -> bool:
        return bool(len(self.changed) or self.stale)


class PushNotes:
    """The notes of one target of a collection; each method reads or writes in a transaction of its own.

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
        """What is known of the live table."""
        with self._reading() as targets:
            return targets.find(self._target, staged=False)

    @property
    def staged(self) -> TargetRecord | None:
        """What is known of the staged table that is to replace it."""
        with self._reading() as targets:
            return targets.find(self._target, staged=True)

    def begin(self, fingerprint: str, *, texts: bool, staged: bool) -> TargetRecord:
        """Note a new table, without documents, in place of an earlier one."""
        with self._writing() as targets:
            token = secrets.token_hex(16)
            return targets.add(self._target, token, fingerprint, texts=texts, staged=staged)

    def promote(self) -> None:
        """Note that the staged table is the live one now."""
        with self._writing() as targets:
            targets.promote(self._target)

    def difference(self, record: TargetRecord) -> Difference:
        """Return what is to be sent and deleted."""
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
        """Note documents that are about to be sent, and others that the target has acknowledged."""
        with self._writing() as targets:
            for sent in acknowledged:
                targets.record(record.id, sent.ids, sent.seqs, sent.pieces)
            if following is not None:
                targets.announce(record.id, following.ids, following.pieces)

    def forget(self, record: TargetRecord, ids: Sequence[str]) -> None:
        """Note that the target has deleted documents."""
        with self._writing() as targets:
            targets.forget(record.id, ids)

    def mark(self, record: TargetRecord, *, complete: bool) -> None:
        """Note that a push begins to write, or that it is finished."""
        with self._writing() as targets:
            targets.mark(record.id, complete=complete)

    def rows(self, record: TargetRecord) -> int:
        """Return how many rows of the table are acknowledged."""
        with self._reading() as targets:
            return targets.rows(record.id)

    def count(self, record: TargetRecord) -> int:
        """Return how many documents of the table are acknowledged."""
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
