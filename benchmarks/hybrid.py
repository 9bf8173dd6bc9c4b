"""Compare dense, lexical and hybrid search: CQA related questions as a collection, original questions as queries.

``python -m benchmarks.hybrid SemEval2016-subtaskB-dev.jsonl [VECTORS [PRESET]]`` prints MAP and recall@10, with subjects
that count once, twice and three times.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

import numpy as np

from gem_index import Document, GemConfig, Home, WeightedText


def main() -> None:
    rows = [json.loads(line) for line in Path(sys.argv[1]).read_text().splitlines()]
    documents = {row["relq_id"]: (row["relq_subject"], row["relq_body"]) for row in rows}
    queries: dict[str, str] = {}
    relevant: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        queries[row["orgq_id"]] = f"{row['orgq_subject']}\n\n{row['orgq_body']}"
        if str(row["relevant"]) == "1":
            relevant[row["orgq_id"]].add(row["relq_id"])
    for weight in (1.0, 2.0, 3.0):
        with tempfile.TemporaryDirectory() as folder:
            home = Home(folder)
            home.build(
                "cqa",
                [
                    Document(id=name, text=WeightedText.joined([(subject, weight), (body, 1.0)]))
                    for name, (subject, body) in documents.items()
                ],
                vectors=sys.argv[2] if len(sys.argv) > 2 else None,
                config=GemConfig.preset(sys.argv[3]) if len(sys.argv) > 3 else None,
            )
            collection = home.collection("cqa")
            for options in (
                {"mode": "dense"},
                {"mode": "lexical"},
                {"fusion": "rrf"},
                {"fusion": "weighted"},
            ):
                precisions, recalls = [], []
                asked = [queries[query] for query in relevant]
                results = collection.search_many(asked, k=100, **options)
                for wanted, ranking in zip(relevant.values(), results, strict=True):
                    hits = [hit.id for hit in ranking]
                    good = np.cumsum([hit in wanted for hit in hits])
                    found = [good[i] / (i + 1) for i, hit in enumerate(hits) if hit in wanted]
                    precisions.append(sum(found) / len(wanted))
                    recalls.append(len(wanted & set(hits[:10])) / len(wanted))
                print(
                    f"subject*{weight:g} {next(iter(options.values())):10} MAP {100 * np.mean(precisions):5.1f}  "
                    f"recall@10 {100 * np.mean(recalls):5.1f}"
                )


if __name__ == "__main__":
    main()
