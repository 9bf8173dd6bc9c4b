"""One search of one state of a collection: by meaning, by words, or by both."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gem_index.collection.fusion import DEPTH, fuse
from gem_index.collection.view import Hits, View
from gem_index.index.lexical import terms_of
from gem_index.store.documents import DocumentRepository

__all__ = ["MODES", "Search"]

MODES = ("dense", "lexical", "hybrid")
"""How a collection is searched."""

_RANGE = 100  # hits that a search without a k begins with


class Search:
    """One search: what is asked for, of one state of the collection."""

    def __init__(
        self,
        view: View,
        documents: DocumentRepository,
        query: str,
        allowed: npt.NDArray[np.int64] | None,
        mode: str,
        fusion: str,
    ) -> None:
        self._view = view
        self._documents = documents
        self._allowed = allowed
        self._mode = mode
        self._fusion = fusion
        self._vector = view.encoder.encode([query])[0] if mode != "lexical" else None
        self._terms = list(dict.fromkeys(terms_of(query))) if mode != "dense" else []

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
