"""Compare the default search with what a vector database ranks by dense and sparse vectors.

``python -m benchmarks.sparse FOLDER... [--folded N]`` reads retrieval sets in BEIR's layout. For each it prints nDCG@10 x
100 of the default search; of the sum of the inner products of dense and sparse vectors; of the best 100 by dense vectors,
ordered by that sum; of dense vectors alone; and of the sum with sparse vectors that know nothing of the collection but its
language (:meth:`gem_index.sparse.SparseEncoder.background`). Then the bytes of a text's sparse vector, and the share of
texts in which two terms have one index. ``--folded N`` adds the sum with sparse vectors of N dimensions, for libraries that
cannot hold 2^31.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence

import numpy as np
from scipy.sparse import csr_array

from gem_index import Chunking, Home
from gem_index.common.arrays import F64, WORD_DIMENSIONS
from gem_index.evaluate.retrieval import RetrievalTask, measures, read_beir
from gem_index.sparse import SparseEncoder, SparseVector

_CANDIDATES = 100


def products(queries: list[SparseVector], documents: list[SparseVector]) -> F64:
    """Return the inner product of each query with each document (q, d)."""
    known = np.unique(np.concatenate([vector.indices for vector in documents]))

    def stacked(vectors: list[SparseVector]) -> csr_array:
        kept = [np.isin(vector.indices, known) for vector in vectors]
        starts = np.cumsum([0, *(np.count_nonzero(some) for some in kept)])
        pairs = list(zip(vectors, kept, strict=True))
        columns = np.searchsorted(known, np.concatenate([v.indices[some] for v, some in pairs]))
        values = np.concatenate([v.values[some] for v, some in pairs])
        return csr_array((values, columns, starts), shape=(len(vectors), len(known)))

    found: F64 = (stacked(queries) @ stacked(documents).T).toarray()
    return found


def ndcg(task: RetrievalTask, rankings: Sequence[Sequence[str]]) -> float:
    return float(measures(rankings, list(task.relevance.values()))["ndcg@10"].mean())


def ranked(task: RetrievalTask, scores: F64) -> list[list[str]]:
    ids = list(task.documents)
    order = np.argsort(-scores, axis=1, kind="stable")[:, :10]
    return [[ids[place] for place in row] for row in order]


def best_again(dense: F64, both: F64) -> F64:
    """Return the scores of the best texts by dense vectors; others have none."""
    found = np.full_like(both, -np.inf)
    for row, (near, score) in enumerate(zip(dense, both, strict=True)):
        best = np.argsort(-near, kind="stable")[:_CANDIDATES]
        found[row, best] = score[best]
    return found


def measure(task: RetrievalTask, home: Home, dimensions: int) -> str:
    texts, queries = list(task.documents.values()), list(task.queries.values())
    rows = [{"id": name, "text": text} for name, text in task.documents.items()]
    home.build(task.name, rows, chunking=Chunking(None))
    found = home.collection(task.name)
    hits = found.search_many(queries, 10, correct=False)
    sparse, encoder = found.sparse_encoder(), found.encoder
    dense: F64 = np.asarray(encoder.encode(queries) @ encoder.encode(texts).T, np.float64)
    documents = sparse.embed_documents(texts)
    asked = [sparse.embed_query(query) for query in queries]
    both = dense + products(asked, documents)
    folded = dense + products(
        [each.folded(dimensions) for each in asked], [each.folded(dimensions) for each in documents]
    )
    background = SparseEncoder.background(sparse.analyzer.language)
    unfitted = dense + products(
        [background.embed_query(query) for query in queries], background.embed_documents(texts)
    )
    cells = [ndcg(task, [[hit.id for hit in of_one] for of_one in hits])]
    sums = (both, best_again(dense, both), dense, unfitted, folded)
    cells += [ndcg(task, ranked(task, each)) for each in sums]
    size = np.mean([8 * len(vector.indices) for vector in documents])
    terms = [len(set(sparse.analyzer.terms(text))) for text in texts]
    shared = np.mean([len(v.indices) < n for v, n in zip(documents, terms, strict=True)])
    return f"{' | '.join(f'{cell:5.2f}' for cell in cells)} | {size:5.0f}, {shared:.2%}"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--folded", type=int, default=WORD_DIMENSIONS)
    asked = parser.parse_args()
    print(
        "set | default search | dense + sparse | 100 by dense, again | dense | dense + background | folded | bytes, shared"
    )
    with tempfile.TemporaryDirectory() as root:
        for folder in asked.folders:
            task = read_beir(folder)
            print(f"{task.name:15} | {measure(task, Home(root), asked.folded)}", flush=True)


if __name__ == "__main__":
    main()
