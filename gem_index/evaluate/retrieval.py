"""Retrieval over queries, corpus and judgements in BEIR's layout (Thakur et al. 2021)."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gem_index.common.arrays import F32, F64
from gem_index.errors import InputError, RecordError
from gem_index.evaluate.baselines import DenseEncoder
from gem_index.evaluate.candidates import GEM, Candidates, EncoderScorer
from gem_index.evaluate.metrics import paired_bootstrap
from gem_index.evaluate.tables import Evaluation, Table
from gem_index.files.inputs import open_input, user_path
from gem_index.index.fusion import fuse_scores
from gem_index.index.hits import Hits, Ids, best_first
from gem_index.index.lexical import LexicalIndex
from gem_index.index.terms import QueryTerms, counts_in_match, match_weights
from gem_index.readers.formats import read_objects
from gem_index.text.analyzer import Analyzer
from gem_index.text.languages import SAMPLED, detect_language
from gem_index.text.tokens import WeightedText

__all__ = [
    "HYBRID",
    "RetrievalTask",
    "WordSearch",
    "evaluate_retrieval",
    "measures",
    "nearest",
    "read_beir",
]


_LAYOUT = (
    "expected a folder in BEIR's layout: corpus.jsonl (_id, title, text), queries.jsonl (_id, text) and "
    "qrels/SPLIT.tsv (query-id, corpus-id, score); github.com/beir-cellar/beir names such data sets"
)
_LONGEST = 1 << 24
_DEPTH = 100
HYBRID = f"{GEM} + BM25"
"""A collection's default search, hybrid."""
_NAMES = ("ndcg@10", "recall@10", "recall@100", "mrr@10", "map")


@dataclass(frozen=True)
class RetrievalTask:
    """Queries, a corpus, and the relevant documents of each query.

    Attributes
    ----------
    name : str
    documents : dict
        Text by id.
    queries : dict
        Text by id, only of queries with judgements.
    relevance : dict
        Grade (above 0) by document id, by query id.
    """

    name: str
    documents: Mapping[str, str]
    queries: Mapping[str, str]
    relevance: Mapping[str, Mapping[str, int]]


def read_beir(folder: str, split: str = "test") -> RetrievalTask:
    """Read a data set in BEIR's layout.

    Raises
    ------
    InputError
        If a file is missing; RecordError if a line is wrong.
    """
    root = user_path(folder)
    for name in ("corpus.jsonl", "queries.jsonl", f"qrels/{split}.tsv"):
        if not any((root / f"{name}{packed}").is_file() for packed in ("", ".gz")):
            raise InputError(f"{root} holds no {name}; {_LAYOUT}")
    relevance = _judgements(_packed(root / "qrels" / f"{split}.tsv"))
    documents, queries = _texts(root / "corpus.jsonl"), _texts(root / "queries.jsonl")
    unknown = next((q for q in relevance if q not in queries), None)
    if unknown is not None:
        raise InputError(f"{root}: the judged query {unknown!r} is not in queries.jsonl")
    return RetrievalTask(root.name, documents, {q: queries[q] for q in relevance}, relevance)


def _packed(path: Path) -> str:
    return str(path) if path.is_file() else f"{path}.gz"


def _texts(path: Path) -> dict[str, str]:
    name = _packed(path)
    found: dict[str, str] = {}
    for line, row in read_objects(name, _LONGEST):
        identifier, text, title = row.get("_id"), row.get("text"), row.get("title") or ""
        if not isinstance(identifier, str) or not isinstance(text, str):
            raise RecordError(name, line, f"no _id and text; {_LAYOUT}")
        found[identifier] = WeightedText.joined([(title, 2.0), (text, 1.0)]) if title else text
    return found


def _judgements(name: str) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    with open_input(name) as file:
        for number, raw in enumerate(file, 1):
            fields = raw.decode("utf-8", "replace").rstrip("\r\n").split("\t")
            if number == 1 and fields[-1] == "score":
                continue
            try:
                query, document, grade = fields[0], fields[1], int(fields[2])
            except (LookupError, ValueError) as error:
                raise RecordError(name, number, f"no judgement; {_LAYOUT}") from error
            if grade > 0:
                found.setdefault(query, {})[document] = grade
    if not found:
        raise InputError(f"{name} holds no relevant document; {_LAYOUT}")
    return found


def evaluate_retrieval(task: RetrievalTask, found: Candidates) -> Evaluation:
    """Search for every query and measure the first 100 documents.

    ``GEM`` and the other dense candidates are compared with BM25, as a collection's lexical search computes it, and with the
    hybrid of GEM and BM25.

    Returns
    -------
    Evaluation
        nDCG@10, recall@10 and @100, MRR@10 and MAP, x 100, as trec_eval defines them.
    """
    ids, texts = list(task.documents), list(task.documents.values())
    queries = list(task.queries.values())
    hits: dict[str, list[Hits]] = {}
    with tempfile.TemporaryDirectory() as folder:
        words = WordSearch(Path(folder), texts)
        for name, make in found.items():
            encoder = make().fit(texts)
            if isinstance(encoder, EncoderScorer):
                encode = encoder.encoder.encode
            elif isinstance(encoder, DenseEncoder):
                encode = encoder.encode
            else:
                continue
            cosines = list(encode(queries) @ encode(texts).T)
            hits[name] = [nearest(row) for row in cosines]
            if name == GEM:
                hits[HYBRID] = [
                    words.fused(query, row) for query, row in zip(queries, cosines, strict=True)
                ]
        hits["BM25"] = [words.bm25(query) for query in queries]
    relevance = list(task.relevance.values())
    results = {
        name: measures([[ids[place] for place, _ in ranking] for ranking in rankings], relevance)
        for name, rankings in hits.items()
    }
    ours = results[GEM]
    json: dict[str, Any] = {
        "task": "retrieval",
        "name": task.name,
        "documents": len(ids),
        "queries": len(queries),
        **_means(ours),
        "baselines": {},
    }
    rows = []
    for name, values in results.items():
        gain = None
        if name != GEM:
            difference = ours["ndcg@10"] - values["ndcg@10"]
            interval = paired_bootstrap(lambda s, d=difference: d[s].mean(axis=1), len(queries))  # type: ignore[misc]
            gain = f"{interval.difference:+.2f} ({interval.low:+.2f} … {interval.high:+.2f})"
            json["baselines"][name] = _means(values)
        rows.append((name, *_means(values).values(), gain))
    headings = ("model", *(f">{name}" for name in _NAMES), ">GEM's gain in nDCG (95 %)")
    title = f"{task.name}: {len(queries)} queries, {len(ids)} documents"
    return Evaluation(json, [Table(title, headings, rows)])


def nearest(cosines: F32, count: int = _DEPTH) -> Hits:
    """Return the best pairs (position, cosine), by default a hundred, for all cosines (n,)."""
    places, scores = best_first(np.arange(len(cosines)), cosines, count)
    return list(zip(places.tolist(), scores.tolist(), strict=True))


class WordSearch:
    """Search texts by words, as a collection does; the language of the texts is detected.

    Parameters
    ----------
    folder : Path
        The folder for the files of the word index.
    texts : sequence of str
    """

    def __init__(self, folder: Path, texts: Sequence[str]) -> None:
        self._places = np.arange(len(texts))
        step = max(1, len(texts) // SAMPLED)
        self._analyzer = Analyzer(detect_language(texts[::step]).language)
        LexicalIndex.write(folder / "words", [(self._places, texts)], self._analyzer)
        self._index = LexicalIndex.open(folder / "words")

    def bm25(self, query: str) -> Hits:
        """Return the hundred best pairs (position, BM25 score)."""
        return self.matching(dict.fromkeys(self._analyzer.terms(query), 1.0), _DEPTH)

    def fused(self, query: str, cosines: F32) -> Hits:
        """Return the hundred best results of hybrid search, from all cosines (n,)."""
        terms = QueryTerms.of(query, self._analyzer)
        held = self._index.frequencies(terms.every)
        counted = {t: n for t, n in held.items() if counts_in_match(t, n)}
        weights = match_weights(terms, counted, len(self._index), self._analyzer)
        best, _ = fuse_scores(_Lists(self, weights, cosines), _DEPTH)
        return best

    def matching(
        self, terms: Mapping[str, float], k: int, places: npt.NDArray[np.int64] | None = None
    ) -> Hits:
        """Return the k best pairs (position, score) by words, of all positions or some."""
        places = self._places if places is None else places
        return self._index.match(terms, k, places) if terms else []


@dataclass(frozen=True)
class _Lists:
    """The two ranked lists of a query, by words and by cosine; the cosines with all texts are known."""

    words: WordSearch
    weights: Mapping[str, float]
    all_cosines: F32
    exact: bool = True

    def nearest(self, depth: int) -> Hits:
        return nearest(self.all_cosines, depth)

    def matching(self, depth: int) -> Hits:
        return self.words.matching(self.weights, depth)

    def cosines(self, seqs: Ids) -> F32:
        return self.all_cosines[seqs]

    def matches(self, seqs: Ids) -> Mapping[int, float]:
        return dict(self.words.matching(self.weights, len(seqs), seqs))


def measures(
    rankings: Sequence[Sequence[str]], relevance: Sequence[Mapping[str, int]]
) -> dict[str, F64]:
    """Return each measure for each query (q,), x 100.

    Parameters
    ----------
    rankings : sequence of sequences of str
        Documents, best first.
    relevance : sequence of mappings
        Grades of the relevant documents.
    """
    found: dict[str, list[float]] = {name: [] for name in _NAMES}
    for ranking, grades in zip(rankings, relevance, strict=True):
        gains = np.array([grades.get(document, 0) for document in ranking], dtype=np.float64)
        ideal = np.sort(np.array(list(grades.values()), dtype=np.float64))[::-1]
        places = np.flatnonzero(gains)
        hits = np.arange(1, len(places) + 1)
        found["ndcg@10"].append(_dcg(gains[:10]) / _dcg(ideal[:10]))
        for depth in (10, 100):
            found[f"recall@{depth}"].append(np.count_nonzero(gains[:depth]) / len(grades))
        found["mrr@10"].append(1 / (places[0] + 1) if len(places) and places[0] < 10 else 0.0)
        found["map"].append(float((hits / (places + 1)).sum()) / len(grades))
    return {name: 100 * np.array(values) for name, values in found.items()}


def _dcg(gains: F64) -> float:
    return float((gains / np.log2(np.arange(2, len(gains) + 2))).sum())


def _means(values: Mapping[str, F64]) -> dict[str, float]:
    return {name: float(values[name].mean()) for name in _NAMES}
