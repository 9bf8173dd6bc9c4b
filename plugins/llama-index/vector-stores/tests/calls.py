"""Calls of the store, in a module that a child process can import."""

from __future__ import annotations

from llama_index.core.vector_stores import VectorStoreQuery
from llama_index.vector_stores.gem import GemVectorStore


def search(store: GemVectorStore, text: str, k: int = 9) -> list[tuple[str, float]]:
    found = store.query(VectorStoreQuery(query_str=text, similarity_top_k=k))
    return list(zip(found.ids, found.similarities, strict=True))
