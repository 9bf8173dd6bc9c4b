"""gem-index: sentence embeddings for vector-database ingestion, without parameters, GPU or model server.

The names below are the public interface; what is not listed may change. They are imported when first used, so that
``import gem_index`` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    __version__: str

    from gem_index.chunking import Chunking, Piece
    from gem_index.collection import Collection
    from gem_index.collection.corpus.drift import Drift
    from gem_index.collection.corpus.results import (
        DocumentMap,
        DuplicateGroup,
        DuplicateGroups,
        MapColors,
        Topic,
        TopicExample,
        TopicMapPoint,
        Topics,
    )
    from gem_index.collection.results import (
        CollectionStatus,
        DeleteReport,
        FoundPassage,
        FoundPiece,
        IndexStatus,
        ModelInfo,
        Problem,
        PushReport,
        SearchResult,
        SearchResults,
        UpsertReport,
    )
    from gem_index.collection.write.adopting import ShardPlan
    from gem_index.documents import Document
    from gem_index.errors import GemIndexError
    from gem_index.gem.batches import TokenBatch
    from gem_index.gem.combined import CombinedEncoder, CombinedExplanation, WeighedExplanation
    from gem_index.gem.components import Components, CorpusStatistics
    from gem_index.gem.config import GemConfig
    from gem_index.gem.encoder import Explanation, GemEncoder, WordWeight
    from gem_index.gem.matches import MatchedPair, MatchedWord, MatchExplanation
    from gem_index.gem.provider import EmbeddingProvider, GemProvider
    from gem_index.gem.reranking import RerankResult, RerankResults, rerank
    from gem_index.home import Home
    from gem_index.home.key_library import KeyLibrary
    from gem_index.home.model_library import ModelLibrary
    from gem_index.home.opening import (
        EncoderChoice,
        NamedProvider,
        find_provider,
        open_provider,
        open_vectors,
    )
    from gem_index.home.vector_library import VectorInfo, VectorLibrary
    from gem_index.progress import Progress, ProgressOption
    from gem_index.store.keys import KeyRecord
    from gem_index.targets import (
        Neighbor,
        Target,
        TargetDocument,
        TargetSchema,
        TargetTable,
        TargetUrl,
    )
    from gem_index.text import WeightedText
    from gem_index.vectors.base import VectorSource
    from gem_index.vectors.formats.registry import KeyedVectorsLike
    from gem_index.vectors.options import SourceOptions
    from gem_index.vectors.stored import ImportReport

_HOMES = {
    "Collection": "gem_index.collection",
    "CollectionStatus": "gem_index.collection.results",
    "CombinedEncoder": "gem_index.gem.combined",
    "CombinedExplanation": "gem_index.gem.combined",
    "Components": "gem_index.gem.components",
    "CorpusStatistics": "gem_index.gem.components",
    "DeleteReport": "gem_index.collection.results",
    "Document": "gem_index.documents",
    "DocumentMap": "gem_index.collection.corpus.results",
    "Drift": "gem_index.collection.corpus.drift",
    "DuplicateGroup": "gem_index.collection.corpus.results",
    "DuplicateGroups": "gem_index.collection.corpus.results",
    "EmbeddingProvider": "gem_index.gem.provider",
    "EncoderChoice": "gem_index.home.opening",
    "Explanation": "gem_index.gem.encoder",
    "ImportReport": "gem_index.vectors.stored",
    "GemConfig": "gem_index.gem.config",
    "GemEncoder": "gem_index.gem.encoder",
    "GemIndexError": "gem_index.errors",
    "GemProvider": "gem_index.gem.provider",
    "Home": "gem_index.home",
    "IndexStatus": "gem_index.collection.results",
    "UpsertReport": "gem_index.collection.results",
    "KeyLibrary": "gem_index.home.key_library",
    "KeyRecord": "gem_index.store.keys",
    "KeyedVectorsLike": "gem_index.vectors.formats.gensim",
    "MapColors": "gem_index.collection.corpus.results",
    "MatchExplanation": "gem_index.gem.matches",
    "MatchedPair": "gem_index.gem.matches",
    "MatchedWord": "gem_index.gem.matches",
    "ModelInfo": "gem_index.collection.results",
    "ModelLibrary": "gem_index.home.model_library",
    "NamedProvider": "gem_index.home.opening",
    "Neighbor": "gem_index.targets",
    "Problem": "gem_index.collection.results",
    "Progress": "gem_index.progress",
    "ProgressOption": "gem_index.progress",
    "PushReport": "gem_index.collection.results",
    "RerankResult": "gem_index.gem.reranking",
    "RerankResults": "gem_index.gem.reranking",
    "Chunking": "gem_index.chunking",
    "Piece": "gem_index.chunking",
    "FoundPassage": "gem_index.collection.results",
    "FoundPiece": "gem_index.collection.results",
    "SearchResult": "gem_index.collection.results",
    "SearchResults": "gem_index.collection.results",
    "ShardPlan": "gem_index.collection.write.adopting",
    "SourceOptions": "gem_index.vectors.options",
    "Target": "gem_index.targets",
    "TargetDocument": "gem_index.targets",
    "TargetSchema": "gem_index.targets",
    "TargetTable": "gem_index.targets",
    "TargetUrl": "gem_index.targets",
    "Topic": "gem_index.collection.corpus.results",
    "TopicExample": "gem_index.collection.corpus.results",
    "TopicMapPoint": "gem_index.collection.corpus.results",
    "Topics": "gem_index.collection.corpus.results",
    "TokenBatch": "gem_index.gem.batches",
    "VectorInfo": "gem_index.home.vector_library",
    "VectorLibrary": "gem_index.home.vector_library",
    "VectorSource": "gem_index.vectors.base",
    "WeighedExplanation": "gem_index.gem.combined",
    "WeightedText": "gem_index.text",
    "WordWeight": "gem_index.gem.encoder",
    "find_provider": "gem_index.home.opening",
    "open_provider": "gem_index.home.opening",
    "open_vectors": "gem_index.home.opening",
    "rerank": "gem_index.gem.reranking",
}

__all__ = [
    "Chunking",
    "Collection",
    "CollectionStatus",
    "CombinedEncoder",
    "CombinedExplanation",
    "Components",
    "CorpusStatistics",
    "DeleteReport",
    "Document",
    "DocumentMap",
    "Drift",
    "DuplicateGroup",
    "DuplicateGroups",
    "EmbeddingProvider",
    "EncoderChoice",
    "Explanation",
    "FoundPassage",
    "FoundPiece",
    "GemConfig",
    "GemEncoder",
    "GemIndexError",
    "GemProvider",
    "Home",
    "ImportReport",
    "IndexStatus",
    "KeyLibrary",
    "KeyRecord",
    "KeyedVectorsLike",
    "MapColors",
    "MatchExplanation",
    "MatchedPair",
    "MatchedWord",
    "ModelInfo",
    "ModelLibrary",
    "NamedProvider",
    "Neighbor",
    "Piece",
    "Problem",
    "Progress",
    "ProgressOption",
    "PushReport",
    "RerankResult",
    "RerankResults",
    "SearchResult",
    "SearchResults",
    "ShardPlan",
    "SourceOptions",
    "Target",
    "TargetDocument",
    "TargetSchema",
    "TargetTable",
    "TargetUrl",
    "TokenBatch",
    "Topic",
    "TopicExample",
    "TopicMapPoint",
    "Topics",
    "UpsertReport",
    "VectorInfo",
    "VectorLibrary",
    "VectorSource",
    "WeighedExplanation",
    "WeightedText",
    "WordWeight",
    "__version__",
    "find_provider",
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
