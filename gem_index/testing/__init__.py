"""Tests for other packages: sources of word vectors, adapters that embed or re-rank, and documentation pages.

The contracts are pytest classes: inherit one in a test module and create the object to test. This package also holds
helper functions for the tests of adapters, and pytest plugins to name in ``addopts``: ``gem_index.testing.isolation``,
``gem_index.testing.leftovers``, ``gem_index.testing.event_loops``.
"""

from gem_index.testing.pages import run_page
from gem_index.testing.processes import call_in_child, in_forked_child, run_python
from gem_index.testing.providers import EmbeddingProviderContract, embed_documents, embed_query
from gem_index.testing.rerankers import RerankerContract
from gem_index.testing.samples import (
    cosine_ranking,
    documentation_sentences,
    fit_model,
    write_word_vectors,
)
from gem_index.testing.sources import VectorSourceContract
from gem_index.testing.targets import TargetContract

__all__ = [
    "EmbeddingProviderContract",
    "RerankerContract",
    "TargetContract",
    "VectorSourceContract",
    "call_in_child",
    "cosine_ranking",
    "documentation_sentences",
    "embed_documents",
    "embed_query",
    "fit_model",
    "in_forked_child",
    "run_page",
    "run_python",
    "write_word_vectors",
]
