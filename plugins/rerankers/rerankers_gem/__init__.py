"""GEM sentence embeddings as a ranker for rerankers.

Importing this package adds ``GemRanker`` to the table in which ``rerankers.Reranker`` looks up a ``model_type``.
"""

from rerankers.models import AVAILABLE_RANKERS

from rerankers_gem.ranker import GemRanker

__all__ = ["GemRanker"]

# The table accepts any ranker; mypy infers its type from the first entry that the library itself adds.
AVAILABLE_RANKERS["GemRanker"] = GemRanker  # type: ignore[assignment]
