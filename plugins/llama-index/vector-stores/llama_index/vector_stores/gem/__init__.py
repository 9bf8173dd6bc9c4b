"""A gem-index collection as a vector store of LlamaIndex."""

from llama_index.vector_stores.gem.base import GemVectorStore

__all__ = ["GemVectorStore"]
