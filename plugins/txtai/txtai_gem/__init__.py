"""GEM sentence embeddings, and sparse vectors of words, as vectors of txtai."""

from txtai_gem.sparse import DIMENSIONS, GemSparseVectors
from txtai_gem.vectors import GemVectors

__all__ = ["DIMENSIONS", "GemSparseVectors", "GemVectors"]
