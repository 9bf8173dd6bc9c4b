"""Sparse vectors of words for requests: the sparse encoders of models, as the queue of texts calls them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import orjson

from gem_index.collection import Collection
from gem_index.common.arrays import SparseVector
from gem_index.progress import Progress
from gem_index.server.responses import to_json
from gem_index.sparse import SparseEncoder

__all__ = ["CollectionWords", "JsonRows", "ModelWords"]

_MOST = 64  # collections whose statistics are kept
_CHANGED = (
    5  # statistics are computed again if more than a fifth of the documents were added or deleted
)

JsonRows = npt.NDArray[np.object_]
"""Sparse vectors as JSON, (n,). The encoding threads make the JSON, because long texts have many terms."""


class _Documents:
    """Encodes texts as documents."""

    def __init__(self, encoder: SparseEncoder) -> None:
        self._encoder = encoder

    def encode(self, texts: Sequence[str]) -> JsonRows:
        """Return the JSON of the sparse vectors of texts."""
        return _rows(self._encoder.embed_documents(texts))


class _Queries:
    """Encodes texts as queries."""

    def __init__(self, encoder: SparseEncoder) -> None:
        self._encoder = encoder

    def encode(self, texts: Sequence[str]) -> JsonRows:
        """Return the JSON of the sparse vectors of texts."""
        return _rows([self._encoder.embed_query(text) for text in texts])


def _rows(vectors: Sequence[SparseVector]) -> JsonRows:
    rows = np.empty(len(vectors), dtype=object)
    rows[:] = [orjson.Fragment(_json(vector)) for vector in vectors]
    return rows


def _json(vector: SparseVector) -> bytes:
    pairs = zip(vector.indices.tolist(), vector.values, strict=True)
    return to_json([{"index": index, "value": value} for index, value in pairs])


@dataclass(frozen=True)
class ModelWords:
    """The two encoders of the sparse vectors of a model.

    Attributes
    ----------
    encoder : SparseEncoder
    """

    encoder: SparseEncoder

    @cached_property
    def documents(self) -> _Documents:
        """The encoder of documents; always the same object, so that the texts of several requests are encoded together."""
        return _Documents(self.encoder)

    @cached_property
    def queries(self) -> _Queries:
        """The encoder of queries; also always the same object."""
        return _Queries(self.encoder)


@dataclass(frozen=True)
class _State:
    """The state of a collection when its texts were read."""

    id: int
    fingerprint: str
    documents: int

    def is_near(self, other: _State) -> bool:
        """Whether the statistics of one state serve the other."""
        changed = abs(self.documents - other.documents)
        same = (self.id, self.fingerprint) == (other.id, other.fingerprint)
        return same and _CHANGED * changed <= self.documents


class CollectionWords:
    """Keeps the word statistics of collections, so that a request does not read all texts.

    The texts are read again after a refit, and if more than a fifth of the documents were added or deleted.
    """

    def __init__(self) -> None:
        self._kept: dict[str, tuple[_State, ModelWords]] = {}

    def find(self, collection: Collection) -> ModelWords | None:
        """Return the encoders of the sparse vectors of a collection, or None if its texts must be read first."""
        kept = self._kept.get(collection.name)
        return kept[1] if kept is not None and kept[0].is_near(_state(collection)) else None

    def read(self, collection: Collection, progress: Progress) -> ModelWords:
        """Return the encoders of the sparse vectors of a collection; read its texts if necessary."""
        found = self.find(collection)
        if found is None:
            state = _state(collection)
            found = ModelWords(collection.sparse_encoder(progress))
            while len(self._kept) >= _MOST:
                self._kept.pop(next(iter(self._kept)))
            self._kept[collection.name] = (state, found)
        return found


def _state(collection: Collection) -> _State:
    status = collection.status()
    return _State(collection.access.id, status.fingerprint, status.documents)
