"""The mode ``mmr``: nodes that are similar to the query and different from each other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from llama_index.core.indices.query.embedding_utils import get_top_k_mmr_embeddings
from llama_index.core.vector_stores.types import VectorStoreQuery, VectorStoreQueryMode

from gem_index import Collection

__all__ = ["Diversity"]

_PREFETCH_FACTOR = 4.0  # LlamaIndex's default


@dataclass(frozen=True)
class Diversity:
    """The options of the mode ``mmr``.

    Attributes
    ----------
    threshold : float, optional
        0 selects only for difference, 1 only for similarity to the query.
    searched : int
        Number of nodes from which it selects.
    """

    threshold: float | None
    searched: int

    @classmethod
    def of(cls, query: VectorStoreQuery, options: dict[str, Any]) -> Diversity | None:
        """Take the options of the mode ``mmr`` out of a query's options; None in another mode."""
        if query.mode != VectorStoreQueryMode.MMR:
            if query.mmr_threshold is not None:
                raise ValueError("found mmr_threshold; expected it in the mode mmr")
            return None
        threshold = options.pop("mmr_threshold", query.mmr_threshold)
        factor = options.pop("mmr_prefetch_factor", _PREFETCH_FACTOR)
        if threshold is not None and not 0 <= threshold <= 1:
            raise ValueError(f"mmr_threshold is {threshold}; expected a number from 0 to 1")
        if not 1 <= factor < math.inf:
            raise ValueError(f"mmr_prefetch_factor is {factor}; expected at least 1")
        return cls(threshold, math.ceil(factor * query.similarity_top_k))

    def select(
        self, collection: Collection, question: Any, hits: Sequence[Any], k: int
    ) -> Sequence[Any]:
        """Return k of the hits that are similar to the question, a text or a vector, and different from each other."""
        encoder = collection.encoder
        rows = encoder.encode([hit.text for hit in hits])
        if isinstance(question, str):
            [question] = encoder.encode([question])
        _, chosen = get_top_k_mmr_embeddings(
            question,
            list(rows),
            similarity_fn=np.dot,  # of unit vectors; 0 for a text without words
            similarity_top_k=k,
            mmr_threshold=self.threshold,
        )
        return [hits[place] for place in chosen]
