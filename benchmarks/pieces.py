"""Retrieval of long texts, whole and in pieces.

    python -m benchmarks.pieces FOLDER... [--joined 1 4] [--splitters] [-o FILE.json]

Each folder is a collection in the layout of BEIR (corpus.jsonl, queries.jsonl, qrels/test.tsv). ``--joined 4`` makes long
documents of it: four at a time, by chance, are one document, which is relevant if one of the four is. ``--splitters``
compares semantic-text-splitter with chonkie (``pip install chonkie``) on the same texts, by meaning alone.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from gem_index import Chunking, Document, GemEncoder, Home, open_vectors
from gem_index.evaluate.retrieval import RetrievalTask, measures, read_beir

CUTTINGS = (
    Chunking(),
    Chunking("auto"),
    Chunking(50),
    Chunking(100),
    Chunking(100, 30),
    Chunking(150),
    Chunking(150, 40),
    Chunking(200),
)
MODES = ("dense", "lexical", "hybrid")


def joined(task: RetrievalTask, count: int) -> RetrievalTask:
    """Return a task whose documents are ``count`` of another one's, put together by chance."""
    if count == 1:
        return task
    names = np.array(list(task.documents))
    np.random.default_rng(0).shuffle(names)
    groups = [names[begin : begin + count].tolist() for begin in range(0, len(names), count)]
    owner = {name: str(number) for number, group in enumerate(groups) for name in group}
    documents = {
        str(number): "\n\n".join(task.documents[name] for name in group)
        for number, group in enumerate(groups)
    }
    relevance: dict[str, dict[str, int]] = {}
    for query, grades in task.relevance.items():
        found = relevance.setdefault(query, {})
        for name, grade in grades.items():
            if name in owner:
                found[owner[name]] = max(found.get(owner[name], 0), grade)
    relevance = {query: grades for query, grades in relevance.items() if grades}
    queries = {query: task.queries[query] for query in relevance}
    return RetrievalTask(f"{task.name}, {count} in one", documents, queries, relevance)


def scores(task: RetrievalTask, chunking: Chunking) -> dict[str, float]:
    """Return nDCG@10 of each mode, x 100."""
    with tempfile.TemporaryDirectory() as folder:
        home = Home(folder)
        home.build(
            "c", [Document(id=i, text=t) for i, t in task.documents.items()], chunking=chunking
        )
        collection = home.collection("c")
        found = {}
        for mode in MODES:
            results = collection.search_many(list(task.queries.values()), 10, mode=mode)
            rankings = [[hit.id for hit in hits] for hits in results]
            values = measures(rankings, [task.relevance[query] for query in task.queries])
            found[mode] = round(float(values["ndcg@10"].mean()), 2)
    return found


def splitters() -> dict[str, Callable[[str], list[str]]]:
    """Return what cuts a text into pieces of about 150 words, by name."""
    import chonkie

    chunking = Chunking(150)
    recursive = chonkie.RecursiveChunker(tokenizer="word", chunk_size=150)
    sentences = chonkie.SentenceChunker(tokenizer="word", chunk_size=150, chunk_overlap=0)
    return {
        "semantic-text-splitter": lambda text: [
            text[piece.start : piece.end] for piece in chunking.pieces(text)
        ],
        "chonkie, recursive": lambda text: [chunk.text for chunk in recursive(text)],
        "chonkie, sentences": lambda text: [chunk.text for chunk in sentences(text)],
    }


def compare_splitters(task: RetrievalTask) -> list[dict[str, Any]]:
    """Return nDCG@10 by meaning, and the speed, of each splitter."""
    rows = []
    for name, cut in splitters().items():
        started = time.perf_counter()
        pieces = {document: cut(text) or [text] for document, text in task.documents.items()}
        seconds = time.perf_counter() - started
        owners = np.array([document for document, parts in pieces.items() for _ in parts])
        texts = [part for parts in pieces.values() for part in parts]
        encoder = GemEncoder(open_vectors("wordllama-gem")).fit(texts)
        cosines = encoder.encode(list(task.queries.values())) @ encoder.encode(texts).T
        rankings = [list(dict.fromkeys(owners[np.argsort(-row)].tolist()))[:10] for row in cosines]
        values = measures(rankings, [task.relevance[query] for query in task.queries])
        size = sum(map(len, task.documents.values())) / 1e6
        rows.append(
            {
                "set": task.name,
                "splitter": name,
                "pieces": len(texts),
                "MB/s": round(size / seconds, 1),
                "dense": round(float(values["ndcg@10"].mean()), 2),
            }
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--joined", type=int, nargs="+", default=[1, 4])
    parser.add_argument("--splitters", action="store_true")
    parser.add_argument("-o", "--output", type=Path)
    asked = parser.parse_args()
    rows: list[Mapping[str, Any]] = []
    for folder in asked.folders:
        for count in asked.joined:
            task = joined(read_beir(folder), count)
            lengths = [len(text.split()) for text in task.documents.values()]
            long = round(float(np.mean(np.array(lengths) > 250)), 2)
            if asked.splitters:
                found = compare_splitters(task)
            else:
                found = [
                    {"set": task.name, "longer than 250": long, **each.fields, **scores(task, each)}
                    for each in CUTTINGS
                ]
            for row in found:
                print(json.dumps(row), flush=True)
            rows += found
    if asked.output is not None:
        asked.output.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
