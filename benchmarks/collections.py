"""Large collections: kinds of index, modes of search, cost of upserts, and filters.

``python -m benchmarks.collections kinds|modes|large|upsert|filters SENTENCES.txt [N]``; the sentences come from
``python -m benchmarks.sentences``. Collections are written to ``/tmp`` (``GEM_INDEX_BENCH``).
:mod:`benchmarks.peers` compares the search with that of other libraries.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import statistics
import sys
import time
from pathlib import Path

import numpy as np

WORK = Path(os.environ.get("GEM_INDEX_BENCH", "/tmp/gem-index-bench"))
KINDS = ("flat", "pq", "rabitq", "sq8", "ivf", "hnsw")
QUERIES = 200


def read(path: str, count: int) -> list[str]:
    with Path(path).open() as file:
        return [line.rstrip("\n") for _, line in zip(range(count), file, strict=False)]


def shortened(lines: list[str], count: int = QUERIES) -> list[str]:
    """Return queries: sentences of the collection with a quarter of their words removed."""
    rng = random.Random(1)
    chosen = rng.sample(lines, 2 * count)
    found = [" ".join(w for i, w in enumerate(line.split()) if i % 4 != 1) for line in chosen]
    return [query for query in found if any(map(str.isalnum, query))][:count]


def kinds(lines: list[str]) -> None:
    from gem_index import Document, Home

    WORK.mkdir(exist_ok=True)
    shutil.rmtree(WORK / "home", ignore_errors=True)
    home = Home(WORK / "home")
    queries = shortened(lines)
    truth: list[list[float]] = []
    rows = []
    for kind in os.environ.get("KINDS", ",".join(KINDS)).split(","):
        started = time.perf_counter()
        documents = (Document(id=str(i), text=line) for i, line in enumerate(lines))
        if not home.collections():
            home.build("c", documents, index=kind)
        else:
            home.build("c", [], index=kind)
        seconds = time.perf_counter() - started
        collection = Home(WORK / "home").collection("c")
        collection.search(queries[0])
        times, scores = [], []
        for query in queries:
            begun = time.perf_counter()
            hits = collection.search(query, k=10, mode="dense")
            times.append(time.perf_counter() - begun)
            scores.append([hit.score for hit in hits])
        begun = time.perf_counter()
        collection.search_many(queries, k=10, mode="dense")
        together = time.perf_counter() - begun
        if not truth:
            truth = scores
        # a hit counts if its cosine reaches the tenth best: sentences that differ only in a comma have equal cosines, and
        # those of an approximate index are within 1e-4
        recall = np.mean(
            [[s >= t[-1] - 1e-4 for s in found] for found, t in zip(scores, truth, strict=True)]
        )
        index = next((WORK / "home" / "collections").rglob("vectors.faiss"))
        beside = sum(path.stat().st_size for path in index.parent.glob("rows/*"))
        rows.append(
            {
                "kind": kind,
                "documents": len(lines),
                "recall@10": round(float(recall), 4),
                "p50 ms": round(1e3 * statistics.median(times), 2),
                "p95 ms": round(1e3 * sorted(times)[int(0.95 * len(times))], 2),
                "queries/s together": round(len(queries) / together),
                "bytes/vector in memory": round(index.stat().st_size / len(lines), 1),
                "bytes/vector beside": round(beside / len(lines), 1),
                "index s": round(seconds, 1),
            }
        )
        print(json.dumps(rows[-1]), flush=True)


def modes(lines: list[str]) -> None:
    """Time dense, lexical and hybrid searches, each query in every mode before the next query."""
    from gem_index import Document, Home

    for count in (1_000, 5_000, 10_000, 20_000, 100_000, 1_000_000):
        if count > len(lines):
            break
        for kind in ("flat", "pq") if count < 1_000_000 else ("pq",):
            shutil.rmtree(WORK / "modes", ignore_errors=True)
            home = Home(WORK / "modes")
            documents = (Document(id=str(i), text=line) for i, line in enumerate(lines[:count]))
            home.build("c", documents, index=kind)
            collection = home.collection("c")
            times: dict[str, list[float]] = {"dense": [], "lexical": [], "hybrid": []}
            for warm in (True, False):
                for query in shortened(lines[:count]):
                    for mode, taken in times.items():
                        begun = time.perf_counter()
                        collection.search(query, k=10, mode=mode)
                        if not warm:
                            taken.append(time.perf_counter() - begun)
            p50 = {mode: round(1e3 * statistics.median(taken), 2) for mode, taken in times.items()}
            ratio = p50["hybrid"] / max(p50["dense"], p50["lexical"])
            row = {"documents": count, "kind": kind, "p50 ms": p50, "hybrid / slower": ratio}
            print(json.dumps(row), flush=True)


def large(lines: list[str]) -> None:
    """Time searches of a collection, and compare them with all vectors; it is built unless an earlier run has done so.

    It may also come from ``gem-index build big SENTENCES.txt`` with the home ``large`` in the folder of benchmarks.
    """
    from gem_index import Home

    home = Home(WORK / "large")
    if "big" not in [info.name for info in home.collections()]:
        started = time.perf_counter()
        home.build("big", lines)
        print(json.dumps({"build s": round(time.perf_counter() - started)}), flush=True)
    collection = Home(WORK / "large").collection("big")
    queries = shortened(lines)
    begun = time.perf_counter()
    collection.search(queries[0], k=10)
    row: dict[str, object] = {
        "documents": len(collection),
        "first search s": round(time.perf_counter() - begun, 2),
    }
    found = []
    for mode in ("dense", "lexical", "hybrid"):
        times = []
        for warm in (True, False):
            for query in queries:
                begun = time.perf_counter()
                hits = collection.search(query, k=10, mode=mode)
                if not warm:
                    times.append(time.perf_counter() - begun)
                    found += [[hit.score for hit in hits]] if mode == "dense" else []
        row[f"{mode} p50 ms"] = round(1e3 * statistics.median(times), 2)
        row[f"{mode} p95 ms"] = round(1e3 * sorted(times)[int(0.95 * len(times))], 2)
    begun = time.perf_counter()
    collection.search_many(queries, k=10, mode="dense")
    row["queries/s together"] = round(len(queries) / (time.perf_counter() - begun))
    print(json.dumps(row), flush=True)
    asked = collection.encoder.encode(queries)
    best = np.zeros((len(queries), 0), np.float32)
    for start in range(0, len(lines), 50_000):
        vectors = collection.encoder.encode(lines[start : start + 50_000])
        best = np.sort(np.hstack([best, asked @ vectors.T]), axis=1)[:, -10:]
    tenth = best[:, :1]
    recall = round(float(np.mean(np.array(found) >= tenth - 1e-4)), 4)
    print(json.dumps({"recall@10": recall}), flush=True)


def upsert(lines: list[str]) -> None:
    """Time batches of 1,000 documents that are added to a growing collection."""
    from gem_index import Document, Home

    shutil.rmtree(WORK / "growing", ignore_errors=True)
    home = Home(WORK / "growing")
    collection = home.create_collection("c")
    started, size = time.perf_counter(), 0
    marks = {10_000, 31_600, 100_000, 316_000, 1_000_000}
    last, since = 0, started
    for begin in range(0, len(lines), 1_000):
        batch = lines[begin : begin + 1_000]
        collection.upsert(Document(id=str(begin + i), text=t) for i, t in enumerate(batch))
        size = begin + len(batch)
        if size in marks or size == len(lines):
            now = time.perf_counter()
            rate = (size - last) / (now - since)
            print(
                json.dumps({"documents": size, "documents/s since the mark before": round(rate)}),
                flush=True,
            )
            last, since = size, now


def filters(lines: list[str]) -> None:
    """Time searches with a metadata filter that accepts one document in 10,000, and one in 2."""
    from gem_index import Document, Home

    shutil.rmtree(WORK / "filtered", ignore_errors=True)
    home = Home(WORK / "filtered")
    home.build(
        "c",
        (
            Document(
                id=str(i), text=t, metadata={"shelf": i // 100, "even": i % 2 == 0, "lang": "en"}
            )
            for i, t in enumerate(lines)
        ),
    )
    rng = random.Random(3)
    for name, wheres in (
        (
            "1 in 10,000, a different one each time",
            [{"shelf": rng.randrange(len(lines) // 100)} for _ in range(30)],
        ),
        ("1 in 10,000, the same", [{"shelf": 17}] * 30),
        ("1 in 2, the same", [{"even": True}] * 30),
    ):
        collection = home.collection("c")
        collection.search("where is the file")
        times = []
        for query, where in zip(shortened(lines), wheres, strict=False):
            begun = time.perf_counter()
            hits = collection.search(query, k=10, where=where)
            times.append(time.perf_counter() - begun)
            assert len(hits) == 10
        print(
            json.dumps(
                {
                    "filter": name,
                    "first ms": round(1e3 * times[0], 1),
                    "p50 ms": round(1e3 * statistics.median(times), 2),
                    "worst ms": round(1e3 * max(times), 1),
                }
            ),
            flush=True,
        )


def main() -> None:
    what, path = sys.argv[1], sys.argv[2]
    lines = read(path, int(sys.argv[3]) if len(sys.argv) > 3 else 1_000_000)
    steps = {"kinds": kinds, "modes": modes, "large": large, "upsert": upsert, "filters": filters}
    steps[what](lines)


if __name__ == "__main__":
    main()
