"""Compare the default search with the re-ranked one: ``python -m benchmarks.passages dev-sets.toml FOLDER...``.

Reads the retrieval sets of a suite's file and folders in BEIR's layout, makes a collection of each, and prints nDCG@10 of a
search by meaning, of the default search, and of the default search with ``rerank``.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from gem_index import Chunking, Document, Home
from gem_index.evaluate.retrieval import RetrievalTask, measures, read_beir
from gem_index.evaluate.suite_file import read_suite

WAYS: dict[str, dict[str, Any]] = {
    "by meaning": {"mode": "dense"},
    "default": {},
    "re-ranked": {"rerank": True},
}


def main() -> None:
    tasks = [
        (data.name, data.data)
        for data in read_suite(Path(sys.argv[1])).sets
        if isinstance(data.data, RetrievalTask) and data.task == "retrieval"
    ]
    tasks += [(Path(folder).name, read_beir(folder)) for folder in sys.argv[2:]]
    print(f"| set | {' | '.join(WAYS)} |\n|---|{'--:|' * len(WAYS)}")
    sums = dict.fromkeys(WAYS, 0.0)
    for name, task in tasks:
        scores = {}
        with TemporaryDirectory() as folder:
            found = Home(folder).create_collection("texts", chunking=Chunking(None))
            found.upsert(Document(id=i, text=text) for i, text in task.documents.items())
            found.refit()
            for way, options in WAYS.items():
                results = found.search_many(list(task.queries.values()), k=10, **options)
                rankings = [[hit.id for hit in hits] for hits in results]
                measured = measures(rankings, list(task.relevance.values()))
                scores[way] = float(measured["ndcg@10"].mean())
                sums[way] += scores[way] / len(tasks)
        print(f"| {name} | {' | '.join(f'{value:.1f}' for value in scores.values())} |", flush=True)
    print(f"| average | {' | '.join(f'{value:.2f}' for value in sums.values())} |")


if __name__ == "__main__":
    main()
