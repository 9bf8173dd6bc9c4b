"""Calls of the adapters, in a module that a spawned child can import."""

from __future__ import annotations

import pyarrow as pa
from gem_index_lancedb import GemEmbeddings, GemReranker


def embed(function: GemEmbeddings, texts: list[str]) -> list:
    return function.generate_embeddings(texts)


def embed_query(function: GemEmbeddings, text: str) -> list:
    return function.compute_query_embeddings(text)[0]


def ranking(reranker: GemReranker, query: str, texts: list[str]) -> list[tuple[int, float]]:
    """Return (place in the input, score), best first."""
    count = len(texts)
    rows = pa.table({"text": texts, "place": range(count), "_distance": [0.5] * count})
    ranked = reranker.rerank_vector(query, rows)
    return list(
        zip(ranked["place"].to_pylist(), ranked["_relevance_score"].to_pylist(), strict=True)
    )
