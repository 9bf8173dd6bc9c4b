"""Ranking by cosine similarity of GEM embeddings."""

from haystack_integrations.components.rankers.gem.ranker import GemRanker

__all__ = ["GemRanker"]
