"""Methods of :class:`~gem_index.Collection` that read stored documents."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from gem_index.collection.state.access import CollectionAccess, CollectionRows
from gem_index.collection.state.metadata_fields import FieldCounts, MetadataField, metadata_fields
from gem_index.documents import Document, check_ids
from gem_index.errors import InputError
from gem_index.store.database import FORK_GATE
from gem_index.store.records import StoredDocument
from gem_index.text.chunking import Chunking
from gem_index.text.synonyms import Synonyms

if TYPE_CHECKING:
    from gem_index.collection.search.metadata_reader import MetadataReader

__all__ = ["StoredDocuments"]

_READ_AT_ONCE = 2000


class StoredDocuments:
    """The documents and settings of a collection, read from the database without opening the model or the index.

    Parameters
    ----------
    access : CollectionAccess
        The collection's rows, files and caches. Only other packages of gem-index may use this object; it is not part of
        the stable interface.
    """

    def __init__(self, access: CollectionAccess) -> None:
        self.access = access

    def __len__(self) -> int:
        """Return the number of documents."""
        return self.count()

    def __bool__(self) -> bool:
        """Return True, even without documents."""
        return True

    def get(self, ids: Iterable[str | int]) -> list[Document]:
        """Return the documents with these ids, in the same order; ids without a document are ignored."""
        wanted = check_ids(ids)
        with self.access.reading() as rows:
            seqs = rows.documents.seqs_of(wanted)
            found = rows.documents.by_seq(list(seqs.values()))
        return [_document(found[seqs[identifier]]) for identifier in wanted if identifier in seqs]

    def documents(
        self,
        where: Mapping[str, Any] | None = None,
        offset: int = 0,
        limit: int | None = None,
        *,
        sort_by: str | None = None,
        newest_first: bool = False,
    ) -> Iterator[Document]:
        """Iterate over the documents that a filter accepts, in the order of their last change or of a field.

        The documents are those of the moment when the iteration begins; later writes are not visible.

        Parameters
        ----------
        where : mapping, optional
            A filter as for :meth:`search`. Without a filter, all documents are returned.
        offset : int
            The number of documents to skip at the beginning; the texts of skipped documents are not read.
        limit : int, optional
            The largest number of documents to return. By default, all documents are returned.
        sort_by : str, optional
            A metadata field. The values ascend, numbers before texts; with ``-`` before the field, the values descend.
            Documents without a value come last.
        newest_first : bool
            The documents that changed last come first. With ``sort_by``, this is the order of documents with equal values.

        Raises
        ------
        FilterError
            If the filter is not of the documented form.
        InputError
            If no document has the field to sort by.
        """
        with self.access.workspace.database.reading_in_steps() as connection:
            with FORK_GATE.passing():
                rows = self.access.rows(connection)
                documents = rows.documents
                seqs = self._metadata(rows).seqs(where, sort_by, newest_first)
            seqs = seqs[offset : None if limit is None else offset + limit]
            for begin in range(0, len(seqs), _READ_AT_ONCE):
                batch = seqs[begin : begin + _READ_AT_ONCE].tolist()
                with FORK_GATE.passing():
                    found = documents.by_seq(batch)
                yield from (_document(found[seq]) for seq in batch)

    def count(self, where: Mapping[str, Any] | None = None) -> int:
        """Return the number of documents; with a filter, count only accepted documents."""
        with self.access.reading() as rows:
            if where is None or where == {}:
                return rows.counts().documents
            return len(self._metadata(rows).seqs(where))

    def count_by(
        self, field: str, where: Mapping[str, Any] | None = None, limit: int | None = None
    ) -> FieldCounts:
        """Count the documents by the values of a metadata field.

        The count of a value is the number of documents that the filter ``{field: value}`` accepts. So a list counts
        once for each different member, and 1 and 1.0 are one value.

        Parameters
        ----------
        field : str
            The name of the field, as in filters: ``author.name`` is the field ``name`` of an object. If the values are
            ISO dates, ``year(created)``, ``month(created)`` and ``day(created)`` count the documents of each period, in
            the order of time.
        where : mapping, optional
            A filter as for :meth:`search`; only accepted documents are counted.
        limit : int, optional
            The largest number of values to return: the most frequent values, or the last periods. By default, all
            values are returned.

        Returns
        -------
        FieldCounts
            Values with equal counts are in the order of the values.

        Raises
        ------
        InputError
            If no document has the field, the limit is below 1, or a period is given and a value is not a date.
        FilterError
            If the filter is not of the documented form.
        """
        if limit is not None and limit < 1:
            raise InputError(f"the limit is {limit}; expected at least 1 value")
        from gem_index.collection.search.periods import field_of_period, in_periods

        with self.access.reading() as rows:
            name, period = field_of_period(field)
            if period is None:
                return self._metadata(rows).count_by(field, where, limit)
            return in_periods(self._metadata(rows).count_by(name, where, None), period, limit)

    def _metadata(self, rows: CollectionRows) -> MetadataReader:
        from gem_index.collection.search.metadata_reader import MetadataReader

        return MetadataReader(self.access, rows)

    def metadata_fields(self) -> list[MetadataField]:
        """Return at most 100 metadata fields of a sample of 200 documents, the most frequent field first.

        Returns
        -------
        list of MetadataField
            The name of each field, as in filters (``outer.inner`` for a field of an object), the kinds of its values, and
            its most frequent short values.
        """
        with self.access.reading() as rows:
            return metadata_fields(rows.documents)

    @property
    def reading(self) -> dict[str, Any]:
        """The reading options: the arguments for the reader of the collection's files, without default values."""
        with self.access.reading() as rows:
            found: dict[str, Any] = json.loads(rows.record.reading)
        return found

    @property
    def chunking(self) -> Chunking:
        """The rules that divide long texts into pieces."""
        with self.access.reading() as rows:
            return rows.record.chunking

    @property
    def description(self) -> str:
        """The description of the documents, as :meth:`Collection.set_description` stored it; empty by default."""
        with self.access.reading() as rows:
            return rows.record.description

    @property
    def synonyms(self) -> Synonyms:
        """The synonyms of the words of queries, as :meth:`Collection.set_synonyms` stored them; none by default."""
        with self.access.reading() as rows:
            return rows.record.synonyms_of_words

    @property
    def language(self) -> str:
        """The language of the texts for word search; ``auto`` until the first texts are stored."""
        with self.access.reading() as rows:
            return rows.record.analyzer.language

    @property
    def sources(self) -> dict[str, Mapping[str, Any]]:
        """The folders and queries that fill the collection, each with its reader's arguments, without default values."""
        with self.access.reading() as rows:
            return {source.location: source.options for source in rows.sources.all()}


def _document(stored: StoredDocument) -> Document:
    metadata = json.loads(stored.metadata)
    return Document(id=stored.document_id, text=stored.text, metadata=metadata)
