"""Calls of the adapter, in a module that a spawned child can import."""

from __future__ import annotations

from gem_index_chroma import GemEmbeddingFunction


def embed(function: GemEmbeddingFunction, texts: list[str]) -> list:
    return function(texts)


def embed_query(function: GemEmbeddingFunction, text: str) -> list:
    return function.embed_query([text])[0]
