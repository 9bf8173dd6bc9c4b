"""Evaluate configurations on many data sets, and compare them with the plain mean and BM25."""

from __future__ import annotations

import tempfile
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np

from gem_index.arrays import F64, I64
from gem_index.errors import ConfigError, InputError
from gem_index.evaluate.baselines import MeanEncoder, cosines
from gem_index.evaluate.candidates import Encoder
from gem_index.evaluate.cqa import pair_texts, ranked_by
from gem_index.evaluate.data import Question, ScoredPairs, read_questions, read_sts
from gem_index.evaluate.lookups import make_lookups
from gem_index.evaluate.metrics import bootstrap, ranking_scores, resampled_pearson
from gem_index.evaluate.retrieval import RetrievalTask, WordSearch, measures, nearest, read_beir
from gem_index.evaluate.tables import Evaluation, Table
from gem_index.files import user_path
from gem_index.progress import Progress
from gem_index.quoting import quoted, quoted_error, quoted_path
from gem_index.vectors.base import VectorSource

__all__ = ["Candidate", "Suite", "evaluate_suite", "read_suite"]


_FORM = (
    'expected [[set]] tables with task = "sts", "cqa", "retrieval" or "lookup", path = "..." and optionally a name, and '
    "[[configuration]] tables with a name and vectors, preset, config or file"
)
_TASKS: dict[str, str] = {
    "sts": "Pearson's r",
    "cqa": "MAP",
    "retrieval": "nDCG@10, by meaning",
    "search": "nDCG@10, default search",
    "lookup": "found first, default search",
}
"""The measure of each task's column, x 100; a set of the task retrieval has two columns, retrieval and search."""

_AGAINST = {"sts": "mean", "cqa": "mean", "retrieval": "mean", "search": "BM25", "lookup": "BM25"}


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


@dataclass(frozen=True)
class Candidate:
    """A configuration of a suite: a function that makes its encoder, and the vectors of the plain mean to compare with."""

    name: str
    make: Callable[[], Encoder]
    vectors: VectorSource
    described: Mapping[str, Any]


@dataclass(frozen=True)
class Suite:
    """The content of a suite's file: data sets, and configurations as written in the file."""

    sets: tuple[DataSet, ...]
    configurations: tuple[Mapping[str, Any], ...]


def read_suite(path: Path) -> Suite:
    """Read a suite's file; the paths in it are relative to it.

    Raises
    ------
    InputError
        If it, or a file that it names, cannot be read.
    ConfigError
        If its content is not a suite.
    """
    path = user_path(path)
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        kind = ConfigError if isinstance(error, tomllib.TOMLDecodeError) else InputError
        raise kind(
            f"cannot read {quoted_path(path)}: {quoted_error(error)}; expected TOML in UTF-8: {_FORM}"
        ) from error
    if not set(content) <= {"set", "configuration"}:
        raise ConfigError(f"{quoted_path(path)} holds {sorted(content)}; {_FORM}")
    sets = [_data_set(path, entry) for entry in _tables(path, content, "set")]
    if not sets:
        raise ConfigError(f"{quoted_path(path)} holds no set; {_FORM}")
    configurations = _tables(path, content, "configuration") or [{"name": "default"}]
    known = {"name", "vectors", "preset", "config", "file"}
    for entry in configurations:
        if not isinstance(entry.get("name"), str) or not set(entry) <= known:
            raise ConfigError(
                f"{quoted_path(path)} holds the configuration {quoted(entry)}; {_FORM}"
            )
    for what, names in (
        ("set", [f"{each.task}: {each.name}" for each in sets]),
        ("configuration", [entry["name"] for entry in configurations]),
    ):
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise ConfigError(
                f"{quoted_path(path)} holds two of the {what} {quoted(twice)}; expected each name once"
            )
    for each in sets:  # report unreadable data before hours of work
        if isinstance(each.data, RetrievalTask) and not each.data.queries:
            raise InputError(f"{quoted_path(each.path)} holds no relevant candidate; expected some")
        if each.task == "lookup" and not make_lookups(each.texts):
            raise InputError(
                f"{quoted_path(each.path)} holds no word that occurs in only one of its texts; expected some to look up"
            )
    return Suite(tuple(sets), tuple(configurations))


def _tables(path: Path, content: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    found = content.get(name, [])
    if not isinstance(found, list) or not all(isinstance(entry, dict) for entry in found):
        raise ConfigError(f"{quoted_path(path)} holds {name} = {quoted(found)}; {_FORM}")
    return found


def _data_set(path: Path, entry: Mapping[str, Any]) -> DataSet:
    task, place = entry.get("task"), entry.get("path")
    name = entry.get("name", Path(str(place)).stem)
    tasks = [task for task in _TASKS if task != "search"]
    if not set(entry) <= {"name", "task", "path"} or not isinstance(place, str):
        raise ConfigError(f"{quoted_path(path)} holds the set {quoted(entry)}; {_FORM}")
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


def evaluate_suite(
    sets: Sequence[DataSet], found: Sequence[Candidate], progress: Progress | None = None
) -> Evaluation:
    """Measure every configuration on every set.

    Parameters
    ----------
    sets : sequence of DataSet
    found : sequence of Candidate
        Each is compared with the plain mean of its own vectors, and its default search with BM25.
    progress : callable, optional
        Called with stage, done and total.

    Returns
    -------
    Evaluation
        Per set and configuration the score and the gain over the baseline with its 95 % interval (paired bootstrap); per
        task the mean over sets, and the number of lost sets: those below the baseline, and those whose interval is below 0.
    """
    measured: dict[str, dict[str, dict[str, Any]]] = {each.name: {} for each in found}
    draws: dict[str, dict[str, list[F64]]] = {each.name: {} for each in found}
    done = 0
    for data in sets:
        for candidate, ours, theirs in _measure_candidates(data, found):
            for task, result in ours.items():
                other = theirs[task]
                samples = bootstrap(lambda s, a=result, b=other: a.on(s) - b.on(s), result.items)  # type: ignore[misc]
                low, high = np.percentile(samples, (2.5, 97.5))
                measured[candidate.name].setdefault(task, {})[data.name] = {
                    "score": result.score,
                    _AGAINST[task]: other.score,
                    "gain": result.score - other.score,
                    "low": float(low),
                    "high": float(high),
                }
                draws[candidate.name].setdefault(task, []).append(samples)
            done += 1
            if progress is not None:
                progress("suite", done, len(sets) * len(found))
    configurations = [
        {
            "name": candidate.name,
            **candidate.described,
            "tasks": {
                task: _summary(task, of_sets, draws[candidate.name][task])
                for task, of_sets in measured[candidate.name].items()
            },
        }
        for candidate in found
    ]
    json: dict[str, Any] = {
        "task": "suite",
        "configurations": configurations,
        "left_out": _best_without_set(measured),
    }
    return Evaluation(json, _tables_of(configurations))


def _measure_candidates(
    data: DataSet, found: Sequence[Candidate]
) -> Iterator[tuple[Candidate, dict[str, Result], dict[str, Result]]]:
    """Yield each candidate with its results on a set and the results of its baselines."""
    means: dict[str, dict[str, Result]] = {}
    with data.words() as words:
        by_words = data.by_words(words)
        for candidate in found:
            vectors = candidate.vectors
            if vectors.fingerprint not in means:
                own = data.measure(lambda v=vectors: MeanEncoder(v), words)  # type: ignore[misc]
                means[vectors.fingerprint] = own | by_words
            yield candidate, data.measure(candidate.make, words), means[vectors.fingerprint]


def _summary(task: str, of_sets: Mapping[str, Any], draws: Sequence[F64]) -> dict[str, Any]:
    low, high = np.percentile(np.mean(draws, axis=0), (2.5, 97.5))
    rows = of_sets.values()
    return {
        "score": mean(row["score"] for row in rows),
        "against": _AGAINST[task],
        "gain": mean(row["gain"] for row in rows),
        "low": float(low),
        "high": float(high),
        "lost": sum(row["gain"] < 0 for row in rows),
        "lost_significantly": sum(row["high"] < 0 for row in rows),
        "sets": dict(of_sets),
    }


def _best_without_set(
    measured: Mapping[str, Mapping[str, Mapping[str, Any]]],
) -> dict[str, dict[str, str]]:
    """Return for each task and each set the configuration that is best on average over the other sets."""
    tasks = next(iter(measured.values()))
    best: dict[str, dict[str, str]] = {}
    for task, of_sets in tasks.items():
        for left in of_sets if len(of_sets) > 1 else ():

            def average(name: str, task: str = task, left: str = left) -> float:
                rows = measured[name][task]
                return mean(float(row["score"]) for other, row in rows.items() if other != left)

            best.setdefault(task, {})[left] = max(measured, key=average)
    return best


def _tables_of(configurations: Sequence[Mapping[str, Any]]) -> list[Table]:
    tables = []
    for task, title in _TASKS.items():
        if task not in configurations[0]["tasks"]:
            continue
        names = list(configurations[0]["tasks"][task]["sets"])
        rows = []
        for each in configurations:
            found = each["tasks"][task]
            gain = f"{found['gain']:+.2f} ({found['low']:+.2f} … {found['high']:+.2f})"
            lost = f"{found['lost']} ({found['lost_significantly']})"
            scores = [found["sets"][name]["score"] for name in names]
            rows.append((each["name"], *scores, found["score"], gain, lost))
        against = _AGAINST[task]
        if all(each.get("vectors") == configurations[0].get("vectors") for each in configurations):
            sets = configurations[0]["tasks"][task]["sets"]
            own = [sets[name][against] for name in names]
            rows.append((against, *own, mean(own), None, None))
        headings = (
            "configuration", *(f">{name}" for name in names), ">average", f">gain over {against} (95 %)",
            ">lost (significantly)",
        )  # fmt: skip
        tables.append(Table(f"{task}: {title} x 100", headings, rows))
    return tables
