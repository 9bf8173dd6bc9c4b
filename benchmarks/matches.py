"""Compare the weights of words in a match: on collections, on look-ups, and on lists of few documents.

``python -m benchmarks.matches dev-sets.toml FOLDER...`` reads the retrieval sets of a suite's file and folders in BEIR's
layout. For each choice of weights it prints nDCG@10 of the default search in each set, how often numbers and words that one
document holds are found first by the carrier around them, and how often the right document comes first in lists of 8, 15 and
60 documents that are drawn from the sets with short texts.
"""

from __future__ import annotations

import random
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gem_index import GemEncoder, open_vectors
from gem_index.common.arrays import F64
from gem_index.evaluate.lookups import CARRIERS, make_lookups
from gem_index.evaluate.retrieval import RetrievalTask, measures, nearest, read_beir
from gem_index.evaluate.suite_file import read_suite
from gem_index.gem.config import NEW_COLLECTION_PRIOR, GemConfig
from gem_index.index.fusion import MATCH_WEIGHT
from gem_index.index.terms import counts_in_match
from gem_index.text.analyzer import ENGLISH
from gem_index.text.tokens import frequent_english

_K1, _B = 1.2, 0.75
_LIST_SIZES = (8, 15, 60)
_LISTS = 12  # of each size and set
_SHORT = 30  # words of a text, on average, in a set that lists are drawn from
_QUERIES = 3  # for each document of a list


@dataclass(frozen=True)
class Weights:
    """How words are weighed.

    Attributes
    ----------
    background, words : int
        English texts, and words of each, whose statistics are added to the collection's.
    missing : float
        How much a word that no document holds counts in the total.
    number : float
        Factor of a word with a digit.
    """

    background: int = 500
    words: int = 30
    missing: float = 1.0
    number: float = 3.0


CHOICES = {
    "before: held words, number 2": Weights(0, 0, 0.0, 2.0),
    "all words": Weights(0, 0, 1.0, 2.0),
    "all words, missing a quarter": Weights(0, 0, 0.25, 2.0),
    "100 texts of 30": Weights(100, 30, 1.0, 2.0),
    "100 texts of 100": Weights(100, 100, 1.0, 2.0),
    "500 texts of 10": Weights(500, 10, 1.0, 2.0),
    "500 texts of 30": Weights(500, 30, 1.0, 2.0),
    "500 texts of 100": Weights(500, 100, 1.0, 2.0),
    "1000 texts of 30": Weights(1000, 30, 1.0, 2.0),
    "500 of 30, missing a half": Weights(500, 30, 0.5, 2.0),
    "default: 500 of 30, number 3": Weights(),
    "500 of 30, number 4": Weights(500, 30, 1.0, 4.0),
}


def zipf() -> dict[str, float]:
    """Return the share of each frequent English term among the words of a text."""
    shares: dict[str, float] = defaultdict(float)
    for rank, word in enumerate(frequent_english(), 1):
        for term in ENGLISH.terms(word):
            shares[term] += 0.1 / (rank + 2.7)
    return dict(shares)


class Words:
    """The words of some texts."""

    def __init__(self, texts: Sequence[Sequence[str]]) -> None:
        lengths = np.array([len(terms) for terms in texts], dtype=np.float64)
        norms = _K1 * (1 - _B + _B * lengths / max(lengths.mean(), 1.0))
        postings: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for place, terms in enumerate(texts):
            for term, times in Counter(terms).items():
                postings[term].append((place, times))
        self.count = len(texts)
        self.share: dict[str, tuple[np.ndarray, F64]] = {}
        self.held = {term: len(found) for term, found in postings.items()}
        for term, held in postings.items():
            places, times = np.array(held).T
            self.share[term] = places, times / (times + norms[places])

    def match(self, query: Sequence[str], chosen: Weights, shares: dict[str, float]) -> F64:
        """Return the match of each text (n,)."""
        found, total = np.zeros(self.count), 0.0
        for term in dict.fromkeys(query):
            places, share = self.share.get(term, (np.zeros(0, np.int64), np.zeros(0)))
            documents = self.held.get(term, 0)
            if not counts_in_match(term, documents):
                continue
            common = 1 - (1 - shares.get(term, 0.0)) ** chosen.words
            held = documents + chosen.background * common
            rarity = np.log1p((self.count + chosen.background - held + 0.5) / (held + 0.5))
            numeric = len(term) > 1 and any(map(str.isdigit, term))
            weight = rarity**2 * (chosen.number if numeric else 1.0)
            found[places] += weight * share
            total += weight if documents else chosen.missing * weight
        return found / total if total else found


@dataclass(frozen=True)
class Asked:
    """Queries on some texts: their words, cosines (q, n), and the right documents of each."""

    words: Words
    queries: list[list[str]]
    cosines: np.ndarray
    right: list[set[int]]

    def scores(self, chosen: Weights, shares: dict[str, float]) -> Iterator[F64]:
        for terms, cosines in zip(self.queries, self.cosines, strict=True):
            yield cosines + MATCH_WEIGHT * self.words.match(terms, chosen, shares)

    def first(self, chosen: Weights, shares: dict[str, float]) -> list[bool]:
        """Return for each query whether a right document comes first."""
        found = self.scores(chosen, shares)
        return [int(row.argmax()) in right for row, right in zip(found, self.right, strict=True)]


def ask(
    encoder: GemEncoder, texts: Sequence[str], queries: Sequence[str], right: list[set[int]]
) -> Asked:
    cosines = encoder.encode(queries) @ encoder.encode(texts).T
    words = Words([ENGLISH.terms(text) for text in texts])
    return Asked(words, [ENGLISH.terms(query) for query in queries], cosines, right)


def lists_of(
    task: RetrievalTask, encoder: GemEncoder, size: int, draw: random.Random
) -> Iterator[Asked]:
    """Yield lists of a few documents that queries of the set ask for."""
    names = list(task.queries)
    for _ in range(_LISTS):
        held = [next(iter(task.relevance[name])) for name in draw.sample(names, size)]
        places = {document: place for place, document in enumerate(dict.fromkeys(held))}
        asked = [name for name in names if not places.keys().isdisjoint(task.relevance[name])]
        asked = draw.sample(asked, min(len(asked), _QUERIES * size))
        texts = [task.documents[document] for document in places]
        right = [{places[d] for d in task.relevance[name] if d in places} for name in asked]
        fitted = GemEncoder(encoder.vectors, encoder.config).fit(texts)
        yield ask(fitted, texts, [task.queries[name] for name in asked], right)


def main() -> None:
    suite = read_suite(Path(sys.argv[1])).sets
    tasks = [
        (data.name, data.data)
        for data in suite
        if isinstance(data.data, RetrievalTask) and data.task == "retrieval"
    ]
    tasks += [(Path(folder).name, read_beir(folder)) for folder in sys.argv[2:]]
    vectors, config = open_vectors("wordllama-gem"), GemConfig.trained(prior=NEW_COLLECTION_PRIOR)
    whole: dict[str, Asked] = {}
    look_ups: list[tuple[bool, str, Asked]] = []
    short: dict[int, list[Asked]] = defaultdict(list)
    draw = random.Random(1)
    for name, task in tasks:
        texts = list(task.documents.values())
        places = {document: place for place, document in enumerate(task.documents)}
        encoder = GemEncoder(vectors, config).fit(texts)
        right = [{places[document] for document in grades} for grades in task.relevance.values()]
        whole[name] = ask(encoder, texts, list(task.queries.values()), right)
        lookups = make_lookups(texts)
        for place, carrier in enumerate(CARRIERS):
            for number in (True, False):
                some = [
                    each
                    for each in lookups[place :: len(CARRIERS)]
                    if any(map(str.isdecimal, each.query.split())) == number
                ]
                if some:
                    asked = [each.query for each in some]
                    found = ask(encoder, texts, asked, [{each.document} for each in some])
                    look_ups.append((number, carrier, found))
        if np.mean([len(text.split()) for text in texts]) <= _SHORT and len(task.queries) >= 60:
            for size in _LIST_SIZES:
                short[size] += lists_of(task, encoder, size, draw)
    shares = zipf()
    print(
        f"nDCG@10 of {', '.join(whole)} | average | numbers, then words found first by carrier, %"
    )
    print(f"| first in lists of {', '.join(map(str, _LIST_SIZES))} documents, %")
    relevance = {name: list(task.relevance.values()) for name, task in tasks}
    ids = {name: list(task.documents) for name, task in tasks}
    for label, chosen in CHOICES.items():
        scores = []
        for name, asked in whole.items():
            rankings = [
                [ids[name][place] for place, _ in nearest(row)]  # type: ignore[arg-type]
                for row in asked.scores(chosen, shares)
            ]
            scores.append(float(measures(rankings, relevance[name])["ndcg@10"].mean()))
        first: dict[tuple[bool, str], list[bool]] = defaultdict(list)
        for number, carrier, asked in look_ups:
            first[number, carrier] += asked.first(chosen, shares)
        numbers_words = [
            f"{100 * np.mean(first[number, carrier]):3.0f}"
            for number in (True, False)
            for carrier in CARRIERS
        ]
        lists = [
            f"{100 * np.mean([ok for asked in short[size] for ok in asked.first(chosen, shares)]):.1f}"
            for size in _LIST_SIZES
        ]
        cells = " ".join(f"{score:5.1f}" for score in scores)
        print(
            f"{label:30} {cells} | {np.mean(scores):5.2f} | {' '.join(numbers_words)} | {' '.join(lists)}"
        )


if __name__ == "__main__":
    main()
