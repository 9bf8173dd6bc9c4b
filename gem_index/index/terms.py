"""The weight of each term in a match."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from gem_index.text.analyzer import Analyzer
from gem_index.text.tokens import frequent_english, has_symbols

__all__ = [
    "BACKGROUND_WORDS",
    "K1",
    "Alternative",
    "B",
    "QueryTerms",
    "counts_in_match",
    "inverse_frequency",
    "match_weights",
]

K1, B = 1.2, 0.75
"""The parameters of BM25, with the values that tantivy uses."""

BACKGROUND_WORDS = 30
"""The number of words of each background text; see :func:`match_weights`."""

_BACKGROUND = 500  # number of background texts
_NUMBER = 3.0  # the factor of the weight of a term with a digit


class Alternative(NamedTuple):
    """The terms of a form (a word or phrase of a query), and the terms of a synonym.

    The terms of the synonym together weigh as much as the terms of the form together.
    """

    form: tuple[str, ...]
    other: tuple[str, ...]


@dataclass(frozen=True)
class QueryTerms:
    """The distinct terms of a query, and the terms of its synonyms.

    Attributes
    ----------
    own : tuple of str
    alternatives : tuple of Alternative
        One for each form of the query and each synonym of this form.
    """

    own: tuple[str, ...]
    alternatives: tuple[Alternative, ...] = ()

    @classmethod
    def of(
        cls, query: str, analyzer: Analyzer, synonyms: Mapping[str, Iterable[str]] | None = None
    ) -> QueryTerms:
        """Return the terms of a query; ``synonyms`` has, for each form of the query, its synonyms."""
        alternatives = (
            Alternative(tuple(analyzer.terms(form)), tuple(analyzer.terms(other)))
            for form, others in (synonyms or {}).items()
            for other in others
        )
        return cls(tuple(dict.fromkeys(analyzer.terms(query))), tuple(alternatives))

    @property
    def every(self) -> tuple[str, ...]:
        """The distinct terms of the query and of the synonyms."""
        others = (term for alternative in self.alternatives for term in alternative.other)
        return tuple(dict.fromkeys((*self.own, *others)))


def match_weights(
    terms: QueryTerms, frequencies: Mapping[str, int], documents: int, analyzer: Analyzer
) -> dict[str, float]:
    """Return the weight of each term's BM25 score in a match.

    A match is the weighted share of a query's terms that a document has, from 0 to 1: sum_t w_t f_t / sum_t w_t.

    - f_t, from 0 to 1, is BM25's term frequency, divided by its upper bound k1 + 1. It depends on the term's count and
      the document's length.
    - w_t is idf_t squared, so one rare word of a question outweighs many common words.
    - A term of at least two characters with a digit counts three times: people identify things by numbers, and word
      vectors have almost no information about numbers.
    - A term counts in the divisor even if no document has it. So a document that shares only the word
      "is" with a question has a match near 0.
    - A small collection cannot distinguish common words from rare words. So idf is computed from its documents and 500
      background texts of 30 English words, drawn by Zipf's law (docs/evaluation.md lists the alternatives tried). In
      another language, the background texts have none of the query's terms.

    Synonyms do not change the divisor. The terms of a synonym have together the weight of the terms of the
    query's form. So a document that has both the form and a synonym can have a match above 1.

    Parameters
    ----------
    terms : QueryTerms
    frequencies : mapping of str to int
        The number of documents that have each term, without the terms that :func:`counts_in_match` excludes.
    documents : int
        The number of documents, including deleted documents if the frequencies include them.
    analyzer : Analyzer
        The analyzer that made the terms.
    """
    common = _background(analyzer) if analyzer.knows_english else {}
    weights = {}
    for term, held in frequencies.items():
        idf = inverse_frequency(held + common.get(term, 0.0), documents + _BACKGROUND)
        weights[term] = idf * idf * (_NUMBER if _is_numeric(term) else 1.0)
    counted = {term: weights[term] for term in terms.own if term in weights}
    total = sum(counted.values())
    for form, other in terms.alternatives:
        whole, own = (sum(weights.get(term, 0.0) for term in part) for part in (form, other))
        for term in other:
            if term in weights and term not in terms.own:
                counted[term] = max(counted.get(term, 0.0), weights[term] * whole / own)
    return {
        term: weight / (inverse_frequency(frequencies[term], documents) * (K1 + 1) * total)
        for term, weight in counted.items()
    }


def counts_in_match(term: str, held: int) -> bool:
    """Tell whether a term of a query counts in a match.

    For some words, the analyzer adds terms: the word with its symbols, or parts of the word. An added term repeats the
    information of the word's own term, so it counts only if a document has it.
    """
    return held > 0 or not has_symbols(term)


@cache
def _background(analyzer: Analyzer) -> dict[str, float]:
    """Return, for each frequent English term, the expected number of background texts that contain the term."""
    shares: dict[str, float] = defaultdict(float)
    for rank, word in enumerate(frequent_english(), 1):
        for term in analyzer.terms(word):
            shares[term] += 0.1 / (rank + 2.7)  # Zipf's law: docs/algorithm.md, section 7
    return {
        term: _BACKGROUND * (1 - (1 - share) ** BACKGROUND_WORDS) for term, share in shares.items()
    }


def _is_numeric(term: str) -> bool:
    return len(term) > 1 and any(map(str.isdigit, term))


def inverse_frequency(held: float, documents: float) -> float:
    """Return the idf of BM25 for a term; ``held`` is the number of documents that contain the term."""
    return math.log1p((documents - held + 0.5) / (held + 0.5))
