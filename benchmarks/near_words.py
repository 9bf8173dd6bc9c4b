"""Let words that mean nearly the same count in a match, and compare the default search with and without them.

``python -m benchmarks.near_words FOLDER...`` reads English retrieval sets in BEIR's layout. A query's term then also matches
up to twelve other terms of the collection. Their word vectors, without the mean of the collection's word vectors, have a
cosine above a floor. Such a term counts a factor times this cosine times its own share, and at most once per query term. The
benchmark prints nDCG@10 of the default search for each choice of factor and floor, and how long a query's terms take to find
their near words.
"""

from __future__ import annotations

import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from copy import copy

import numpy as np

from benchmarks.matches import Weights, Words, zipf
from gem_index import GemEncoder, open_vectors
from gem_index.common.arrays import F64
from gem_index.evaluate.retrieval import measures, nearest, read_beir
from gem_index.gem.config import NEW_COLLECTION_PRIOR, GemConfig
from gem_index.index.fusion import MATCH_WEIGHT
from gem_index.text.analyzer import ENGLISH
from gem_index.vectors.base import VectorSource

_MOST = 12  # near words of a term
CHOICES = {  # factor and floor
    "without": (0.0, 1.0),
    "0.3, above 0.5": (0.3, 0.5),
    "0.3, above 0.4": (0.3, 0.4),
    "0.5, above 0.5": (0.5, 0.5),
    "0.5, above 0.6": (0.5, 0.6),
    "0.8, above 0.6": (0.8, 0.6),
}


def words_of_terms(texts: Iterable[str]) -> dict[str, str]:
    """Return the most frequent word of each term."""
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for text in texts:
        for word in ENGLISH.words(text):
            for term in ENGLISH.terms(word):
                found[term][word] += 1
    return {term: words.most_common(1)[0][0] for term, words in found.items()}


class NearWords:
    """The terms of a collection by their centred word vectors."""

    def __init__(self, vectors: VectorSource, words: dict[str, str]) -> None:
        self._vectors = vectors
        self.terms = list(words)
        rows = vectors.lookup(list(words.values()))[0].astype(np.float64)
        self._mean = rows.mean(axis=0)
        self._rows = self._unit(rows)

    def _unit(self, rows: F64) -> F64:
        centred = rows - self._mean
        return np.asarray(centred / np.maximum(np.linalg.norm(centred, axis=1), 1e-9)[:, None])

    def near(self, words: Sequence[str]) -> F64:
        """Return the cosine (n, terms) of each word with each term."""
        rows = self._vectors.lookup(list(words))[0].astype(np.float64)
        return np.asarray(self._unit(rows) @ self._rows.T)


def with_near(words: Words, near: dict[str, list[tuple[str, float]]], factor: float) -> Words:
    """Return the words of the same texts, in which each term also has a share where its near words occur."""
    widened = copy(words)
    widened.share = dict(words.share)
    for term, others in near.items():
        share = np.zeros(words.count)
        for other, cosine in [(term, 1 / factor), *others]:
            if other in words.share:
                places, own = words.share[other]
                share[places] = np.maximum(share[places], factor * cosine * own)
        places = np.flatnonzero(share)
        widened.share[term] = places, share[places]
    return widened


def main() -> None:
    vectors, config = open_vectors("wordllama-gem"), GemConfig.trained(prior=NEW_COLLECTION_PRIOR)
    shares, weights = zipf(), Weights()
    print("set |", " | ".join(CHOICES), "| terms | ms per query")
    for folder in sys.argv[1:]:
        task = read_beir(folder)
        texts, queries = list(task.documents.values()), list(task.queries.values())
        encoder = GemEncoder(vectors, config).fit(texts)
        cosines = encoder.encode(queries) @ encoder.encode(texts).T
        words = Words([ENGLISH.terms(text) for text in texts])
        asked = [ENGLISH.terms(query) for query in queries]
        known = words_of_terms(texts)
        table = NearWords(vectors, {term: known[term] for term in words.share if term in known})
        wanted = {term: word for term, word in words_of_terms(queries).items() if term.isalpha()}
        begin = time.perf_counter()
        found = table.near(list(wanted.values()))
        seconds = (time.perf_counter() - begin) / len(wanted)
        ids, relevance = list(task.documents), list(task.relevance.values())
        cells = []
        for factor, floor in CHOICES.values():
            near = {
                term: [
                    (table.terms[place], float(row[place]))
                    for place in np.argsort(-row)[: _MOST + 1]
                    if row[place] > floor and table.terms[place] != term
                ][:_MOST]
                for term, row in zip(wanted, found, strict=True)
            }
            scored = with_near(words, near, factor) if factor else words
            rankings = [
                [
                    ids[place]
                    for place, _ in nearest(
                        row + MATCH_WEIGHT * scored.match(terms, weights, shares)
                    )
                ]  # type: ignore[arg-type]
                for terms, row in zip(asked, cosines, strict=True)
            ]
            cells.append(f"{measures(rankings, relevance)['ndcg@10'].mean():.2f}")
        per_query = 1000 * seconds * np.mean([len(terms) for terms in asked])
        print(task.name, "|", " | ".join(cells), f"| {len(words.share):,} | {per_query:.1f}")


if __name__ == "__main__":
    main()
