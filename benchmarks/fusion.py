"""Compare ways to fuse cosine and words, on the collections of a suite's file and on look-ups generated from them.

``python -m benchmarks.fusion dev-sets.toml [DEPTH]`` prints nDCG@10 of each collection and, by carrier, how often numbers
and words that only one document holds are found first. Every feature is computed for every document; the DEPTH best (100 by
default) of both lists are fused.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from gem_index import GemEncoder, open_vectors
from gem_index.evaluate import retrieval
from gem_index.evaluate.lookups import CARRIERS, make_lookups
from gem_index.evaluate.retrieval import RetrievalTask, measures, nearest
from gem_index.evaluate.suite_file import read_suite
from gem_index.gem.config import NEW_COLLECTION_PRIOR, GemConfig
from gem_index.index.fusion import fuse_ranks
from gem_index.text.analyzer import ENGLISH

F64 = npt.NDArray[np.float64]
Features = dict[str, F64]

_K1, _B = 1.2, 0.75

FUSIONS: dict[str, Callable[[Features], F64]] = {
    "cosine": lambda f: f["cosine"],
    "cosine + m1": lambda f: f["cosine"] + f["m1"],
    "cosine + (m1 + rare) / 2": lambda f: f["cosine"] + (f["m1"] + f["rare"]) / 2,
    "cosine + rare": lambda f: f["cosine"] + f["rare"],
    "cosine + held": lambda f: f["cosine"] + f["held"],
    "cosine + m2": lambda f: f["cosine"] + f["m2"],
    "cosine + 2 m2": lambda f: f["cosine"] + 2 * f["m2"],
    "cosine + 2.25 m2": lambda f: f["cosine"] + 2.25 * f["m2"],
    "cosine + 3 m2": lambda f: f["cosine"] + 3 * f["m2"],
    "cosine + 1.5 m2 + 0.5 held": lambda f: f["cosine"] + 1.5 * f["m2"] + 0.5 * f["held"],
    "cosine + 1.5 m3": lambda f: f["cosine"] + 1.5 * f["m3"],
    "cosine + 1.5 m4": lambda f: f["cosine"] + 1.5 * f["m4"],
    "cosine + 2.25 unique2": lambda f: f["cosine"] + 2.25 * f["unique2"],
    "cosine + 2.25 number2": lambda f: f["cosine"] + 2.25 * f["number2"],
    "cosine + 2 number4": lambda f: f["cosine"] + 2 * f["number4"],
    "cosine + 2.25 number4": lambda f: f["cosine"] + 2.25 * f["number4"],
    "cosine + 2.25 number10": lambda f: f["cosine"] + 2.25 * f["number10"],
}
"""m1 … m4: sum of idf^p f divided by the sum of idf^p, f being BM25's term frequency from 0 to 1; held: m2 with f = 1; rare:
idf^2 of the query's terms in a document divided by that of all its terms; number2, 4, 10: m2 with the weight of each term
that contains a digit (and has two or more characters) multiplied by 2, 4, 10; unique2: m2 with the weight of terms that
occur in a single document doubled."""


class Texts:
    """Texts with the weights of their words."""

    def __init__(self, texts: list[str], encoder: GemEncoder) -> None:
        self.rows = encoder.fit(texts).encode(texts)
        self.encoder = encoder
        numbers: dict[str, int] = defaultdict(lambda: len(numbers))
        counts = [Counter(ENGLISH.terms(text)) for text in texts]
        places = [place for place, words in enumerate(counts) for _ in words]
        columns = [numbers[term] for words in counts for term in words]
        times = np.array([n for words in counts for n in words.values()], dtype=np.float64)
        lengths = np.array([words.total() for words in counts], dtype=np.float64)
        norms = _K1 * (1 - _B + _B * lengths / lengths.mean())[places]
        shape = (len(texts), len(numbers))
        self.numbers = dict(numbers)
        self.share = csr_array((times / (times + norms), (places, columns)), shape=shape).tocsc()
        self.holds = csr_array((np.ones(len(times)), (places, columns)), shape=shape).tocsc()
        self.frequency = np.bincount(columns, minlength=len(numbers))
        self.idf = np.log1p((len(texts) - self.frequency + 0.5) / (self.frequency + 0.5))
        self.own = np.maximum(self.holds @ self.idf**2, 1e-9)

    def features(self, query: str) -> Features:
        found = {
            "cosine": np.asarray(self.rows @ self.encoder.encode([query])[0], dtype=np.float64)
        }
        words = [term for term in dict.fromkeys(ENGLISH.terms(query)) if term in self.numbers]
        terms = [self.numbers[term] for term in words]
        idf = self.idf[terms]
        share, holds = self.share[:, terms], self.holds[:, terms]
        found["bm25"] = (_K1 + 1) * (share @ idf)
        for power in (1, 2, 3, 4):
            found[f"m{power}"] = share @ idf**power / max(1e-9, float((idf**power).sum()))
        found["held"] = holds @ idf**2 / max(1e-9, float((idf**2).sum()))
        names = np.array([len(t) > 1 and any(map(str.isdigit, t)) for t in words], dtype=np.bool_)
        for kind, chosen, times in (
            ("unique", self.frequency[terms] == 1, 2),
            *(("number", names, times) for times in (2, 4, 10)),
        ):
            weights = np.where(chosen, times, 1) * idf**2
            found[f"{kind}{times}"] = share @ weights / max(1e-9, float(weights.sum()))
        found["rare"] = holds @ idf**2 / self.own
        return found


def best(found: Features, fusion: Callable[[Features], F64]) -> list[int]:
    lists = [nearest(found["cosine"])], [hit for hit in nearest(found["m2"]) if hit[1] > 0]  # type: ignore[arg-type]
    union = np.unique([place for hits in (*lists[0], lists[1]) for place, _ in hits])
    scores = fusion({name: values[union] for name, values in found.items()})
    return [int(place) for place in union[np.argsort(-scores, kind="stable")]]


def by_words(found: Features) -> list[int]:
    return [place for place, score in nearest(found["bm25"]) if score > 0]  # type: ignore[arg-type]


def by_ranks(found: Features) -> list[int]:
    words = [hit for hit in nearest(found["bm25"]) if hit[1] > 0]  # type: ignore[arg-type]
    return [place for place, _ in fuse_ranks(nearest(found["cosine"]), words, 100)]  # type: ignore[arg-type]


def main() -> None:
    if len(sys.argv) > 2:
        retrieval._DEPTH = int(sys.argv[2])
    ways: dict[str, Callable[[Features], list[int]]] = {"BM25": by_words, "by ranks": by_ranks}
    ways |= {name: lambda f, fusion=fusion: best(f, fusion) for name, fusion in FUSIONS.items()}  # type: ignore[misc]
    scores: dict[str, list[float]] = {name: [] for name in ways}
    first: dict[str, dict[tuple[bool, str], list[bool]]] = {
        name: defaultdict(list) for name in ways
    }
    names = []
    config = GemConfig.trained(prior=NEW_COLLECTION_PRIOR)
    for data in read_suite(Path(sys.argv[1])).sets:
        if not isinstance(data.data, RetrievalTask) or data.task != "retrieval":
            continue
        names.append(data.name)
        texts = Texts(data.texts, GemEncoder(open_vectors("wordllama-gem"), config))
        asked = [texts.features(query) for query in data.data.queries.values()]
        lookups = make_lookups(data.texts)
        looked_up = [texts.features(lookup.query) for lookup in lookups]
        ids, relevance = list(data.data.documents), list(data.data.relevance.values())
        for name, way in ways.items():
            rankings = [[ids[place] for place in way(found)[:100]] for found in asked]
            scores[name].append(float(measures(rankings, relevance)["ndcg@10"].mean()))
            for place, (lookup, found) in enumerate(zip(lookups, looked_up, strict=True)):
                carrier = CARRIERS[place % len(CARRIERS)]
                number = any(map(str.isdecimal, lookup.query.split()))
                first[name][number, carrier].append(way(found)[:1] == [lookup.document])
    print(
        "nDCG@10 of", ", ".join(names), "| average | numbers, then words found first by carrier, %"
    )
    for name in ways:
        found_first = [
            f"{100 * np.mean(first[name][number, carrier]):3.0f}"
            for number in (True, False)
            for carrier in CARRIERS
        ]
        cells = " ".join(f"{score:5.1f}" for score in scores[name])
        print(f"{name:26} {cells} | {np.mean(scores[name]):5.2f} | {' '.join(found_first)}")


if __name__ == "__main__":
    main()
