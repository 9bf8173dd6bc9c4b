"""GEM as an embedding function, in the form of pymilvus' model package."""

from __future__ import annotations

from typing import Self, Unpack

import numpy as np
import numpy.typing as npt
from pymilvus import MilvusClient

from gem_index import open_provider
from gem_index.errors import ConfigError, FingerprintMismatchError
from gem_index.home import ProviderOptions
from gem_index_milvus.table import read_schema

__all__ = ["GemEmbeddingFunction"]

_Vectors = list[npt.NDArray[np.float32]]


class GemEmbeddingFunction:
    """Sentence embeddings of unit length, computed on the CPU; queries and documents are embedded alike.

    A text without words gives zeros.

    Parameters
    ----------
    vectors, model, collection, config, home, fingerprint : optional
        The arguments that choose the model, as for :func:`gem_index.open_provider`.

    Examples
    --------
    >>> embed = GemEmbeddingFunction()
    >>> embed.dim
    256
    >>> [vector.shape for vector in embed.encode_queries(["how do I renew a visa?"])]
    [(256,)]
    """

    def __init__(self, vectors: str | None = None, **choice: Unpack[ProviderOptions]) -> None:
        self._provider = open_provider(vectors, **choice)

    @classmethod
    def for_collection(
        cls,
        client: MilvusClient,
        name: str,
        vectors: str | None = None,
        **choice: Unpack[ProviderOptions],
    ) -> Self:
        """Open the model of the vectors in a pushed collection.

        Parameters
        ----------
        client : MilvusClient
        name : str
            Of the collection or its alias.
        vectors, **choice : optional
            The arguments that choose the model.

        Raises
        ------
        FingerprintMismatchError
            If the collection has vectors of another model.
        ConfigError
            If no push made the collection.
        """
        schema = read_schema(client.describe_collection(name))
        if schema is None:
            raise ConfigError(
                f"found the collection {name!r:.80}, which gem-index did not create; expected a pushed one; "
                "open the model without for_collection"
            )
        opened = cls(vectors, **choice)
        if opened.fingerprint != schema.fingerprint:
            raise FingerprintMismatchError(
                f"the collection {name!r:.80}",
                schema.fingerprint,
                opened.fingerprint,
                "name the model that was pushed, or push again",
                kind="encoder",
            )
        return opened

    @property
    def dim(self) -> int:
        """Dimension of the vectors."""
        return self._provider.dimension

    @property
    def fingerprint(self) -> str:
        """Of the encoder."""
        return self._provider.fingerprint

    def encode_documents(self, documents: list[str]) -> _Vectors:
        """Return a vector for each document."""
        return list(self._provider.embed_documents(documents))

    def encode_queries(self, queries: list[str]) -> _Vectors:
        """Return a vector for each query."""
        return self.encode_documents(queries)

    def __call__(self, texts: list[str]) -> _Vectors:
        """Return a vector for each text."""
        return self.encode_documents(texts)
