"""A collection of gem-index as a LangChain vector store."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Self
from uuid import uuid4

import numpy as np
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import VectorStore
from langchain_core.vectorstores.utils import maximal_marginal_relevance

from gem_index import Collection, Home, open_vectors
from gem_index import Document as StoredDocument
from gem_index.errors import FingerprintMismatchError
from gem_index.progress import ProgressOption
from langchain_gem.embeddings import GemEmbeddings
from langchain_gem.metadata import json_value
from langchain_gem.searching import search

__all__ = ["GemVectorStore"]

DEFAULT_COLLECTION = "langchain"
_OUR_NAMES = {
    "embedding_function": "embedding=GemEmbeddings(...), or nothing for the bundled word vectors",
    "persist_directory": "home=FOLDER",
    "client": "home=FOLDER",
    "collection_metadata": "nothing: a collection has no metadata of its own",
}
"""Our names for arguments of other stores."""


class GemVectorStore(VectorStore):
    """Documents in a collection: durable when a call returns, embedded by the collection's own model.

    The higher a score, the better. By default a score combines the cosine and the match (at most 1); with ``mode="dense"``
    it is the cosine, -1 to 1. A query without words finds nothing.

    Parameters
    ----------
    collection_name : str
        Opened if it exists, created otherwise.
    embedding : GemEmbeddings, optional
        The word vectors and configuration of a new collection; those of an existing one must be the same.
    home : Home, str or Path, optional
        The home of the collection; by default that of the embeddings, else the default home.

    Raises
    ------
    TypeError
        If ``embedding`` is of another kind: the collection embeds its texts itself.
    FingerprintMismatchError
        If an existing collection, or the home under the same name, has other word vectors.

    Examples
    --------
    >>> store = GemVectorStore("faq", home="my-home")  # doctest: +SKIP
    >>> store.add_texts(["how do I renew a visa?"], ids=["visa"])  # doctest: +SKIP
    ['visa']
    """

    def __init__(
        self,
        collection_name: str = DEFAULT_COLLECTION,
        embedding: Embeddings | None = None,
        *,
        home: Home | str | Path | None = None,
        **others: Any,
    ) -> None:
        for name in others:
            advice = f"; write {_OUR_NAMES[name]}" if name in _OUR_NAMES else ""
            raise TypeError(
                f"found the argument {name}, which GemVectorStore does not take{advice}"
            )
        choice = _choice(embedding)
        if home is None and isinstance(embedding, GemEmbeddings):
            home = embedding.home
        self._home = home if isinstance(home, Home) else Home(home)
        if isinstance(embedding, GemEmbeddings):
            _check_agreement(embedding, self._home)
        self._collection = self._home.get_or_create_collection(collection_name, **choice)
        self._embeddings: GemEmbeddings | None = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._collection.name!r}, home={str(self._home.root)!r})"

    @property
    def collection(self) -> Collection:
        """The collection, for operations that LangChain does not have: refit, verify, export, status."""
        return self._collection

    @property
    def embeddings(self) -> GemEmbeddings:
        """Embeddings of the collection's current model."""
        fingerprint = self._collection.encoder.fingerprint
        if self._embeddings is None or self._embeddings.fingerprint != fingerprint:
            self._embeddings = GemEmbeddings(collection=self._collection.name, home=self._home.root)
        return self._embeddings

    @classmethod
    def from_texts(
        cls,
        texts: list[str],
        embedding: Embeddings | None = None,
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        collection_name: str = DEFAULT_COLLECTION,
        home: Home | str | Path | None = None,
        progress: ProgressOption = None,
        **kwargs: Any,
    ) -> Self:
        """Create a collection from texts and fit it on them; an existing one stores the texts and is fitted again.

        Parameters
        ----------
        texts, metadatas, ids, progress
            As for :meth:`add_texts`.
        embedding, collection_name, home
            As for the constructor.
        """
        store = cls(collection_name, embedding, home=home, **kwargs)
        store.add_texts(texts, metadatas, ids=ids, progress=progress)
        if texts:
            store.collection.refit(progress)
        return store

    # ----------------------------------------------------------------- writing

    def add_texts(
        self,
        texts: Iterable[str],
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: Sequence[str | None] | None = None,
        progress: ProgressOption = None,
        **kwargs: Any,
    ) -> list[str]:
        """Store texts, or replace those with the same id; they are durable and searchable on return.

        Parameters
        ----------
        texts : iterable of str
        metadatas : list of dict, optional
            One mapping of JSON values for each text. Dates and times are stored as ISO 8601 text.
        ids : sequence of str, optional
            One for each text; None generates an id.
        progress : bool or callable, optional
            True for a bar on standard error; a function is called with stage, done and total. ``add_documents`` and the
            asynchronous methods take it too.

        Returns
        -------
        list of str
            The ids.

        Raises
        ------
        ValueError
            If the numbers of metadatas or ids and of texts differ.
        DuplicateIdError
            If an id occurs twice in the call; nothing is stored then.
        """
        # LangChain's indexing passes a batch size; one call is one transaction
        kwargs.pop("batch_size", None)
        _refuse(kwargs)
        if isinstance(texts, str):
            raise TypeError(f"found one string {texts[:40]!r}; expected a list of texts")
        texts = list(texts)
        metadatas = [{} for _ in texts] if metadatas is None else list(metadatas)
        given = [None] * len(texts) if ids is None else ids
        names = [str(uuid4()) if identifier is None else identifier for identifier in given]
        if not len(texts) == len(metadatas) == len(names):
            raise ValueError(
                f"found {len(texts)} texts, {len(metadatas)} metadatas and {len(names)} ids; expected equal numbers"
            )
        documents = [
            StoredDocument(id=name, text=text, metadata=json_value(metadata or {}))
            for name, text, metadata in zip(names, texts, metadatas, strict=True)
        ]
        self._collection.upsert(documents, progress=progress)
        return names

    def delete(
        self,
        ids: list[str] | None = None,
        *,
        filter: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> bool:
        """Delete documents by id, or those that a filter accepts; all of them without either.

        Missing ids are not an error.

        Raises
        ------
        TypeError
            If there are ids and a filter, or another argument.
        """
        _refuse(kwargs)
        if ids is not None and filter is not None:
            raise TypeError("found ids and a filter; expected one of them")
        if ids is None:
            ids = [document.id for document in self._collection.documents(json_value(filter))]
        self._collection.delete(ids)
        return True

    def delete_collection(self) -> None:
        """Delete the collection with all its documents; use no store of it afterwards."""
        self._home.drop(self._collection.name)

    # ----------------------------------------------------------------- reading

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """Return the documents with these ids, in the given order; missing ids are omitted."""
        return [
            Document(id=found.id, page_content=found.text, metadata=dict(found.metadata))
            for found in self._collection.get(ids)
        ]

    def similarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
        """Return the k best documents; arguments as for :meth:`similarity_search_with_score`."""
        return [document for document, _ in search(self._collection, query, k, **kwargs)]

    def similarity_search_with_score(
        self, query: str, k: int = 4, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        """Return the k best documents with their scores, best first.

        Parameters
        ----------
        query : str
        k : int
        **kwargs
            ``filter``, a metadata filter such as ``{"lang": "en", "year": {"$gte": 2020}}``, also with ``$eq``, ``$ne`` and
            ``$nin``; ``mode``, ``hybrid`` (default), ``dense`` or ``lexical``; ``min_score``; ``fusion``;
            ``pieces``, True for the pieces of long texts instead of whole documents: see
            :meth:`gem_index.Collection.search`.
        """
        return search(self._collection, query, k, **kwargs)

    def similarity_search_by_vector(
        self, embedding: list[float], k: int = 4, **kwargs: Any
    ) -> list[Document]:
        """Return the k best documents for a vector of the collection's model, with the model's ``fingerprint``.

        Arguments are those of :meth:`similarity_search_with_score`, and ``fingerprint``: that of the embeddings that made
        the vector, such as ``store.embeddings.fingerprint``.
        """
        return [document for document, _ in search(self._collection, embedding, k, **kwargs)]

    def max_marginal_relevance_search(
        self,
        query: str,
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        **kwargs: Any,
    ) -> list[Document]:
        """Return k of the ``fetch_k`` best documents, similar to the query and different from each other.

        Parameters
        ----------
        query : str
        k, fetch_k : int
        lambda_mult : float
            1 considers only the query, 0 only diversity.
        """
        vector = self._collection.encoder.encode([query])[0].tolist()
        return self._select_diverse(query, vector, k, fetch_k, lambda_mult, **kwargs)

    def max_marginal_relevance_search_by_vector(
        self,
        embedding: list[float],
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        **kwargs: Any,
    ) -> list[Document]:
        """Return k of the ``fetch_k`` best documents for a vector with its ``fingerprint``, different from each other."""
        return self._select_diverse(embedding, embedding, k, fetch_k, lambda_mult, **kwargs)

    def _select_diverse(
        self,
        query: str | list[float],
        vector: list[float],
        k: int,
        fetch_k: int,
        lambda_mult: float,
        **kwargs: Any,
    ) -> list[Document]:
        found = [document for document, _ in search(self._collection, query, fetch_k, **kwargs)]
        if not found:
            return []
        rows = self._collection.encoder.encode([document.page_content for document in found])
        # texts without words come last; their cosine would be NaN
        worded = [i for i, row in enumerate(rows) if row.any()]
        wordless = [i for i, row in enumerate(rows) if not row.any()]
        chosen = maximal_marginal_relevance(
            np.array(vector), [rows[i] for i in worded], lambda_mult, k
        )
        return [found[i] for i in [*(worded[i] for i in chosen), *wordless][:k]]

    def _select_relevance_score_fn(self) -> Callable[[float], float]:
        # a cosine below 0 means the same as 0: another subject
        return lambda score: max(0.0, score)


def _refuse(kwargs: dict[str, Any]) -> None:
    """Raise an error for arguments of other stores that this store would have to ignore."""
    if kwargs:
        raise TypeError(f"found the argument {', '.join(kwargs)}, which this store does not take")


def _choice(embedding: Embeddings | None) -> dict[str, Any]:
    """Return the word vectors and configuration with which embeddings were made."""
    if embedding is None:
        return {}
    if not isinstance(embedding, GemEmbeddings):
        raise TypeError(
            f"the embedding is a {type(embedding).__name__}; expected GemEmbeddings or None: "
            "a collection embeds its texts itself"
        )
    fitted = embedding.model is not None or embedding.collection is not None
    if embedding.vectors is None or fitted:
        raise TypeError(
            "the embedding is of a fitted model; expected GemEmbeddings of word vectors: "
            "a collection is fitted on its own texts"
        )
    (encoder,) = (
        embedding.provider.encoder.encoders
    )  # embeddings of named word vectors have one encoder
    return {"vectors": str(embedding.vectors), "config": encoder.config}


def _check_agreement(embedding: GemEmbeddings, home: Home) -> None:
    """Refuse a home that has other vectors under the same name as the embeddings."""
    (encoder,) = embedding.provider.encoder.encoders
    own = encoder.vectors.fingerprint
    found = open_vectors(str(embedding.vectors), home).fingerprint
    if found != own:
        raise FingerprintMismatchError(
            f"the embedding of the vectors {embedding.vectors}",
            own,
            found,
            f"the home {home.root} has other vectors with that name: use the home of the embeddings, or another name",
        )
