"""Chroma as a target of ``gem-index push``, and GEM embeddings inside Chroma.

``chroma:///folder?collection=faq`` is a folder that Chroma's client opens itself, ``chroma+http://host:port/?collection=faq``
a server. Importing this package registers :class:`GemEmbeddingFunction` with Chroma.
"""

from gem_index_chroma.embedding import GemEmbeddingFunction, open_collection
from gem_index_chroma.target import ChromaTarget

__all__ = ["ChromaTarget", "GemEmbeddingFunction", "open_collection"]
