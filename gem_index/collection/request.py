"""What a search is asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypedDict

import numpy as np
import numpy.typing as npt

from gem_index.checks import check_choice, check_number, check_whole_number
from gem_index.errors import EmptyTextError, InputError
from gem_index.index.fusion import FUSIONS
from gem_index.quoting import quoted
from gem_index.text.tokens import check_text, tokenize

__all__ = [
    "MODES",
    "NEAR",
    "ROUNDING",
    "Query",
    "SearchOptions",
    "SearchRequest",
    "check_threshold",
]

NEAR = 0.95
"""The default.

In archives of questions (Quora, SemEval) and pairs of captions and headlines (STS Benchmark), pairs from 0.95 differ by
spelling, articles, word order or a number; from 0.95 down to 0.85 more and more of them ask for different things.
"""

ROUNDING = 1e-6
"""Of unit vectors in float32: equal directions reach a threshold of 1."""


def check_threshold(threshold: object, what: str) -> float:
    """Return a cosine from which documents are near; ``what`` is its name in messages.

    Raises
    ------
    InputError
        If it is not a number above 0 and at most 1.
    """
    bounds = f"a cosine above 0 and at most 1, such as {NEAR:g}"
    return check_number(threshold, what, 0, 1, above=True, expected=bounds, error=InputError)


Query: TypeAlias = str | Sequence[float] | npt.NDArray[np.floating]
"""A text, or a vector of the collection's encoder."""

MODES = ("dense", "lexical", "hybrid")
"""The search modes."""


class SearchOptions(TypedDict, total=False):
    """How to search; each has a default. All that searches a collection takes these.

    Attributes
    ----------
    mode : str, optional
        ``dense``: by the cosine of the vectors; ``lexical``: by BM25 over stemmed words; ``hybrid``, the default for a
        text: by both. A vector is searched ``dense``.
    min_score : float, optional
        Only documents with at least this score, on the scale of the mode; see
        :class:`~gem_index.results.SearchResult`.
    fusion : str
        How ``hybrid`` combines the two: ``weighted``, the default, by (cosine + 2.25 match) / 3.25, or ``rrf``, by their
        ranks; see :mod:`gem_index.index.fusion`.
    fingerprint : str, optional
        The fingerprint of the encoder or provider that made a query vector: vectors of two encoders cannot be compared,
        even if their lengths are equal.
    rerank : bool
        Order the best hits of the mode, 100 at least, by meaning, words and best passage together: the score is
        (c + 2.25 match) / 3.25, where c is 0.7 of the text's cosine and 0.3 of that of its best passage of 20 words,
        which is the hit's ``passage``. ``min_score`` is held against the mode's own score.
    why : bool
        Explain each hit: what each word, and each pair of words, adds to its cosine with the query.
    collapse : bool or float
        Of documents that say nearly the same show only the best, with the ids of the others in ``similar``; there are
        still k results. True, or the cosine from which two documents are the same, 0.95 by default. Re-ranking
        orders what is left.
    pieces : bool
        Return the pieces of documents apart, each with its document's id and metadata; otherwise a result is a document
        with its best piece, if the collection's texts are cut.
    exact : bool
        Compute the cosines of the hits from their texts; otherwise those of an approximate index come from vectors in 16
        bits a number, and are within 1e-4 of them.
    correct : bool
        Replace a word that no document holds by the most like word of the collection: with one other letter, of nine
        letters or more with two. True by default; ``dense`` corrects nothing.
        :attr:`~gem_index.results.SearchResults.corrected` says what was replaced.
    """

    mode: str | None
    min_score: float | None
    fusion: str
    fingerprint: str | None
    rerank: bool
    why: bool
    collapse: bool | float
    pieces: bool
    exact: bool
    correct: bool


@dataclass(frozen=True)
class SearchRequest:
    """A query with its options; see :class:`SearchOptions`.

    Raises
    ------
    InputError
        If neither ``k`` nor ``min_score`` is given, one of them is not a valid number, or the mode is unknown.
    """

    query: Query
    k: int | None = 10
    where: Mapping[str, Any] | None = None
    mode: str | None = None
    min_score: float | None = None
    fusion: str = "weighted"
    fingerprint: str | None = None
    collapse: bool | float = False
    pieces: bool = False
    exact: bool = False
    correct: bool = True
    rerank: bool = False
    why: bool = False

    def __post_init__(self) -> None:
        if self.collapse is not False:
            near = NEAR if self.collapse is True else self.collapse
            object.__setattr__(self, "collapse", check_threshold(near, "the cosine to collapse by"))
        if self.k is None and self.min_score is None:
            raise InputError("found neither k nor min_score; expected one of them")
        if self.k is not None:
            k = check_whole_number(self.k, "k", 1, error=InputError)
            object.__setattr__(self, "k", k)
        if self.min_score is not None:
            check_number(self.min_score, "min_score", expected="a finite number", error=InputError)
        if self.mode is None:
            object.__setattr__(self, "mode", "hybrid" if isinstance(self.query, str) else "dense")
        check_choice(self.mode, "the mode", MODES, error=InputError)
        check_choice(self.fusion, "the fusion", FUSIONS)
        if self.query is None or isinstance(self.query, Mapping | bytes | bool):
            raise InputError(f"the query is {quoted(self.query)}; expected a text, or a vector")
        if not isinstance(self.query, str):
            for asked, purpose in ((self.rerank, "re-rank by"), (self.why, "explain the hits of")):
                if asked:
                    raise InputError(f"found a vector to {purpose}; expected a text")
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
    def words(self) -> str:
        """What is searched for by words; empty for a vector, and in the mode ``dense``."""
        return self.query if isinstance(self.query, str) and self.mode != "dense" else ""

    @property
    def filtered(self) -> bool:
        """Whether there is a filter, which may be malformed."""
        return self.where is not None and self.where != {}
