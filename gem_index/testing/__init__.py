"""Tests for what other packages build: sources of word vectors, embedding providers with their adapters, and pages.

The contracts are for pytest: inherit a class in a test module of your own, and make what it tests.
"""

from gem_index.testing.pages import run_page
from gem_index.testing.providers import EmbeddingProviderContract, embed_documents, embed_query
from gem_index.testing.sources import VectorSourceContract

__all__ = [
    "EmbeddingProviderContract",
    "VectorSourceContract",
    "embed_documents",
    "embed_query",
    "run_page",
]
