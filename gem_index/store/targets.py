"""Repository of what was pushed into vector databases."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from sqlalchemy import ColumnElement, Connection, delete, func, insert, or_, select, update
from sqlalchemy.dialects.sqlite import insert as upsert

from gem_index.store.records import now
from gem_index.store.schema import documents, target_documents, targets

__all__ = ["TargetRecord", "TargetRepository"]

_SENT = 0
"""The seq, which no document has, of a document that was sent and is not acknowledged: the target may hold it."""

_IDS = 500  # in one statement


@dataclass(frozen=True)
class TargetRecord:
    """What is known of a target, or of its staged replacement.

    Attributes
    ----------
    token : str
        Recorded in the database's table as well.
    fingerprint : str
        Of the encoder that made its vectors.
    texts : bool
        Whether texts are stored.
    complete : bool
        False while a push is at work, and after one was killed.
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
        """Return what is known of a target."""
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
        """Store a new, incomplete target in place of an earlier one."""
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
        """Let the staged target be the live one."""
        self.remove(url, staged=False)
        self._connection.execute(
            update(targets).where(*self._place(url, True)).values(staged=False, complete=True)
        )

    def mark(self, target_id: int, *, complete: bool) -> None:
        """Note that a push begins, or that it is finished."""
        self._connection.execute(
            update(targets).where(targets.c.id == target_id).values(complete=complete)
        )

    def changed(self, target_id: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
        """Return the seqs of the documents that the target does not hold as they are, ascending.

        Returns
        -------
        seqs : int64 array (n,)
        held : bool array (n,)
            Whether the target holds an earlier content of the document.
        """
        notes = target_documents.alias()
        rows = self._connection.execute(
            select(documents.c.seq, notes.c.seq > _SENT)
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
            .order_by(documents.c.seq)
        ).all()
        found = np.array([(seq, bool(held)) for seq, held in rows], np.int64).reshape(-1, 2)
        return found[:, 0], found[:, 1].astype(np.bool_)

    def stale(self, target_id: int) -> list[str]:
        """Return the ids that the target holds and the collection no longer does."""
        rows = self._connection.execute(
            select(target_documents.c.document_id)
            .select_from(
                target_documents.outerjoin(
                    documents,
                    (documents.c.collection_id == self._collection_id)
                    & (documents.c.document_id == target_documents.c.document_id),
                )
            )
            .where(target_documents.c.target_id == target_id, documents.c.seq.is_(None))
        )
        return [document_id for (document_id,) in rows]

    def count(self, target_id: int) -> int:
        """Return how many documents the target has acknowledged."""
        return int(
            self._connection.execute(
                select(func.count()).where(
                    target_documents.c.target_id == target_id, target_documents.c.seq > _SENT
                )
            ).scalar_one()
        )

    def announce(self, target_id: int, ids: Iterable[str]) -> None:
        """Note documents that are about to be sent for the first time.

        If a push is killed before their acknowledgement is noted and they are then deleted, they are :meth:`stale`.
        """
        rows = [{"target_id": target_id, "document_id": each, "seq": _SENT} for each in ids]
        if rows:
            self._connection.execute(upsert(target_documents).on_conflict_do_nothing(), rows)

    def record(self, target_id: int, seqs: Mapping[str, int]) -> None:
        """Note which contents the target has acknowledged, by document id."""
        if seqs:
            statement = upsert(target_documents)
            statement = statement.on_conflict_do_update(
                index_elements=["target_id", "document_id"], set_={"seq": statement.excluded.seq}
            )
            self._connection.execute(
                statement,
                [
                    {"target_id": target_id, "document_id": document_id, "seq": seq}
                    for document_id, seq in seqs.items()
                ],
            )

    def forget(self, target_id: int, ids: Iterable[str]) -> None:
        """Note that the target has deleted documents."""
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
