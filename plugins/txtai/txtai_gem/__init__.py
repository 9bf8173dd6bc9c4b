"""GEM sentence embeddings as vectors of txtai."""

from txtai_gem.vectors import GemVectors

__all__ = ["GemVectors"]
