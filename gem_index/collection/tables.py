"""Methods of :class:`~gem_index.Collection` that return all documents with vectors: arrays, Arrow tables, data frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gem_index.collection.state.document_rows import (
    OWN_COLUMNS,
    column_names,
    rows_of_documents,
    rows_with_fields,
    rows_with_vectors,
)
from gem_index.collection.state.documents import StoredDocuments
from gem_index.documents import Document
from gem_index.errors import InputError
from gem_index.errors.quoting import quoted
from gem_index.files.arrow import load_pyarrow
from gem_index.files.arrow_tables import arrow_column, pandas_frame
from gem_index.files.tables import Tabular, write_table
from gem_index.progress import ProgressOption, counted, reporting
from gem_index.vectors.base import FloatArray

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from gem_index.collection.corpus.topic_counts import TopicCounts
    from gem_index.collection.corpus.topic_list import Topics

__all__ = ["CollectionTables"]

_OWN = ("id", "text", "vector")


class CollectionTables(StoredDocuments):
    """Ids, vectors and metadata of a collection, for files, notebooks and other libraries."""

    def write_documents(
        self,
        path: str | Path,
        where: Mapping[str, Any] | None = None,
        *,
        fields: Sequence[str] | None = None,
        limit: int | None = None,
        vectors: bool = False,
        progress: ProgressOption = None,
    ) -> int:
        """Write the documents to a file: ``id``, ``text``, and a column for each field of the metadata.

        The file is for other programs; :meth:`export` writes one from which the collection can be restored.

        Parameters
        ----------
        path : str or Path
            Ending in ``.csv`` (lists and objects as JSON), ``.jsonl`` (one flat object per line) or ``.parquet``.
        where : mapping, optional
            A filter as for :meth:`search`; all documents without one.
        fields : sequence of str, optional
            The metadata fields. By default all. A field called ``id`` or ``text`` is the column ``metadata.id`` and so on.
        limit : int, optional
            The largest number of documents.
        vectors : bool
            Also write the ``vector`` of each whole text: in Parquet a list of float32, else a JSON list of numbers.
        progress : bool or callable, optional
            As for :meth:`upsert`.

        Returns
        -------
        int
            How many documents were written.

        Raises
        ------
        InputError
            If the name has another ending, the file cannot be written, or no document has a field.
        FilterError
            If the filter is not of the documented form.
        MissingExtraError
            If the file is Parquet and pyarrow is not installed.
        """
        own = _OWN if vectors else OWN_COLUMNS
        columns = column_names(self._checked(fields), own)
        documents = self.documents(where, limit=limit)
        with reporting(progress, "write") as show:
            shown = counted(documents, "write", show)
            rows = (
                rows_with_vectors(shown, columns, self.access.encoder().encode)
                if vectors
                else rows_of_documents(shown, columns)
            )
            return write_table(path, (*own, *columns.values()), rows)

    def write_rows(self, path: str | Path, result: Tabular, *, fields: Sequence[str] = ()) -> int:
        """Write a result of this collection to a file, row by row: near-duplicates, topics, labels, new subjects, counts.

        Parameters
        ----------
        path : str or Path
            As for :meth:`write_documents`.
        result : Tabular
            Such as the :class:`~gem_index.results.DuplicateGroups` of :meth:`duplicates`.
        fields : sequence of str
            Metadata fields of the documents to write beside the columns of the result.

        Returns
        -------
        int
            How many rows were written.

        Raises
        ------
        InputError
            As for :meth:`write_documents`, or if fields are named and the rows are not documents.
        """
        if fields and "id" not in result.columns:
            raise InputError(
                f"found the fields {', '.join(map(quoted, fields))} for rows that are not documents; expected no fields"
            )
        columns = column_names(self._checked(fields), result.columns)
        rows = rows_with_fields(result.rows(), columns, self.get)
        return write_table(path, (*result.columns, *columns.values()), rows)

    def count_topics(self, topics: Topics, by: str) -> TopicCounts:
        """Count the documents of each topic by the values of a metadata field, or by time.

        Parameters
        ----------
        topics : Topics
            The topics of this collection.
        by : str
            A field, or ``year(FIELD)``, ``month(FIELD)`` or ``day(FIELD)`` of a field of ISO dates. A list counts for each
            of its values. Documents without a value are not counted.

        Raises
        ------
        InputError
            If no document has the field, or a value is not a date and a period is given.
        """
        from gem_index.collection.corpus.topic_counts import count_topics
        from gem_index.collection.search.periods import field_of_period

        field, period = field_of_period(by)
        result = topics.by_document()
        columns = column_names(self._checked([field]), result.columns)
        rows = rows_with_fields(result.rows(), columns, self.get)
        return count_topics(topics, rows, columns[field], period)

    def _checked(self, fields: Sequence[str] | None) -> Sequence[str]:
        """Return metadata fields that documents have; all of them for None."""
        with self.access.reading() as rows:
            if fields is None:
                return rows.documents.field_names()
            for name in fields:
                rows.documents.check_field(name)
        return fields

    def vectors(self, where: Mapping[str, Any] | None = None) -> tuple[list[str], FloatArray]:
        """Return the ids of the documents and their vectors, in the order of their last change.

        Parameters
        ----------
        where : mapping, optional
            A filter as for :meth:`search`; all documents without one.

        Returns
        -------
        ids : list of str
            n ids.
        vectors : float32 array (n, dimension)
            Of the whole texts, of unit length; a text without words has a row of zeros.

        Raises
        ------
        FilterError
            If the filter is not of the documented form.
        """
        documents = list(self.documents(where))
        return [each.id for each in documents], self._encoded(documents)

    def to_arrow(self, where: Mapping[str, Any] | None = None) -> pa.Table:
        """Return the documents as an Arrow table: ``id``, ``text``, ``vector``, and a column for each field of the metadata.

        A field whose values have several types is a column of JSON. A field called ``id``, ``text`` or ``vector`` is the
        column ``metadata.id`` and so on.

        Parameters
        ----------
        where : mapping, optional
            As for :meth:`vectors`.

        Raises
        ------
        MissingExtraError
            Without pyarrow.
        FilterError
            If the filter is not of the documented form.
        """
        pa, _ = load_pyarrow("an Arrow table")
        documents = list(self.documents(where))
        vectors = self._encoded(documents)
        dimension = vectors.shape[1]
        columns = {
            "id": pa.array([each.id for each in documents], pa.string()),
            "text": pa.array([str(each.text) for each in documents], pa.string()),
            "vector": pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), dimension),
        }
        for name in dict.fromkeys(name for each in documents for name in each.metadata):
            values = [each.metadata.get(name) for each in documents]
            columns[f"metadata.{name}" if name in _OWN else name] = arrow_column(values)
        return pa.table(columns)

    def to_pandas(self, where: Mapping[str, Any] | None = None) -> pd.DataFrame:
        """Return the documents as a data frame of pandas, with the columns of :meth:`to_arrow`.

        Parameters
        ----------
        where : mapping, optional
            As for :meth:`vectors`.

        Raises
        ------
        InputError
            Without pandas; MissingExtraError without pyarrow.
        FilterError
            If the filter is not of the documented form.
        """
        return pandas_frame(self.to_arrow(where))

    def _encoded(self, documents: list[Document]) -> FloatArray:
        encoder = self.access.encoder()
        if not documents:
            return np.empty((0, encoder.dimension), dtype=np.float32)
        return encoder.encode([each.text for each in documents])
