"""Calls of the adapter, in a module that a spawned child can import."""

from __future__ import annotations

from typing import Any

from txtai import Embeddings


def embed(adapter: Embeddings, texts: list[str]) -> Any:
    return adapter.batchtransform(texts)


def embed_query(adapter: Embeddings, text: str) -> Any:
    return adapter.transform(text, "query")
