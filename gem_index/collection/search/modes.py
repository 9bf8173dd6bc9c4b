"""Search one state of a collection: by meaning, by words, or by both."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gem_index.collection.request import ROUNDING, SearchRequest
from gem_index.collection.state.view import TextsById, View
from gem_index.common.arrays import F32
from gem_index.errors import FingerprintMismatchError, InputError
from gem_index.errors.quoting import quoted
from gem_index.index.fusion import RANK_DEPTH, fuse_ranks, fuse_scores
from gem_index.index.hits import Hits, Ids
from gem_index.index.terms import QueryTerms

__all__ = ["Hit", "Search", "query_vectors", "unit_vector"]


class Hit(NamedTuple):
    """A found document: the score, and the cosine and the BM25 score if the mode computes them."""

    seq: int
    score: float
    cosine: float | None = None
    bm25: float | None = None
    similar: tuple[int, ...] = ()
    """The near-duplicates of this hit: hits with a lower rank that a collapsed search hides."""


_RANGE = 100  # the number of hits that a search requests first if it has no k
_MOST = 2**31  # larger than the number of documents of any collection


def unit_vector(
    vector: Sequence[float] | npt.NDArray[np.floating], dimension: int
) -> npt.NDArray[np.float32]:
    """Return a vector at unit length.

    Raises
    ------
    InputError
        If the vector has another dimension, is zero, or is not finite.
    """
    try:
        row = np.asarray(vector, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"the query is {quoted(vector)}; expected a text, or a vector of {dimension} numbers"
        ) from error
    norm = np.linalg.norm(row)
    if row.shape != (dimension,) or not np.isfinite(norm) or norm == 0:
        raise InputError(
            f"the query is an array of shape {row.shape} and length {norm:g}; expected a text, or a finite vector of "
            f"shape ({dimension},) that is not zero"
        )
    return (row / norm).astype(np.float32)


def query_vectors(view: View, requests: Sequence[SearchRequest]) -> list[F32 | None]:
    """Return the vector of each request's query; None if the mode needs no vector.

    Raises
    ------
    FingerprintMismatchError
        If a vector of a request was made by another encoder than the collection's.
    """
    texts = [
        asked.query
        for asked in requests
        if isinstance(asked.query, str) and asked.mode != "lexical"
    ]
    encoded = iter(view.encoder.encode(texts))
    return [_query_vector(view, asked, encoded) for asked in requests]


def _query_vector(view: View, asked: SearchRequest, encoded: Iterator[F32]) -> F32 | None:
    if isinstance(asked.query, str):
        return None if asked.mode == "lexical" else next(encoded)
    if asked.fingerprint != view.encoder.fingerprint:
        raise FingerprintMismatchError(
            "the collection",
            view.encoder.fingerprint,
            str(asked.fingerprint),
            "search with a text, or with a vector of the collection's own encoder",
            kind="encoder",
        )
    return unit_vector(asked.query, view.encoder.dimension)


class Search:
    """One search of one state of a collection.

    Parameters
    ----------
    view : View
    documents : TextsById
    asked : SearchRequest
    allowed : int64 array, optional
        The documents that the filter of the request accepts, ascending.
    vector : float32 array (d,), optional
        The query's vector, from :func:`query_vectors`.
    """

    def __init__(
        self,
        view: View,
        documents: TextsById,
        asked: SearchRequest,
        allowed: Ids | None,
        vector: F32 | None,
    ) -> None:
        self.view = replace(view, from_texts=True) if asked.exact else view
        self.asked = asked
        self._documents = documents
        self.allowed = allowed
        self._vector = vector
        self._terms = view.terms(asked.words)

    def without_words(self) -> Search:
        """Return the same search by meaning alone."""
        other = Search(self.view, self._documents, self.asked, self.allowed, self._vector)
        other._terms = QueryTerms(())
        return other

    def best(self) -> list[Hit]:
        """Return the k best hits, or all that reach ``min_score``; with ``collapse``, near-duplicates count as one hit."""
        near = self.asked.collapse
        hits = self._reaching(self.asked.k) if near is False else self._collapsed(near)
        if self.asked.mode != "hybrid" or not self._terms.own:
            return hits
        seqs = np.array(sorted(hit.seq for hit in hits), dtype=np.int64)
        bm25 = dict(self.lexical(self._equal_weights, max(len(seqs), 1), seqs))
        return [hit._replace(bm25=bm25.get(hit.seq, 0.0)) for hit in hits]

    def _collapsed(self, near: float) -> list[Hit]:
        """Return the k best hits without near-duplicates; each hit lists its near-duplicates that rank below it.

        After the k-th hit, the search continues until it finds a hit that is not a near-duplicate of any shown hit. So the
        near-duplicates of the k-th hit are listed too.
        """
        k = self.asked.k
        asked = None if k is None else max(k, min(2 * (k + 1), _MOST))
        while True:
            hits = self._reaching(asked)
            shown, complete = self._without_near(hits, near, k)
            if complete or asked is None or len(hits) < asked:
                return shown
            asked *= 2

    def _without_near(self, hits: list[Hit], near: float, k: int | None) -> tuple[list[Hit], bool]:
        """Return at most k hits, each with its hidden near-duplicates, and whether there is a further hit."""
        seqs = np.array(sorted(hit.seq for hit in hits), dtype=np.int64)
        vectors = self.view.vectors(seqs, self._documents)
        kept: list[int] = []
        similar: dict[int, list[int]] = {}
        best = {hit.seq: hit for hit in hits}
        for hit in hits:
            place = int(np.searchsorted(seqs, hit.seq))
            cosines = vectors[kept] @ vectors[place]
            if len(kept) and cosines.max() >= near - ROUNDING:
                first = kept[int((cosines >= near - ROUNDING).argmax())]
                similar[first].append(hit.seq)
            elif len(kept) == k:
                return [best[int(seqs[p])]._replace(similar=tuple(similar[p])) for p in kept], True
            else:
                kept.append(place)
                similar[place] = []
        return [best[int(seqs[p])]._replace(similar=tuple(similar[p])) for p in kept], False

    def _reaching(self, k: int | None) -> list[Hit]:
        min_score = self.asked.least_score
        asked = _RANGE if k is None else k
        while True:
            hits = self._search(asked)
            if min_score is None:
                return hits
            if k is not None or len(hits) < asked or hits[-1].score < min_score:
                return [hit for hit in hits if hit.score >= min_score]
            asked *= 4

    def _search(self, k: int) -> list[Hit]:
        """Return the k best hits."""
        if self.asked.mode == "dense":
            return [Hit(seq, score, cosine=score) for seq, score in self.dense(k)]
        if self.asked.mode == "lexical":
            found = self.lexical(self._equal_weights, k, self.allowed)
            return [Hit(seq, score, bm25=score) for seq, score in found]
        if self.asked.fusion == "rrf":
            lexical = self.lexical(self._equal_weights, RANK_DEPTH, self.allowed)
            best = fuse_ranks(self.dense(k, max(RANK_DEPTH, k)), lexical, k)
            seqs = np.array(sorted(seq for seq, _ in best), dtype=np.int64)
            cosine = dict(zip(seqs.tolist(), self.cosines(seqs).tolist(), strict=True))
        else:
            weights = self.view.match_weights(self._terms) if self._terms.own else {}
            best, cosine = fuse_scores(_MeaningAndWords(self, weights, k), k)
        return [Hit(seq, score, cosine=cosine[seq]) for seq, score in best]

    @property
    def _equal_weights(self) -> dict[str, float]:
        return dict.fromkeys(self._terms.every, 1.0)

    def dense(self, k: int, depth: int | None = None) -> Hits:
        """Return the best (seq, cosine), best first; see :meth:`View.nearest`."""
        assert self._vector is not None
        return self.view.nearest(self._vector, k, self.allowed, self._documents, depth)

    def lexical(
        self, terms: Mapping[str, float], k: int, allowed: npt.NDArray[np.int64] | None
    ) -> Hits:
        """Return the k best (seq, score) by words, best first; see :meth:`View.match`."""
        return self.view.match(terms, k, allowed) if terms else []

    def cosines(self, seqs: Ids) -> F32:
        """Return the cosines of documents; ``seqs`` ascend."""
        assert self._vector is not None
        return self.view.cosines(self._vector, seqs, self._documents)


@dataclass(frozen=True)
class _MeaningAndWords:
    """The :class:`~gem_index.index.fusion.ScoredLists` of a hybrid search for k documents."""

    search: Search
    weights: Mapping[str, float]
    k: int

    @property
    def exact(self) -> bool:
        return self.search.view.exact

    def nearest(self, depth: int) -> Hits:
        return self.search.dense(self.k, depth)

    def matching(self, depth: int) -> Hits:
        return self.search.lexical(self.weights, depth, self.search.allowed)

    def cosines(self, seqs: Ids) -> F32:
        return self.search.cosines(seqs)

    def matches(self, seqs: Ids) -> Mapping[int, float]:
        return dict(self.search.lexical(self.weights, len(seqs), seqs))
