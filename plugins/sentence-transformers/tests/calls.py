"""Calls of the contract, also in child processes."""

from __future__ import annotations

from typing import Any


def embed(model: Any, texts: list[str]) -> Any:
    return model.encode(texts)


def embed_query(model: Any, text: str) -> Any:
    return model.encode_query(text)
