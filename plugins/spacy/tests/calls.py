"""Calls of the contract, also in child processes."""

from __future__ import annotations

from typing import Any

import numpy as np


def embed(nlp: Any, texts: list[str]) -> Any:
    return np.stack([doc.vector for doc in nlp.pipe(texts)])


def embed_query(nlp: Any, text: str) -> Any:
    return nlp(text).vector
