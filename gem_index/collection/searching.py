"""One search of one state of a collection: by meaning, by words, or by both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from gem_index.collection.fusion import DEPTH, fuse
from gem_index.collection.view import Hits, View
from gem_index.errors import EmptyTextError, InputError
from gem_index.index.lexical import terms_of
from gem_index.store.documents import DocumentRepository
from gem_index.text import tokenize

__all__ = ["MODES", "Query", "Search", "checked_query"]

Query: TypeAlias = str | Sequence[float] | npt.NDArray[np.floating]
"""A text, or a vector of the collection's encoder."""

MODES = ("dense", "lexical", "hybrid")
"""How a collection is searched."""

_RANGE = 100  # hits that a search without a k begins with


def checked_query(query: Query, dimension: int, mode: str) -> str | npt.NDArray[np.float32]:
    """Return a text as it is, a vector at unit length.

    Raises
    ------
    EmptyTextError
        If a text holds no word.
    InputError
        If a vector is not of this dimension, is zero or not finite, or the mode looks for words.
    """
    if isinstance(query, str):
        if not tokenize(query):
            raise EmptyTextError(query)
        return query
    if mode != "dense":
        raise InputError(f"found a vector for a {mode} search; expected a text to take words from")
    vector = np.asarray(query, dtype=np.float64)
    norm = np.linalg.norm(vector)
    if vector.shape != (dimension,) or not np.isfinite(norm) or norm == 0:
        raise InputError(
            f"the query is an array of shape {vector.shape} and length {norm:g}; expected a text, or a finite vector of "
            f"shape ({dimension},) that is not zero"
        )
    return (vector / norm).astype(np.float32)


class Search:
    """One search: what is asked for, of one state of the collection."""

    def __init__(
        self,
        view: View,
        documents: DocumentRepository,
        query: Query,
        allowed: npt.NDArray[np.int64] | None,
        mode: str,
        fusion: str,
    ) -> None:
        self._view = view
        self._documents = documents
        self._allowed = allowed
        self._mode = mode
        self._fusion = fusion
        query = checked_query(query, view.encoder.dimension, mode)
        self._vector: npt.NDArray[np.float32] | None = None
        self._terms: list[str] = []
        if not isinstance(query, str):
            self._vector = query
            return
        if mode != "lexical":
            self._vector = view.encoder.encode([query])[0]
        if mode != "dense":
            self._terms = list(dict.fromkeys(terms_of(query)))

    def best(self, k: int | None, min_score: float | None) -> Hits:
        """Return the k best hits, or all that reach a score."""
        if min_score is None:
            assert k is not None
            return self._search(k)
        asked = k or _RANGE
        while True:
            hits = self._search(asked)
            good = [hit for hit in hits if hit[1] >= min_score]
            if k is not None or len(good) < len(hits) or len(hits) < asked:
                return good
            asked *= 4

    def _search(self, k: int) -> Hits:
        if self._mode == "dense":
            return self._dense(k)
        if self._mode == "lexical":
            return self._lexical(k)
        depth = max(DEPTH, k)
        return fuse(self._dense(depth), self._lexical(depth), k, self._fusion)

    def _dense(self, k: int) -> Hits:
        assert self._vector is not None
        return self._view.search(self._vector, k, self._allowed, self._texts)

    def _lexical(self, k: int) -> Hits:
        return self._view.search_words(self._terms, k, self._allowed) if self._terms else []

    def _texts(self, seqs: npt.NDArray[np.int64]) -> list[str]:
        return self._documents.texts(seqs.tolist())
