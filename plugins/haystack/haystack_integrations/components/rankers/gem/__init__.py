"""Ranking by GEM embeddings, and by words."""

from haystack_integrations.components.rankers.gem.ranker import GemRanker

__all__ = ["GemRanker"]
