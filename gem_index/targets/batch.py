"""Documents in columns, as a push sends them: databases that take columns need no object for each document."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self, overload

import numpy as np

from gem_index.common.arrays import F32, SparseVector
from gem_index.common.forking import cached_property
from gem_index.errors import ConfigError
from gem_index.errors.quoting import quoted
from gem_index.targets.metadata import JsonObjects
from gem_index.targets.protocol import TargetDocument, TargetSchema

__all__ = ["TargetBatch"]

_OVERHEAD = 100  # bytes of a document in a request in addition to its values: names and punctuation
_BYTES_OF_A_CHARACTER = 6  # at most, as JSON escapes it


class TargetBatch(Sequence[TargetDocument]):
    """Documents with distinct ids; a sequence of :class:`TargetDocument`, which are made when they are asked for.

    Parameters
    ----------
    ids : sequence of str
    vectors : float32 array (n, d)
    texts : sequence of str, optional
        None if texts are not stored.
    metadata : sequence of mapping
        If it exists as JSON, :class:`JsonObjects` is best.
    words : sequence of SparseVector, optional
        None if the table has no sparse vectors.
    new : bool
        It is certain that the table has none of these documents, so they may be inserted instead of upserted.
    """

    def __init__(
        self,
        ids: Sequence[str],
        vectors: F32,
        texts: Sequence[str | None] | None,
        metadata: Sequence[Mapping[str, Any]],
        words: Sequence[SparseVector | None] | None = None,
        *,
        new: bool = False,
    ) -> None:
        self.ids = list(ids)
        self.vectors = vectors
        self.texts: list[str | None] = [None] * len(self.ids) if texts is None else list(texts)
        self.metadata = metadata
        self.words: list[SparseVector | None] = (
            [None] * len(self.ids) if words is None else list(words)
        )
        self.new = new

    @classmethod
    def of(cls, documents: Sequence[TargetDocument], schema: TargetSchema) -> Self:
        """Return documents as a batch for a table; the last of two with the same id counts.

        Raises
        ------
        ConfigError
            If a vector does not have the table's dimension.
        """
        if isinstance(documents, cls):
            batch = documents
        else:
            for document in documents:
                schema.check_vector(document.vector)
            latest = list({document.id: document for document in documents}.values())
            batch = cls(
                [document.id for document in latest],
                np.array([document.vector for document in latest], np.float32).reshape(
                    len(latest), schema.dimension
                ),
                [document.text for document in latest],
                [document.metadata for document in latest],
                [document.words for document in latest],
            )
        if batch.vectors.shape != (len(batch), schema.dimension):
            raise ConfigError(
                f"found vectors of the shape {batch.vectors.shape}; "
                f"expected {len(batch)} of {schema.dimension} numbers, the table's dimension"
            )
        if schema.words and None in batch.words:
            raise ConfigError(
                f"found the document {quoted(batch.ids[batch.words.index(None)])} without a sparse vector of words; "
                "expected one, as the table has them"
            )
        return batch

    @cached_property
    def as_json(self) -> list[str]:
        """The metadata as JSON."""
        if isinstance(self.metadata, JsonObjects):
            return self.metadata.texts
        return [json.dumps(dict(each), ensure_ascii=False) for each in self.metadata]

    def sent(self) -> TargetBatch:
        """Return the same documents as not new: the table may already have some."""
        return TargetBatch(self.ids, self.vectors, self.texts, self.metadata, self.words)

    def parts(
        self, largest: int, *, bytes_of_a_number: int, most: int | None = None
    ) -> Iterator[TargetBatch]:
        """Divide the documents into parts for requests.

        Parameters
        ----------
        largest : int
            Bytes of a request, at most; a document that is larger is a part of its own.
        bytes_of_a_number : int
            How many a vector's element takes.
        most : int, optional
            How many documents a request may hold.
        """
        begin = size = 0
        fixed = bytes_of_a_number * self.vectors.shape[1] + _OVERHEAD
        for place, (identifier, text, metadata, words) in enumerate(
            zip(self.ids, self.texts, self.as_json, self.words, strict=True)
        ):
            characters = len(identifier) + len(text or "") + len(metadata)
            terms = 0 if words is None else len(words.indices)
            length = fixed + _BYTES_OF_A_CHARACTER * characters + 2 * bytes_of_a_number * terms
            if place > begin and (size + length > largest or place - begin == most):
                yield self[begin:place]
                begin, size = place, 0
            size += length
        if len(self) > begin:
            yield self[begin:]

    def __len__(self) -> int:
        return len(self.ids)

    @overload
    def __getitem__(self, place: int) -> TargetDocument: ...
    @overload
    def __getitem__(self, place: slice) -> TargetBatch: ...
    def __getitem__(self, place: int | slice) -> TargetDocument | TargetBatch:
        if isinstance(place, slice):
            return TargetBatch(
                self.ids[place],
                self.vectors[place],
                self.texts[place],
                self.metadata[place],
                self.words[place],
                new=self.new,
            )
        return TargetDocument(
            self.ids[place],
            self.vectors[place],
            self.texts[place],
            self.metadata[place],
            self.words[place],
        )

    def __iter__(self) -> Iterator[TargetDocument]:
        return map(TargetDocument, self.ids, self.vectors, self.texts, self.metadata, self.words)
