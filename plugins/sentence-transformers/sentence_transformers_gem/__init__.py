"""GEM sentence embeddings as a module of a SentenceTransformer."""

from sentence_transformers_gem.module import GemModule

__all__ = ["GemModule"]
