"""Methods of :class:`~gem_index.Collection` that read stored documents."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from gem_index.collection.state.access import CollectionAccess
from gem_index.collection.state.metadata_fields import MetadataField, metadata_fields
from gem_index.documents import Document, check_ids
from gem_index.store.database import FORK_GATE
from gem_index.store.records import StoredDocument
from gem_index.text.chunking import Chunking

__all__ = ["StoredDocuments"]

_READ_AT_ONCE = 2000


class StoredDocuments:
    """The documents and settings of a collection in the database, read without its model or index.

    Parameters
    ----------
    access : CollectionAccess
        Its rows, files and caches, for other packages of gem-index; not part of the stable interface.
    """

    def __init__(self, access: CollectionAccess) -> None:
        self.access = access

    def __len__(self) -> int:
        """Return how many documents there are."""
        return self.count()

    def __bool__(self) -> bool:
        """Return True, even without documents."""
        return True

    def get(self, ids: Iterable[str | int]) -> list[Document]:
        """Return the documents with these ids, in the same order, without those that do not exist."""
        wanted = check_ids(ids)
        with self.access.reading() as rows:
            seqs = rows.documents.seqs_of(wanted)
            found = rows.documents.by_seq(list(seqs.values()))
        return [_document(found[seqs[identifier]]) for identifier in wanted if identifier in seqs]

    def documents(
        self, where: Mapping[str, Any] | None = None, offset: int = 0, limit: int | None = None
    ) -> Iterator[Document]:
        """Iterate over the documents that a filter accepts, in the order of their last change.

        They are the documents at the moment of the first step; later writes are not visible.

        Parameters
        ----------
        where : mapping, optional
            A filter as for :meth:`search`; all documents without one.
        offset : int
            How many documents to skip at the beginning; their texts are not read.
        limit : int, optional
            The largest number of documents to return. By default all are returned.

        Raises
        ------
        FilterError
            If the filter is not of the documented form.
        """
        with self.access.workspace.database.reading_in_steps() as connection:
            with FORK_GATE.passing():
                documents = self.access.rows(connection).documents
                seqs = (
                    documents.seqs() if where is None or where == {} else documents.accepted(where)
                )
            seqs = seqs[offset : None if limit is None else offset + limit]
            for begin in range(0, len(seqs), _READ_AT_ONCE):
                batch = seqs[begin : begin + _READ_AT_ONCE].tolist()
                with FORK_GATE.passing():
                    found = documents.by_seq(batch)
                yield from (_document(found[seq]) for seq in batch)

    def count(self, where: Mapping[str, Any] | None = None) -> int:
        """Return how many documents there are, or how many a filter accepts."""
        with self.access.reading() as rows:
            if where is None or where == {}:
                return rows.counts().documents
            return len(rows.documents.accepted(where))

    def metadata_fields(self) -> list[MetadataField]:
        """Return the fields of the metadata in a sample of 200 documents, the most frequent first, at most 100.

        Returns
        -------
        list of MetadataField
            The name of each as filters have it (``outer.inner`` for a field of an object), the kinds of its values, and the
            most frequent short values.
        """
        with self.access.reading() as rows:
            return metadata_fields(rows.documents)

    @property
    def reading(self) -> dict[str, Any]:
        """The arguments other than the defaults of the DocumentReader that read the collection's files."""
        with self.access.reading() as rows:
            found: dict[str, Any] = json.loads(rows.record.reading)
        return found

    @property
    def chunking(self) -> Chunking:
        """How texts are cut into pieces when they are long."""
        with self.access.reading() as rows:
            return rows.record.chunking

    @property
    def description(self) -> str:
        """The description of the documents, as :meth:`Collection.set_description` stored it; empty by default."""
        with self.access.reading() as rows:
            return rows.record.description

    @property
    def language(self) -> str:
        """The language of the texts for word search; ``auto`` until the first texts are stored."""
        with self.access.reading() as rows:
            return rows.record.analyzer.language

    @property
    def sources(self) -> dict[str, Mapping[str, Any]]:
        """The folders and queries that fill the collection, each with its reader's arguments other than the defaults."""
        with self.access.reading() as rows:
            return {source.location: source.options for source in rows.sources.all()}


def _document(stored: StoredDocument) -> Document:
    metadata = json.loads(stored.metadata)
    return Document(id=stored.document_id, text=stored.text, metadata=metadata)
