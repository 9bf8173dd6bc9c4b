"""GEM sentence embeddings of texts and documents, and sparse embeddings of their words."""

from haystack_integrations.components.embedders.gem.document_embedder import GemDocumentEmbedder
from haystack_integrations.components.embedders.gem.sparse_document_embedder import (
    GemSparseDocumentEmbedder,
)
from haystack_integrations.components.embedders.gem.sparse_text_embedder import (
    GemSparseTextEmbedder,
)
from haystack_integrations.components.embedders.gem.text_embedder import GemTextEmbedder

__all__ = [
    "GemDocumentEmbedder",
    "GemSparseDocumentEmbedder",
    "GemSparseTextEmbedder",
    "GemTextEmbedder",
]
