"""Compare a collection's default search with a search of the tables that it was pushed into.

``python -m benchmarks.search_targets FOLDER...`` reads retrieval sets in BEIR's layout and pushes each into every installed
engine that works in a folder, or into those that ``--engine`` names. For each it prints nDCG@10 x 100 of the collection, of
``Home.target(url).search``, and of the database's own scores (dense alone, or the sum of dense and sparse); how many of the
collection's ten best the search of the table has; seconds of a push without and with sparse vectors; and milliseconds of a
query of the database alone (dense, or dense and sparse), and of the search.

``--first 0.5`` fits the collection and fills the tables with a random half of the documents, then adds the others. It shows
what the statistics of the first half cost.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from gem_index import Collection, Home
from gem_index.evaluate.retrieval import RetrievalTask, measures, read_beir
from gem_index.targets import WordsTable, list_targets, open_target

_URLS = {
    "parquet": "parquet://{}/parquet",
    "faiss": "faiss://{}/faiss",
    "duckdb": "duckdb://{}/file.duckdb?table=faq",
    "sqlite-vec": "sqlite-vec://{}/file.sqlite?table=faq",
    "qdrant": "qdrant://{}/qdrant?collection=faq",
    "milvus": "milvus://{}/milvus.db?collection=faq",
    "lancedb": "lancedb://{}/lancedb?table=faq",
    "chroma": "chroma://{}/chroma?collection=faq",
}
_K = 10


def ndcg(task: RetrievalTask, rankings: Sequence[Sequence[str]]) -> float:
    return float(measures(rankings, list(task.relevance.values()))["ndcg@10"].mean())


def seconds(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def own_ranking(
    collection: Collection, url: str, queries: Sequence[str]
) -> tuple[list[list[str]], float]:
    """Return the ten best of each query by the database's own scores, and the median seconds of a query."""
    target = open_target(url)
    table = target.live()
    assert table is not None
    words = collection.sparse_encoder()
    vectors = collection.encoder.encode(list(queries))
    rankings, times = [], []
    for query, vector in zip(queries, vectors, strict=True):
        asked = words.embed_query(query)
        begin = time.perf_counter()
        scores = {hit.id: hit.score for hit in table.query(vector, 100)}
        if isinstance(table, WordsTable) and table.schema.words:
            for hit in table.match(asked, 100):
                scores[hit.id] = scores.get(hit.id, 0.0) + hit.score
        times.append(time.perf_counter() - begin)
        rankings.append(sorted(scores, key=lambda name: -scores[name])[:_K])
    target.close()
    return rankings, float(np.median(times))


def measure(task: RetrievalTask, root: Path, engines: Sequence[str], first: float) -> None:
    home = Home(root / "home")
    rows = [{"id": name, "text": text} for name, text in task.documents.items()]
    np.random.default_rng(0).shuffle(rows)
    begin, later = rows[: round(first * len(rows))], rows[round(first * len(rows)) :]
    home.build(task.name, begin)
    collection = home.collection(task.name)
    queries = list(task.queries.values())
    there = {engine.scheme for engine in list_targets() if engine.installed}
    for scheme, pattern in _URLS.items():
        if scheme not in there or scheme not in (engines or there):
            continue
        folders = [root / f"{scheme}-{part}" for part in ("first", "dense", "both")]
        for folder in folders:
            folder.mkdir()
        warm, bare, url = (pattern.format(folder) for folder in folders)
        collection.push(warm)  # imports the engine
        dense = seconds(lambda: collection.push(bare, words=False))  # noqa: B023 - called at once
        both = seconds(lambda: collection.push(url))  # noqa: B023
        collection.upsert(later)
        collection.push(url)
        best = [[hit.id for hit in collection.search(q, _K, correct=False)] for q in queries]
        own, asking = own_ranking(collection, url, queries)
        with home.target(url) as target:
            found, times = [], []
            for query in queries:
                begin = time.perf_counter()
                found.append([hit.id for hit in target.search(query, _K)])
                times.append(time.perf_counter() - begin)
        shared = np.mean(
            [len(set(a) & set(b)) / max(len(b), 1) for a, b in zip(found, best, strict=True)]
        )
        folded = [[name.split("#")[0] for name in ranking] for ranking in own]
        unique = [list(dict.fromkeys(ranking)) for ranking in folded]
        cells = " | ".join(f"{ndcg(task, ranking):5.1f}" for ranking in (best, found, unique))
        print(
            f"{task.name:13} | {scheme:10} | {cells} | {shared:6.1%} | {dense:5.2f} | {both:5.2f} | "
            f"{1000 * asking:6.1f} | {1000 * float(np.median(times)):6.1f}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", metavar="FOLDER")
    parser.add_argument("--engine", action="append", default=[], choices=_URLS)
    parser.add_argument("--first", type=float, default=1.0)
    arguments = parser.parse_args()
    print(
        "set | engine | collection | target | database | shared | push | with words | ms asking | ms search"
    )
    for folder in arguments.folders:
        with tempfile.TemporaryDirectory() as root:
            measure(read_beir(folder), Path(root), arguments.engine, arguments.first)


if __name__ == "__main__":
    main()
