"""Ranking by GEM's cosine with the query."""

from haystack_integrations.components.rankers.gem.ranker import GemRanker

__all__ = ["GemRanker"]
