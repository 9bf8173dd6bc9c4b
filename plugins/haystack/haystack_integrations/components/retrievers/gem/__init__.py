"""Retrieval from a collection of gem-index."""

from haystack_integrations.components.retrievers.gem.retriever import GemRetriever

__all__ = ["GemRetriever"]
