"""Methods of :class:`~gem_index.Collection` that return all documents with vectors: arrays, Arrow tables, data frames."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from gem_index.collection.state.documents import StoredDocuments
from gem_index.documents import Document
from gem_index.errors import InputError, MissingExtraError
from gem_index.vectors.base import FloatArray

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

__all__ = ["CollectionTables"]

_OWN = ("id", "text", "vector")


class CollectionTables(StoredDocuments):
    """Ids, vectors and metadata of a collection, for notebooks and other libraries."""

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
        try:
            import pyarrow as pa
        except ImportError as error:
            raise MissingExtraError("an Arrow table", "parquet") from error
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
            columns[f"metadata.{name}" if name in _OWN else name] = _column(values)
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
        try:
            import pandas  # noqa: F401 - pyarrow imports it
        except ImportError as error:
            raise InputError("a data frame needs pandas: pip install pandas") from error
        return self.to_arrow(where).to_pandas()

    def _encoded(self, documents: list[Document]) -> FloatArray:
        encoder = self.access.encoder()
        if not documents:
            return np.empty((0, encoder.dimension), dtype=np.float32)
        return encoder.encode([each.text for each in documents])


def _column(values: list[Any]) -> pa.Array:
    """Return values as a column of their type; as JSON if Arrow has no type for all of them."""
    import pyarrow as pa

    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        return pa.array([None if value is None else json.dumps(value) for value in values])
