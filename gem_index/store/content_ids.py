"""Find the stored document of a record without an id: the document with the same content."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, or_, select

from gem_index.documents import Document
from gem_index.store.schema import documents
from gem_index.text.written_forms import found_in_any_form, written_forms

__all__ = ["ContentIds", "Stored"]

_STORED = (documents.c.seq, documents.c.content_hash, documents.c.source_id)


@dataclass(frozen=True)
class Stored:
    """The facts about a stored document that an upsert uses."""

    seq: int
    content_hash: bytes
    source_id: int | None


class ContentIds:
    """The ids under which an upsert stores documents.

    A record without an id gets the hash of its content. If the same content occurs again in one upsert, the second is stored
    as ``<id>-2``, the third as ``<id>-3``. So no record is left out, and the same input finds all its documents again. The
    same happens if a user gave the id of a content to another content. Earlier versions named records by place, as ``<file
    name>:<line>``, or by their text; if such a document has the content of a record, the record is that document.

    Parameters
    ----------
    connection : Connection
    collection_id : int
    written : callable
        Tells whether this upsert has already read the document of a ``seq``.
    """

    def __init__(
        self, connection: Connection, collection_id: int, written: Callable[[int], bool]
    ) -> None:
        self._connection = connection
        self._collection_id = collection_id
        self._written = written
        self._repeats: dict[str, int] = {}  # how often each repeated content has occurred
        self._of_files: dict[str, dict[bytes, list[Stored]]] = {}

    def resolve(self, batch: Sequence[Document]) -> tuple[list[str], dict[str, Stored]]:
        """Return the id of each document of a batch, and the stored documents with these ids."""
        ids = [document.id for document in batch]
        present = self._find(ids)
        again: list[str] = []
        seen: set[str] = set()
        for place, document in enumerate(batch):
            name = ids[place]
            stored = present.get(name)
            taken = name in seen or (stored is not None and self._taken(stored, document))
            seen.add(name)
            if taken and name == document.content_id:
                self._repeats[name] = self._repeats.get(name, 1) + 1
                ids[place] = f"{name}-{self._repeats[name]}"
                again.append(ids[place])
        present |= self._find(again)
        self._add_former(batch, ids, present)
        return ids, present

    def _taken(self, stored: Stored, document: Document) -> bool:
        """Tell whether a record without an id must not use this document: it is used already, or has another content."""
        if self._written(stored.seq):
            return True
        return document.former_id is not None and stored.content_hash != document.content_hash

    def _add_former(
        self, batch: Sequence[Document], ids: Sequence[str], present: dict[str, Stored]
    ) -> None:
        """Add the documents that an earlier version stored from the same records, with other ids."""
        new = [
            (name, document)
            for name, document in zip(ids, batch, strict=True)
            if document.former_id is not None and name not in present
        ]
        former = [str(document.former_id) for _, document in new]
        by_text = self._find([name for name in former if ":" not in name])
        for before, (name, document) in zip(former, new, strict=True):
            file, colon, _ = before.rpartition(":")
            if colon:
                found = self._of_file(file).get(document.content_hash)
                if found:
                    present[name] = found.pop(0)
            elif before in by_text and by_text[before].content_hash == document.content_hash:
                present[name] = by_text[before]

    def _of_file(self, name: str) -> dict[bytes, list[Stored]]:
        """Return, by content, the documents whose ids are lines of a file."""
        if name not in self._of_files:
            found: dict[bytes, list[Stored]] = {}
            begins = [f"{form}:" for form in written_forms(name)]
            between = or_(
                *(documents.c.document_id.between(begin, f"{begin[:-1]};") for begin in begins)
            )  # a semicolon is the character after the colon
            rows = self._connection.execute(
                select(documents.c.document_id, *_STORED)
                .where(documents.c.collection_id == self._collection_id, between)
                .order_by(documents.c.seq)
            )
            for identifier, *rest in rows:
                stored = Stored(*rest)
                line = identifier.rpartition(":")[2]
                named = any(identifier == f"{begin}{line}" for begin in begins)
                if named and line.isdecimal() and not self._written(stored.seq):
                    found.setdefault(stored.content_hash, []).append(stored)
            self._of_files[name] = found
        return self._of_files[name]

    def _find(self, ids: Sequence[str]) -> dict[str, Stored]:
        if not ids:
            return {}
        forms = [form for identifier in ids for form in written_forms(identifier)]
        rows = self._connection.execute(
            select(documents.c.document_id, *_STORED).where(
                documents.c.collection_id == self._collection_id,
                documents.c.document_id.in_(forms),
            )
        )
        return found_in_any_form(ids, {name: Stored(*rest) for name, *rest in rows})
