"""A collection of gem-index as a document store."""

from haystack_integrations.document_stores.gem.document_store import GemDocumentStore

__all__ = ["GemDocumentStore"]
