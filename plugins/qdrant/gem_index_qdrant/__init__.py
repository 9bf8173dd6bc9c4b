"""Qdrant as a target of ``gem-index push``: ``qdrant:///folder?collection=faq``, ``qdrant+http://host/?collection=faq``."""

from gem_index_qdrant.database import point_id
from gem_index_qdrant.target import QdrantTarget

__all__ = ["QdrantTarget", "point_id"]
