"""Repository of the documents that were pushed into vector databases."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from sqlalchemy import ColumnElement, Connection, delete, func, insert, or_, select, update

from gem_index.store.documents import DocumentRepository
from gem_index.store.records import now
from gem_index.store.schema import documents, target_documents, targets

__all__ = ["TargetRecord", "TargetRepository"]

_SENT = 0
"""A seq that no document has. It marks a document that was sent and is not acknowledged: the target may have it."""

_IDS = 500  # ids in one statement
_NOTES = 1000  # records in one statement


@dataclass(frozen=True)
class TargetRecord:
    """The record of a target, or of its staged replacement.

    Attributes
    ----------
    token : str
        It is also recorded in the table of the database.
    fingerprint : str
        The fingerprint of the encoder of its vectors.
    texts : bool
        Whether the table has texts.
    complete : bool
        False during a push, and after one was killed.
    """

    id: int
    token: str
    fingerprint: str
    texts: bool
    complete: bool


class TargetRepository:
    """The targets of one collection."""

    def __init__(self, connection: Connection, collection_id: int) -> None:
        self._connection = connection
        self._collection_id = collection_id

    def find(self, url: str, *, staged: bool = False) -> TargetRecord | None:
        """Return the record of a target."""
        row = (
            self._connection.execute(
                select(
                    targets.c.id,
                    targets.c.token,
                    targets.c.fingerprint,
                    targets.c.texts,
                    targets.c.complete,
                ).where(*self._place(url, staged))
            )
            .mappings()
            .first()
        )
        return None if row is None else TargetRecord(**row)

    def add(
        self, url: str, token: str, fingerprint: str, *, texts: bool, staged: bool
    ) -> TargetRecord:
        """Store a new, incomplete target instead of an earlier one."""
        self.remove(url, staged=staged)
        self._connection.execute(
            insert(targets).values(
                collection_id=self._collection_id,
                url=url,
                staged=staged,
                token=token,
                fingerprint=fingerprint,
                texts=texts,
                complete=False,
                created_at=now(),
            )
        )
        found = self.find(url, staged=staged)
        assert found is not None
        return found

    def remove(self, url: str, *, staged: bool) -> None:
        """Forget a target."""
        self._connection.execute(delete(targets).where(*self._place(url, staged)))

    def promote(self, url: str) -> None:
        """Make the staged target the live one."""
        self.remove(url, staged=False)
        self._connection.execute(
            update(targets).where(*self._place(url, True)).values(staged=False, complete=True)
        )

    def mark(self, target_id: int, *, complete: bool) -> None:
        """Record that a push begins, or that it is finished."""
        self._connection.execute(
            update(targets).where(targets.c.id == target_id).values(complete=complete)
        )

    def changed(self, target_id: int) -> tuple[npt.NDArray[np.int64], ...]:
        """Return the seqs of the documents whose present content the target does not have, ascending.

        Returns
        -------
        seqs : int64 array (n,)
        held : int64 array (n,)
            1 if the target has an earlier content of the document, else 0.
        pieces : int64 array (n,)
            An upper bound of the number of the document's rows in the target.
        """
        if not self.noted(target_id):
            seqs = DocumentRepository(self._connection, self._collection_id).seqs()
            return seqs, np.zeros_like(seqs), np.zeros_like(seqs)
        notes = target_documents.alias()
        # as JSON, because a million rows would be a million objects
        rows = self._connection.execute(
            select(
                func.json_group_array(documents.c.seq),
                func.json_group_array(func.coalesce(notes.c.seq > _SENT, 0)),
                func.json_group_array(func.coalesce(notes.c.pieces, 0)),
            )
            .select_from(
                documents.outerjoin(
                    notes,
                    (notes.c.target_id == target_id)
                    & (notes.c.document_id == documents.c.document_id),
                )
            )
            .where(
                documents.c.collection_id == self._collection_id,
                or_(notes.c.seq.is_(None), notes.c.seq != documents.c.seq),
            )
        ).one()
        columns = [np.array(json.loads(values), np.int64) for values in rows]
        order = np.argsort(columns[0])
        return tuple(column[order] for column in columns)

    def stale(self, target_id: int) -> list[tuple[str, int]]:
        """Return the ids that the target has and the collection no longer has, and the number of pieces of each."""
        rows = self._connection.execute(
            select(target_documents.c.document_id, target_documents.c.pieces)
            .select_from(
                target_documents.outerjoin(
                    documents,
                    (documents.c.collection_id == self._collection_id)
                    & (documents.c.document_id == target_documents.c.document_id),
                )
            )
            .where(target_documents.c.target_id == target_id, documents.c.seq.is_(None))
        )
        return [(row.document_id, row.pieces) for row in rows]

    def count(self, target_id: int) -> int:
        """Return the number of documents that the target has acknowledged."""
        return self._sum(func.count(), target_id)

    def rows(self, target_id: int) -> int:
        """Return the number of rows that the target has acknowledged: one per piece."""
        return self._sum(func.coalesce(func.sum(target_documents.c.pieces), 0), target_id)

    def _sum(self, what: ColumnElement[int], target_id: int) -> int:
        return int(
            self._connection.execute(
                select(what).where(
                    target_documents.c.target_id == target_id, target_documents.c.seq > _SENT
                )
            ).scalar_one()
        )

    def announce(self, target_id: int, ids: Sequence[str], pieces: Sequence[int]) -> None:
        """Record documents about to be sent.

        If a push is killed before it records the acknowledgement, and documents are then deleted, they are :meth:`stale`.
        """
        notes = [(each, _SENT, count) for each, count in zip(ids, pieces, strict=True)]
        self._note(target_id, notes, "pieces = max(pieces, excluded.pieces)")

    def record(
        self, target_id: int, ids: Sequence[str], seqs: Sequence[int], pieces: Sequence[int]
    ) -> None:
        """Record which contents of documents the target has acknowledged, and in how many pieces."""
        notes = list(zip(ids, seqs, pieces, strict=True))
        self._note(target_id, notes, "seq = excluded.seq, pieces = excluded.pieces")

    def noted(self, target_id: int) -> bool:
        """Return whether any documents were announced or acknowledged."""
        query = select(target_documents.c.seq).where(target_documents.c.target_id == target_id)
        return self._connection.execute(query.limit(1)).first() is not None

    def _note(self, target_id: int, notes: Sequence[tuple[str, int, int]], conflict: str) -> None:
        """Insert many records per statement, because SQLite's driver waits for other threads before each statement."""
        for begin in range(0, len(notes), _NOTES):
            part = notes[begin : begin + _NOTES]
            values = ", ".join(["(?, ?, ?, ?)"] * len(part))
            self._connection.exec_driver_sql(
                f"INSERT INTO target_documents (target_id, document_id, seq, pieces) VALUES {values} "  # noqa: S608 - parameters
                f"ON CONFLICT DO UPDATE SET {conflict}",
                tuple(value for note in part for value in (target_id, *note)),
            )

    def forget(self, target_id: int, ids: Iterable[str]) -> None:
        """Record that the target has deleted documents."""
        wanted = list(ids)
        for begin in range(0, len(wanted), _IDS):
            self._connection.execute(
                delete(target_documents).where(
                    target_documents.c.target_id == target_id,
                    target_documents.c.document_id.in_(wanted[begin : begin + _IDS]),
                )
            )

    def _place(self, url: str, staged: bool) -> tuple[ColumnElement[bool], ...]:
        return (
            targets.c.collection_id == self._collection_id,
            targets.c.url == url,
            targets.c.staged == staged,
        )
