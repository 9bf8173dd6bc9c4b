"""Calls of the adapter, in a module that a spawned child can import."""

from __future__ import annotations

from llama_index.embeddings.gem import GemEmbedding


def embed(adapter: GemEmbedding, texts: list[str]) -> list[list[float]]:
    return adapter.get_text_embedding_batch(texts)


def embed_query(adapter: GemEmbedding, text: str) -> list[float]:
    return adapter.get_query_embedding(text)
