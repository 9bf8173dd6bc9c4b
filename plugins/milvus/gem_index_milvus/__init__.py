"""Milvus as a target of ``gem-index push``, and GEM as an embedding function for pymilvus."""

from gem_index_milvus.embedding import GemEmbeddingFunction
from gem_index_milvus.table import primary_key
from gem_index_milvus.target import MilvusTarget

__all__ = ["GemEmbeddingFunction", "MilvusTarget", "primary_key"]
