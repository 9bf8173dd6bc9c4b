"""Re-ranking by GEM sentence embeddings for LlamaIndex."""

from llama_index.postprocessor.gem.base import GemRerank

__all__ = ["GemRerank"]
