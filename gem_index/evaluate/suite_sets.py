"""The data sets of a suite, and how each kind of task is measured."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from gem_index.common.arrays import F64, I64
from gem_index.errors import ConfigError, InputError
from gem_index.errors.quoting import quoted, quoted_path
from gem_index.evaluate.baselines import cosines
from gem_index.evaluate.candidates import Encoder
from gem_index.evaluate.cqa import pair_texts, ranked_by
from gem_index.evaluate.data import Question, ScoredPairs, read_questions, read_sts
from gem_index.evaluate.lookups import make_lookups
from gem_index.evaluate.metrics import ranking_scores, resampled_pearson
from gem_index.evaluate.retrieval import RetrievalTask, WordSearch, measures, nearest, read_beir
from gem_index.files.inputs import user_path

__all__ = ["AGAINST", "FORM", "TASKS", "DataSet", "Result", "read_data_set"]

FORM = (
    'expected [[set]] tables with task = "sts", "cqa", "retrieval" or "lookup", path = "..." and optionally a name, and '
    "[[configuration]] tables with a name and vectors, preset, config or file"
)
"""The form of a suite's file, for errors."""

TASKS: dict[str, str] = {
    "sts": "Pearson's r",
    "cqa": "MAP",
    "retrieval": "nDCG@10, by meaning",
    "search": "nDCG@10, default search",
    "lookup": "found first, default search",
}
"""The measure of each task's column, x 100; a set of the task retrieval has two columns, retrieval and search."""


AGAINST = {"sts": "mean", "cqa": "mean", "retrieval": "mean", "search": "BM25", "lookup": "BM25"}


@dataclass(frozen=True)
class Result:
    """A measurement on the items of one set: the score on any sample of them."""

    items: int
    on: Callable[[I64], F64]

    @property
    def score(self) -> float:
        """The score on all items."""
        return float(self.on(np.arange(self.items)[None])[0])


def _mean_of(values: F64) -> Result:
    return Result(len(values), lambda samples: values[samples].mean(axis=1))


@dataclass(frozen=True)
class DataSet:
    """One set of a suite."""

    name: str
    task: str
    path: Path

    @cached_property
    def data(self) -> ScoredPairs | list[Question] | RetrievalTask:
        """The content of its files."""
        if self.task == "sts":
            return read_sts([str(self.path)])[0]
        if self.task == "cqa":
            return read_questions([str(self.path)])
        if self.path.is_dir():
            return read_beir(str(self.path))
        return _as_collection(self.name, read_questions([str(self.path)]))

    @property
    def texts(self) -> list[str]:
        """The documents of a collection."""
        return list(self.data.documents.values()) if isinstance(self.data, RetrievalTask) else []

    @contextmanager
    def words(self) -> Iterator[WordSearch | None]:
        """Yield word search over the set's texts if it is a collection, else None."""
        if not isinstance(self.data, RetrievalTask):
            yield None
            return
        with tempfile.TemporaryDirectory() as folder:
            yield WordSearch(Path(folder), self.texts)

    def measure(self, make: Callable[[], Encoder], words: WordSearch | None) -> dict[str, Result]:
        """Return an encoder's results by task, fitted on the set's own texts."""
        data = self.data
        if isinstance(data, ScoredPairs):
            encoder = _fit(make, [*data.first, *data.second])
            scores, gold = cosines(encoder.encode, data.first, data.second), data.gold
            return {
                "sts": Result(len(gold), lambda s: resampled_pearson(gold, scores, s)),
            }
        if isinstance(data, list):
            first, second = pair_texts(data, "subject+body")
            encoder = _fit(make, [*dict.fromkeys(first), *second])
            rankings = ranked_by(data, cosines(encoder.encode, first, second))
            return {"cqa": _mean_of(ranking_scores(rankings).average_precision)}
        texts = self.texts
        encoder = _fit(make, texts)
        queries = list(data.queries.values())
        lookups = make_lookups(texts) if self.task == "lookup" else []
        if self.task == "lookup":
            queries = [lookup.query for lookup in lookups]
        rows = encoder.encode(queries) @ encoder.encode(texts).T
        dense = [nearest(row) for row in rows]
        assert words is not None
        hybrid = [words.fused(query, row) for query, row in zip(queries, rows, strict=True)]
        if self.task == "lookup":
            return {"lookup": _success_at_1([lookup.document for lookup in lookups], hybrid)}
        return {"retrieval": self._ndcg(dense), "search": self._ndcg(hybrid)}

    def by_words(self, words: WordSearch | None) -> dict[str, Result]:
        """Return the results of BM25 alone, by task."""
        if words is None or not isinstance(self.data, RetrievalTask):
            return {}
        if self.task == "lookup":
            lookups = make_lookups(self.texts)
            found = [words.bm25(lookup.query) for lookup in lookups]
            return {"lookup": _success_at_1([lookup.document for lookup in lookups], found)}
        return {"search": self._ndcg([words.bm25(q) for q in self.data.queries.values()])}

    def _ndcg(self, rankings: Sequence[Sequence[tuple[int, float]]]) -> Result:
        assert isinstance(self.data, RetrievalTask)
        ids = list(self.data.documents)
        named = [[ids[place] for place, _ in ranking] for ranking in rankings]
        return _mean_of(measures(named, list(self.data.relevance.values()))["ndcg@10"])


def read_data_set(path: Path, entry: Mapping[str, Any]) -> DataSet:
    """Read one data set of a suite's file; the paths in it are relative to the file."""
    task, place = entry.get("task"), entry.get("path")
    name = entry.get("name", Path(str(place)).stem)
    tasks = [task for task in TASKS if task != "search"]
    if not set(entry) <= {"name", "task", "path"} or not isinstance(place, str):
        raise ConfigError(f"{quoted_path(path)} holds the set {quoted(entry)}; {FORM}")
    if task not in tasks or not isinstance(name, str):
        raise ConfigError(
            f"{quoted_path(path)} gives the set {quoted(name)} the task {quoted(task)}; expected {', '.join(tasks)}"
        )
    where = path.parent / user_path(place)
    if not where.exists():
        raise InputError(
            f"{quoted_path(path)} names {quoted_path(where)}, which does not exist; expected a file or folder"
        )
    if task in ("sts", "cqa") and where.is_dir():
        raise InputError(
            f"{quoted_path(path)} names the folder {quoted_path(where)} for the task {task}; expected one file per set"
        )
    return DataSet(name, task, where)


def _as_collection(name: str, questions: Sequence[Question]) -> RetrievalTask:
    """Convert questions to a retrieval task over all candidates, in which each question searches its relevant ones."""

    def text(subject: str, body: str) -> str:
        return "\n\n".join(filter(None, (subject, body)))

    documents = {
        candidate: text(subject, body)
        for question in questions
        for candidate, subject, body in question.candidates
    }
    relevance = {
        question.id: {
            candidate: 1
            for (candidate, _, _), good in zip(question.candidates, question.relevant, strict=True)
            if good
        }
        for question in questions
        if any(question.relevant)
    }
    queries = {q.id: text(q.subject, q.body) for q in questions if q.id in relevance}
    return RetrievalTask(name, documents, queries, relevance)


def _fit(make: Callable[[], Encoder], texts: list[str]) -> Encoder:
    encoder = make()
    encoder.fit(texts)
    return encoder


def _success_at_1(places: Sequence[int], rankings: Sequence[Sequence[tuple[int, float]]]) -> Result:
    first = [
        bool(ranking) and ranking[0][0] == place
        for place, ranking in zip(places, rankings, strict=True)
    ]
    return _mean_of(100.0 * np.array(first, dtype=np.float64))
