"""Calls of the adapter, in a module that a spawned child can import."""

from __future__ import annotations

from rerankers_gem import GemRanker


def ranking(ranker: GemRanker, query: str, texts: list[str]) -> list[tuple[int, float]]:
    """Return (place in the input, score), best first."""
    return [(result.doc_id, result.score) for result in ranker.rank(query, texts)]
