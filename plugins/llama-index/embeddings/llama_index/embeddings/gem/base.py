"""A gem-index provider as a LlamaIndex embedding model."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from llama_index.core.base.embeddings.base import (
    BaseEmbedding,
    Embedding,
    SimilarityMode,
    similarity,
)
from llama_index.core.bridge.pydantic import Field, PrivateAttr

from gem_index import GemConfig, Home, open_provider
from gem_index.home import NamedProvider
from gem_index.sparse import SparseVector

__all__ = ["GemEmbedding"]


class GemEmbedding(BaseEmbedding):
    """GEM embeddings of texts and queries: unit vectors, or zeros for a text without words.

    The fields of the provider are the arguments of :func:`gem_index.open_provider`, and cannot be assigned. They include the
    fingerprint. So ``from_dict(to_dict())`` opens the same provider or raises an error, and the cache key of an ingestion
    cache differs for two fits.

    Parameters
    ----------
    vectors, model, collection, config, home, fingerprint, words
        As for :func:`gem_index.open_provider`; by default the bundled word vectors.
    embed_batch_size : int
        Number of texts to embed at once, at most 2048.
    **kwargs
        Fields of the base class, such as ``callback_manager``, ``num_workers`` and ``embeddings_cache``.

    Raises
    ------
    GemIndexError
        If a name is unknown, or the fingerprint differs from the expected one.

    Examples
    --------
    >>> len(GemEmbedding().get_text_embedding("a man plays guitar"))
    256
    """

    vectors: str | None = Field(default=None, frozen=True, description="Word vectors, by name.")
    model: str | None = Field(default=None, frozen=True, description="A fitted model, or its file.")
    collection: str | None = Field(default=None, frozen=True, description="A collection's model.")
    config: dict[str, Any] | None = Field(
        default=None, frozen=True, description="GEM's configuration, only for word vectors."
    )
    home: str | None = Field(default=None, frozen=True, description="The home of these names.")
    fingerprint: str | None = Field(
        default=None, frozen=True, description="Identity of everything that determines a vector."
    )
    words: str | None = Field(
        default=None, frozen=True, description="Word statistics of sparse vectors."
    )
    _provider: NamedProvider = PrivateAttr()

    def __init__(
        self,
        vectors: str | None = None,
        *,
        model: str | Path | None = None,
        collection: str | None = None,
        config: GemConfig | Mapping[str, Any] | str | None = None,
        home: Home | str | Path | None = None,
        fingerprint: str | None = None,
        words: str | Path | None = None,
        embed_batch_size: int = 512,
        **kwargs: Any,
    ) -> None:
        unknown = set(kwargs) - set(type(self).model_fields) - {"class_name"}
        if unknown:
            raise TypeError(
                f"found the argument {', '.join(sorted(unknown))}, which {self.class_name()} does not take"
            )
        provider = open_provider(
            vectors,
            model=model,
            collection=collection,
            config=config,
            home=home,
            fingerprint=fingerprint,
            words=words,
        )
        settings = provider.settings
        opened = next(
            settings[key] for key in ("collection", "model", "vectors") if key in settings
        )
        fields: dict[str, Any] = {
            "model_name": f"gem:{opened}",
            "embed_batch_size": embed_batch_size,
        }
        super().__init__(**fields | kwargs | settings)
        self._provider = provider

    @classmethod
    def class_name(cls) -> str:
        """Return the name that serialised components carry."""
        return "GemEmbedding"

    def _get_text_embeddings(self, texts: list[str]) -> list[Embedding]:
        rows: list[Embedding] = self._provider.embed_documents(texts).tolist()
        return rows

    def _get_text_embedding(self, text: str) -> Embedding:
        return self._get_text_embeddings([text])[0]

    def _get_query_embedding(self, query: str) -> Embedding:
        return self._get_text_embedding(query)  # GEM embeds queries and texts alike

    def sparse_documents(self, texts: list[str]) -> tuple[list[list[int]], list[list[float]]]:
        """Return the indices and values of the sparse vectors of words: the ``sparse_doc_fn`` of ``QdrantVectorStore``.

        A text without words has an empty vector.
        """
        return _parts(self._provider.embed_sparse_documents(texts))

    def sparse_queries(self, texts: list[str]) -> tuple[list[list[int]], list[list[float]]]:
        """Return the same for queries: the ``sparse_query_fn`` of ``QdrantVectorStore``."""
        return _parts([self._provider.embed_sparse_query(text) for text in texts])

    # Encoding keeps a core busy: it runs in a thread, so that the event loop is not blocked.

    async def _aget_text_embeddings(self, texts: list[str]) -> list[Embedding]:
        return await asyncio.to_thread(self._get_text_embeddings, texts)

    async def _aget_text_embedding(self, text: str) -> Embedding:
        return (await self._aget_text_embeddings([text]))[0]

    async def _aget_query_embedding(self, query: str) -> Embedding:
        return await self._aget_text_embedding(query)

    def similarity(
        self,
        embedding1: Embedding,
        embedding2: Embedding,
        mode: SimilarityMode = SimilarityMode.DEFAULT,
    ) -> float:
        """Return the similarity of two embeddings; a cosine with zeros is 0, for which the base class returns NaN."""
        if mode == SimilarityMode.DEFAULT and not (any(embedding1) and any(embedding2)):
            return 0.0
        return float(similarity(embedding1, embedding2, mode))

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        for name in ("vectors", "model", "collection", "home"):
            if getattr(self, name) is not None:
                yield name, getattr(self, name)
        yield "fingerprint", str(self.fingerprint)[:12]

    def __reduce__(self) -> tuple[Any, ...]:
        # Pickle only the fields: the base class would also pickle the provider, and open its files twice.
        return partial(type(self), **self.__getstate__()["__dict__"]), ()


def _parts(vectors: list[SparseVector]) -> tuple[list[list[int]], list[list[float]]]:
    return [v.indices.tolist() for v in vectors], [v.values.tolist() for v in vectors]
