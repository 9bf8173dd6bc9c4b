"""Write one metadata field of many documents."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from sqlalchemy import Connection, insert, select

from gem_index.documents import Document, content_hash
from gem_index.progress import Progress
from gem_index.store.schema import documents
from gem_index.store.upsert import bury

__all__ = ["write_field"]

_BATCH = 2000  # well below SQLite's limit on bound values in one statement
_COLUMNS = ("document_id", "text", "metadata", "content_hash", "weights", "source_id")


def write_field(
    connection: Connection,
    collection_id: int,
    field: str,
    values: Mapping[int, Any],
    fitted_seq: int,
    show: Progress | None,
) -> tuple[int, int]:
    """Set a field of documents by seq, or remove it where the value is None; the texts stay as they are.

    If the metadata of a document change, its content has changed, so it gets a new seq. Then the documents after the last
    fit get new seqs too, so that the seqs of documents of the fit are still below all later ones.

    Returns
    -------
    changed : int
        How many documents have other metadata now.
    fitted_seq : int
        The last seq that a document of the fit has now.
    """
    changes = _Changes(connection, collection_id, field, values)
    before = sorted(seq for seq in values if seq <= fitted_seq)
    later = (documents.c.collection_id == collection_id) & (documents.c.seq > fitted_seq)
    after = list(connection.scalars(select(documents.c.seq).where(later).order_by("seq")))
    total = len(before) + len(after)

    def shown(done: int) -> None:
        if show is not None:
            show("store", done, total)

    moved = changes.write(before, False, shown)
    last = changes.last_seq if moved else fitted_seq
    changes.write(after, bool(moved), lambda done: shown(len(before) + done))
    return changes.count, last


class _Changes:
    """Documents that are written again with another value of a field."""

    def __init__(
        self, connection: Connection, collection_id: int, field: str, values: Mapping[int, Any]
    ) -> None:
        self._connection = connection
        self._collection_id = collection_id
        self._field = field
        self._values = values
        self.count = 0
        self.last_seq = 0

    def write(self, seqs: list[int], unchanged_too: bool, shown: Callable[[int], None]) -> int:
        """Write documents again in the order of their seqs, and return how many got a new seq."""
        moved = 0
        query = select(documents.c.seq, *(documents.c[name] for name in _COLUMNS))
        for begin in range(0, len(seqs), _BATCH):
            batch = seqs[begin : begin + _BATCH]
            found = self._connection.execute(
                query.where(documents.c.seq.in_(batch)).order_by(documents.c.seq)
            )
            rows = {row["seq"]: dict(row) for row in found.mappings()}
            changed = {seq: row for seq, row in rows.items() if self._change(seq, row)}
            self.count += len(changed)
            written = rows if unchanged_too else changed
            if written:
                bury(self._connection, self._collection_id, list(written))
                for row in written.values():
                    del row["seq"]
                    row["collection_id"] = self._collection_id
                self._connection.execute(insert(documents), list(written.values()))
                moved += len(written)
            shown(begin + len(batch))
        if moved:
            mine = documents.c.collection_id == self._collection_id
            newest = select(documents.c.seq).where(mine).order_by(documents.c.seq.desc()).limit(1)
            self.last_seq = int(self._connection.execute(newest).scalar_one())
        return moved

    def _change(self, seq: int, row: dict[str, Any]) -> bool:
        """Set the field of a row, and tell whether this changes the row."""
        metadata = json.loads(row["metadata"])
        value = self._values.get(seq)
        if seq not in self._values or metadata.get(self._field) == value:
            return False
        if value is None:
            del metadata[self._field]
        else:
            metadata[self._field] = value
        row["metadata"] = Document(id=row["document_id"], text="", metadata=metadata).metadata_json
        row["content_hash"] = content_hash(row["text"], row["metadata"], row["weights"])
        return True
