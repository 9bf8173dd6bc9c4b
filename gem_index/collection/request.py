"""The arguments of a search."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, TypedDict, Unpack

import numpy as np
import numpy.typing as npt

from gem_index.common.checks import check_choice, check_number, check_whole_number
from gem_index.errors import EmptyTextError, InputError
from gem_index.errors.quoting import quoted
from gem_index.index.fusion import FUSIONS, MATCH_WEIGHT
from gem_index.text.tokens import check_text, tokenize

__all__ = [
    "MODES",
    "NEAR",
    "ROUNDING",
    "Query",
    "SearchOptions",
    "SearchRequest",
    "check_queries",
    "check_threshold",
    "share_of_cosine",
]

NEAR = 0.95
"""The default near-duplicate threshold, a cosine.

The threshold was chosen on archives of questions (Quora, SemEval) and on pairs of captions and headlines (STS
Benchmark). There, two texts with a cosine of 0.95 or more differ only in spelling, articles, word order or a number. The
lower the cosine, from 0.95 to 0.85, the more pairs ask for different things.
"""

ROUNDING = 1e-6
"""Subtracted from thresholds: with this margin, the cosine of equal vectors in float32 reaches a threshold of 1."""


def check_threshold(threshold: object, what: str) -> float:
    """Return a near-duplicate threshold after checking it; ``what`` is its name in messages.

    Raises
    ------
    InputError
        If the threshold is not a number above 0 and at most 1.
    """
    bounds = f"a cosine above 0 and at most 1, such as {NEAR:g}"
    return check_number(threshold, what, 0, 1, above=True, expected=bounds, error=InputError)


Query: TypeAlias = str | Sequence[float] | npt.NDArray[np.floating]
"""A text, or a vector of the collection's encoder."""

MODES = ("dense", "lexical", "hybrid")
"""The search modes."""


class SearchOptions(TypedDict, total=False):
    """The options of every search; each has a default.

    Attributes
    ----------
    mode : str, optional
        ``dense`` searches by the cosine of vectors, ``lexical`` by BM25 over terms, ``hybrid`` by both. Default: ``hybrid``
        for a text, ``dense`` for a vector.
    min_score : float or "auto", optional
        Return only documents with at least this score, on the scale of the mode; see
        :class:`~gem_index.results.SearchResult`. ``auto`` is the score that :meth:`~gem_index.Collection.calibrate`
        stored.
    fusion : str
        How ``hybrid`` combines cosine and BM25. ``weighted``, the default, computes (cosine + 2.25 match) / 3.25.
        The match is the weighted share of the query's terms that a document has, from 0 to 1. ``rrf`` adds reciprocal
        ranks. See :mod:`gem_index.index.fusion`.
    fingerprint : str, optional
        The fingerprint of the encoder or provider that made a query vector. A search by a vector needs the fingerprint,
        because vectors of two encoders cannot be compared, even if their dimensions are equal.
    rerank : bool
        Order the best results of the mode (at least 100) again, by meaning, words and best passage together. A passage
        has about 20 words; ``passage`` of a result has the best passage. The score is (c + 2.25 match) / 3.25, where c
        is 0.7 times the cosine of the text plus 0.3 times the cosine of the best passage. ``min_score`` is compared
        with the score before re-ranking.
    why : bool
        Explain each result: how much each word, and each pair of words, adds to the cosine of query and text.
    collapse : bool or float
        Return only the best result of each group of near-duplicates; its ``similar`` has the ids of the others. The
        search still returns k results. The value is the near-duplicate threshold; True means 0.95. With
        ``rerank``, only the remaining results are re-ranked.
    pieces : bool
        Return each piece as a separate result, with the id and metadata of its document. By default, a result is a
        document, and ``piece`` of the result has the best piece of the document.
    exact : bool
        Compute the cosines of the results from their texts. By default, the cosines of an approximate index are
        computed from vectors with 16 bits per number; their error is at most 1e-4.
    correct : bool
        If no document contains a word of the query, replace the word with the most similar word of the collection. The
        new word differs in one letter; if the query's word has nine letters or more, in at most two letters. True by
        default; in the mode ``dense`` no word is replaced. :attr:`~gem_index.results.SearchResults.corrected` lists the
        replaced words.
    offset : int
        The number of best results to skip: ``k=10, offset=10`` returns the second page. All pages come from one list, so no
        result is missing or on two pages. With ``rerank`` or ``boost``, this is true only for the first 100 results.
    boost : str, optional
        Prefer documents with a recent date (``created_at:30d``) or a large number (``votes:10``). The scores of the best
        results (at least 100) are multiplied by a factor. For dates, the factor is (1 + 2^(-age / 30 days)) / 2; for
        numbers, (1 + votes / (votes + 10)) / 2. A document without a value has the factor 1/2. The units of time are
        ``h``, ``d``, ``w`` and ``y``. ``min_score`` is compared with the score before the boost.
    sort_by : str, optional
        Return the results in the order of a field, not of the score. With ``-`` before the field, the largest or latest
        value comes first. Results without a value are last. If there are results, and no document has the field, this is an
        error.
    """

    mode: str | None
    min_score: float | Literal["auto"] | None
    fusion: str
    fingerprint: str | None
    rerank: bool
    why: bool
    collapse: bool | float
    pieces: bool
    exact: bool
    correct: bool
    offset: int
    boost: str | None
    sort_by: str | None


@dataclass(frozen=True)
class SearchRequest:
    """A query with its options; see :class:`SearchOptions`.

    If ``best_piece`` is false, results have no pieces. Measurements of search quality use this: they need only ids and
    scores, and to find the pieces, each long text would be divided again, which takes time.

    Raises
    ------
    InputError
        If neither ``k`` nor ``min_score`` is given, if ``k`` or ``min_score`` is not a valid number, or if the mode is
        unknown.
    """

    query: Query
    k: int | None = 10
    where: Mapping[str, Any] | None = None
    mode: str | None = None
    min_score: float | Literal["auto"] | None = None
    fusion: str = "weighted"
    fingerprint: str | None = None
    collapse: bool | float = False
    pieces: bool = False
    exact: bool = False
    correct: bool = True
    rerank: bool = False
    why: bool = False
    offset: int = 0
    boost: str | None = None
    sort_by: str | None = None
    best_piece: bool = True

    def __post_init__(self) -> None:
        if self.collapse is not False:
            near = NEAR if self.collapse is True else self.collapse
            object.__setattr__(self, "collapse", check_threshold(near, "the cosine to collapse by"))
        if self.k is None and self.min_score is None:
            raise InputError("found neither k nor min_score; expected one of them")
        if self.k is not None:
            k = check_whole_number(self.k, "k", 1, error=InputError)
            object.__setattr__(self, "k", k)
        offset = check_whole_number(self.offset, "offset", 0, error=InputError)
        object.__setattr__(self, "offset", offset)
        if self.sort_by is not None and (
            not isinstance(self.sort_by, str) or not self.sort_by.removeprefix("-")
        ):
            raise InputError(
                f"the field to sort by is {quoted(self.sort_by)}; expected a name, such as year or -year"
            )
        if self.min_score is not None and self.min_score != "auto":
            check_number(
                self.min_score, "min_score", expected="a finite number, or auto", error=InputError
            )
        if self.mode is None:
            object.__setattr__(self, "mode", "hybrid" if isinstance(self.query, str) else "dense")
        check_choice(self.mode, "the mode", MODES, error=InputError)
        check_choice(self.fusion, "the fusion", FUSIONS)
        if self.by_ranks and self.min_score == "auto":
            raise InputError(
                "found the min_score auto with the fusion rrf, whose scores come from ranks; expected a number, or the "
                "fusion weighted"
            )
        if self.query is None or isinstance(self.query, Mapping | bytes | bool):
            raise InputError(f"the query is {quoted(self.query)}; expected a text, or a vector")
        if not isinstance(self.query, str):
            for asked, purpose in ((self.rerank, "re-rank by"), (self.why, "explain")):
                if asked:
                    raise InputError(f"found a vector to {purpose}; expected a text")
            if self.mode != "dense":
                raise InputError(
                    f"found a vector for a {self.mode} search; expected a text, which has words"
                )
            if not isinstance(self.fingerprint, str):
                raise InputError(
                    f"found a query vector and the fingerprint {quoted(self.fingerprint)}; expected a text, or the "
                    "vector with the fingerprint of its encoder: fingerprint=encoder.fingerprint"
                )
        elif not tokenize(check_text(self.query, "query")):
            raise EmptyTextError(self.query)

    @property
    def from_first(self) -> SearchRequest:
        """The request for all results up to the last requested one: without an offset, and with a k larger by the offset."""
        if not self.offset:
            return self
        return replace(self, k=None if self.k is None else self.k + self.offset, offset=0)

    @property
    def by_ranks(self) -> bool:
        """Whether scores are computed from ranks; then they do not tell how good a result is."""
        return self.mode == "hybrid" and self.fusion == "rrf"

    def with_min_score(self, bound: float | None) -> SearchRequest:
        """Return the request; a ``min_score`` of ``auto`` is replaced by ``bound``."""
        return replace(self, min_score=bound) if self.min_score == "auto" else self

    @property
    def least_score(self) -> float | None:
        """The ``min_score`` as a number; :meth:`with_min_score` must have replaced ``auto`` before."""
        assert self.min_score != "auto"
        return self.min_score

    @property
    def words(self) -> str:
        """The query's text for word search; empty if the query is a vector or the mode is ``dense``."""
        return self.query if isinstance(self.query, str) and self.mode != "dense" else ""

    @property
    def filtered(self) -> bool:
        """Whether the request has a filter, even a malformed one."""
        return self.where is not None and self.where != {}


def share_of_cosine(options: Mapping[str, Any]) -> float | None:
    """Return the factor of the cosine in the scores of a search; None if they are not made of a cosine in this way."""
    if (
        options.get("rerank")
        or options.get("boost")
        or options["mode"] == "lexical"
        or options.get("fusion") == "rrf"
    ):
        return None
    return 1.0 if options["mode"] == "dense" else 1 / (1 + MATCH_WEIGHT)


def check_queries(
    queries: Iterable[Query],
    k: int | None,
    where: Mapping[str, Any] | None = None,
    **options: Unpack[SearchOptions],
) -> list[SearchRequest]:
    """Return the requests for several queries with the same options.

    Raises
    ------
    InputError
        As from :class:`SearchRequest`; the message has the number of the query.
    """
    requests = []
    for place, query in enumerate(queries, 1):
        try:
            requests.append(SearchRequest(query, k, where, **options))
        except InputError as error:
            raise InputError(f"query {place}: {error}") from error
    return requests
