"""gem-index: sentence embeddings for vector-database ingestion, without parameters, GPU or model server.

The names below are the public interface; what is not listed may change. They are imported when first used, so that
``import gem_index`` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    __version__: str

    from gem_index.collection import Collection
    from gem_index.documents import Document
    from gem_index.errors import GemIndexError
    from gem_index.gem.combined import CombinedEncoder
    from gem_index.gem.components import Components, CorpusStatistics
    from gem_index.gem.config import GemConfig
    from gem_index.gem.encoder import Explanation, GemEncoder, WordWeight
    from gem_index.gem.matches import MatchedPair, MatchedWord, MatchExplanation
    from gem_index.gem.provider import EmbeddingProvider, GemProvider
    from gem_index.gem.reranking import RerankResult, rerank
    from gem_index.home import Home
    from gem_index.home.opening import NamedProvider, open_provider, open_vectors
    from gem_index.progress import Progress, ProgressOption
    from gem_index.text import WeightedText
    from gem_index.vectors.base import VectorSource

_HOMES = {
    "Collection": "gem_index.collection",
    "Components": "gem_index.gem.components",
    "CorpusStatistics": "gem_index.gem.components",
    "Document": "gem_index.documents",
    "EmbeddingProvider": "gem_index.gem.provider",
    "Explanation": "gem_index.gem.encoder",
    "GemConfig": "gem_index.gem.config",
    "CombinedEncoder": "gem_index.gem.combined",
    "GemEncoder": "gem_index.gem.encoder",
    "GemIndexError": "gem_index.errors",
    "GemProvider": "gem_index.gem.provider",
    "Home": "gem_index.home",
    "RerankResult": "gem_index.gem.reranking",
    "VectorSource": "gem_index.vectors.base",
    "WeightedText": "gem_index.text",
    "MatchExplanation": "gem_index.gem.matches",
    "MatchedPair": "gem_index.gem.matches",
    "MatchedWord": "gem_index.gem.matches",
    "WordWeight": "gem_index.gem.encoder",
    "NamedProvider": "gem_index.home.opening",
    "Progress": "gem_index.progress",
    "ProgressOption": "gem_index.progress",
    "open_provider": "gem_index.home.opening",
    "open_vectors": "gem_index.home.opening",
    "rerank": "gem_index.gem.reranking",
}

__all__ = [
    "Collection",
    "CombinedEncoder",
    "Components",
    "CorpusStatistics",
    "Document",
    "EmbeddingProvider",
    "Explanation",
    "GemConfig",
    "GemEncoder",
    "GemIndexError",
    "GemProvider",
    "Home",
    "MatchExplanation",
    "MatchedPair",
    "MatchedWord",
    "NamedProvider",
    "Progress",
    "ProgressOption",
    "RerankResult",
    "VectorSource",
    "WeightedText",
    "WordWeight",
    "__version__",
    "open_provider",
    "open_vectors",
    "rerank",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("gem-index")
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'gem_index' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
