"""GEM sentence embeddings as a model of MTEB, the Massive Text Embedding Benchmark."""

from mteb_gem.model import GemModel

__all__ = ["GemModel"]
