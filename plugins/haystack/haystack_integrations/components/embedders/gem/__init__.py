"""GEM sentence embeddings of texts and documents."""

from haystack_integrations.components.embedders.gem.document_embedder import GemDocumentEmbedder
from haystack_integrations.components.embedders.gem.text_embedder import GemTextEmbedder

__all__ = ["GemDocumentEmbedder", "GemTextEmbedder"]
