"""GEM sentence embeddings for LlamaIndex."""

from llama_index.embeddings.gem.base import GemEmbedding

__all__ = ["GemEmbedding"]
