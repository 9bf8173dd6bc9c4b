"""LanceDB as a target of ``gem-index push``, and GEM embeddings and re-ranking inside LanceDB.

``lancedb:///folder?table=faq``. Importing this package registers :class:`GemEmbeddings` with LanceDB as ``gem``.
"""

from gem_index_lancedb.embedding import GemEmbeddings
from gem_index_lancedb.reranking import GemReranker
from gem_index_lancedb.target import LanceDbTarget

__all__ = ["GemEmbeddings", "GemReranker", "LanceDbTarget"]
