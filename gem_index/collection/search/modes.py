"""Search one state of a collection: by meaning, by words, or by both."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from gem_index.arrays import F32
from gem_index.collection.search.near import NEAR, ROUNDING, check_threshold
from gem_index.collection.state.view import View
from gem_index.errors import ConfigError, EmptyTextError, FingerprintMismatchError, InputError
from gem_index.index.fusion import FUSIONS, RANK_DEPTH, fuse_ranks, fuse_scores
from gem_index.index.hits import Hits, Ids
from gem_index.index.lexical import terms_of
from gem_index.quoting import quoted
from gem_index.text import check_text, tokenize

__all__ = ["MODES", "Hit", "Query", "Search", "SearchRequest", "query_vectors", "unit_vector"]

Query: TypeAlias = str | Sequence[float] | npt.NDArray[np.floating]
"""A text, or a vector of the collection's encoder."""

MODES = ("dense", "lexical", "hybrid")
"""The search modes."""


class Hit(NamedTuple):
    """A found document: its score, and the cosine similarity and the BM25 score where its mode computes them."""

    seq: int
    score: float
    cosine: float | None = None
    bm25: float | None = None
    similar: tuple[int, ...] = ()
    """The hits that this one stands for: nearly the same and behind it."""


_RANGE = 100  # hits that a search without a k begins with
_MOST = 2**31  # documents of any collection


@dataclass(frozen=True)
class SearchRequest:
    """A search request; see :meth:`gem_index.Collection.search` for the fields.

    Raises
    ------
    InputError
        If neither ``k`` nor ``min_score`` is given, one of them is not a valid number, or the mode is unknown.
    """

    query: Query
    k: int | None
    where: Mapping[str, Any] | None
    mode: str | None
    min_score: float | None
    fusion: str
    fingerprint: str | None = None
    collapse: bool | float = False
    pieces: bool = False
    exact: bool = False

    def __post_init__(self) -> None:
        if self.collapse is not False:
            near = NEAR if self.collapse is True else self.collapse
            object.__setattr__(self, "collapse", check_threshold(near, "the cosine to collapse by"))
        if self.k is None and self.min_score is None:
            raise InputError("found neither k nor min_score; expected one of them")
        k: object = self.k
        if k is not None and (isinstance(k, bool) or not isinstance(k, int) or k < 1):
            raise InputError(f"k is {quoted(k)}; expected a whole number of at least 1")
        least: object = self.min_score
        if least is not None and not (isinstance(least, int | float) and math.isfinite(least)):
            raise InputError(f"min_score is {quoted(least)}; expected a finite number")
        if self.mode is None:
            object.__setattr__(self, "mode", "hybrid" if isinstance(self.query, str) else "dense")
        if self.mode not in MODES:
            raise InputError(f"the mode is {quoted(self.mode)}; expected {', '.join(MODES)}")
        if self.fusion not in FUSIONS:
            raise ConfigError(
                f"the fusion is {quoted(self.fusion)}; expected {' or '.join(FUSIONS)}"
            )
        if self.query is None or isinstance(self.query, Mapping | bytes | bool):
            raise InputError(f"the query is {quoted(self.query)}; expected a text, or a vector")
        if not isinstance(self.query, str):
            if self.mode != "dense":
                raise InputError(
                    f"found a vector for a {self.mode} search; expected a text to take words from"
                )
            if not isinstance(self.fingerprint, str):
                raise InputError(
                    f"found a query vector and the fingerprint {quoted(self.fingerprint)}; expected a text, or the "
                    "fingerprint of the encoder that made the vector beside it: fingerprint=encoder.fingerprint"
                )
        elif not tokenize(check_text(self.query, "query")):
            raise EmptyTextError(self.query)

    @property
    def filtered(self) -> bool:
        """Whether there is a filter, which may be malformed."""
        return self.where is not None and self.where != {}


def unit_vector(
    vector: Sequence[float] | npt.NDArray[np.floating], dimension: int
) -> npt.NDArray[np.float32]:
    """Return a vector at unit length.

    Raises
    ------
    InputError
        If it is not of this dimension, is zero or not finite.
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
    """Return the vector of each request's query; None where the mode needs none.

    Raises
    ------
    FingerprintMismatchError
        If a vector was made by another encoder than the collection's.
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
    texts : callable
        Returns the texts of some documents.
    asked : SearchRequest
    allowed : int64 array, optional
        The documents that its filter accepts, ascending.
    vector : float32 array (d,), optional
        Of the query, from :func:`query_vectors`.
    """

    def __init__(
        self,
        view: View,
        texts: Callable[[Ids], list[str]],
        asked: SearchRequest,
        allowed: Ids | None,
        vector: F32 | None,
    ) -> None:
        self.view = replace(view, from_texts=True) if asked.exact else view
        self.asked = asked
        self._texts = texts
        self._allowed = allowed
        self._vector = vector
        self._terms: list[str] = []
        if isinstance(asked.query, str) and asked.mode != "dense":
            self._terms = list(dict.fromkeys(terms_of(asked.query)))

    def without_words(self) -> Search:
        """Return the same search without word search."""
        other = Search(self.view, self._texts, self.asked, self._allowed, self._vector)
        other._terms = []
        return other

    def best(self) -> list[Hit]:
        """Return the k best hits, or all that reach a score; where asked for, nearly equal ones as one."""
        near = self.asked.collapse
        hits = self._reaching(self.asked.k) if near is False else self._collapsed(near)
        if self.asked.mode != "hybrid" or not self._terms:
            return hits
        seqs = np.array(sorted(hit.seq for hit in hits), dtype=np.int64)
        bm25 = dict(self._lexical(self._plain, max(len(seqs), 1), seqs))
        return [hit._replace(bm25=bm25.get(hit.seq, 0.0)) for hit in hits]

    def _collapsed(self, near: float) -> list[Hit]:
        """Return the k best hits of which no two are near, each with the near ones behind it.

        The last one has its near ones too: hits are looked at up to the first that is near to none.
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
        """Return at most k hits with those that they hide, and whether there is a further one."""
        seqs = np.array(sorted(hit.seq for hit in hits), dtype=np.int64)
        vectors = self.view.vectors(seqs, self._texts)
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
        min_score = self.asked.min_score
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
            return [Hit(seq, score, cosine=score) for seq, score in self._dense(k)]
        if self.asked.mode == "lexical":
            found = self._lexical(self._plain, k, self._allowed)
            return [Hit(seq, score, bm25=score) for seq, score in found]
        if self.asked.fusion == "rrf":
            lexical = self._lexical(self._plain, RANK_DEPTH, self._allowed)
            best = fuse_ranks(self._dense(k, max(RANK_DEPTH, k)), lexical, k)
            seqs = np.array(sorted(seq for seq, _ in best), dtype=np.int64)
            cosine = dict(zip(seqs.tolist(), self._cosines(seqs).tolist(), strict=True))
        else:
            weights = self.view.match_weights(self._terms) if self._terms else {}
            best, cosine = fuse_scores(
                lambda depth: self._dense(k, depth),
                lambda depth: self._lexical(weights, depth, self._allowed),
                k,
                self.view.exact,
                self._cosines,
                lambda seqs: dict(self._lexical(weights, len(seqs), seqs)),
            )
        return [Hit(seq, score, cosine=cosine[seq]) for seq, score in best]

    @property
    def _plain(self) -> dict[str, float]:
        return dict.fromkeys(self._terms, 1.0)

    def _dense(self, k: int, depth: int | None = None) -> Hits:
        assert self._vector is not None
        return self.view.nearest(self._vector, k, self._allowed, self._texts, depth)

    def _lexical(
        self, terms: Mapping[str, float], k: int, allowed: npt.NDArray[np.int64] | None
    ) -> Hits:
        return self.view.match(terms, k, allowed) if terms else []

    def _cosines(self, seqs: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]:
        assert self._vector is not None
        return self.view.cosines(self._vector, seqs, self._texts)
