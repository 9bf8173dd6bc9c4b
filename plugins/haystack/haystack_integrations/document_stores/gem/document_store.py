"""A collection of gem-index as a document store."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from haystack import Document, default_from_dict, default_to_dict
from haystack.document_stores.errors import DuplicateDocumentError
from haystack.document_stores.types import DuplicatePolicy
from haystack.errors import FilterError
from haystack_integrations.document_stores.gem.filters import as_where

from gem_index import Collection, GemConfig, Home
from gem_index import Document as StoredDocument
from gem_index.errors import EmptyTextError, ExistingIdError
from gem_index.errors import FilterError as WhereError
from gem_index.progress import ProgressOption
from gem_index.results import SearchResult

__all__ = ["GemDocumentStore"]

_REST = "_haystack"
"""The metadata entry for all parts of a Haystack document except content and metadata."""


class GemDocumentStore:
    """Documents in a collection: on disk when a call returns, embedded by the collection's own model.

    Embeddings in documents are stored and returned, but not searched. The collection is opened, or created if it does not
    exist, on first use.

    Parameters
    ----------
    collection : str
    vectors : str, optional
        Word vectors of a new collection; those of an existing one must be the same.
    config : GemConfig, dict of its fields or name of a preset, optional
        Configuration, likewise.
    home : str or Path, optional
        The home of the collection; by default gem-index's default home.

    Raises
    ------
    FingerprintMismatchError, ConfigError
        When the collection is opened and has other vectors, or another configuration.
    """

    def __init__(
        self,
        collection: str = "haystack",
        *,
        vectors: str | None = None,
        config: GemConfig | dict[str, Any] | str | None = None,
        home: str | Path | None = None,
    ) -> None:
        self._name = collection
        self._vectors = vectors
        self._config = None if config is None else _fields(config)
        self._home = home
        self._opened: Collection | None = None

    def __repr__(self) -> str:
        home = "" if self._home is None else f", home={str(self._home)!r}"
        return f"{type(self).__name__}({self._name!r}{home})"

    @property
    def collection(self) -> Collection:
        """The collection, for operations that Haystack does not have: refit, verify, export, status."""
        if self._opened is None:
            self._opened = Home(self._home).get_or_create_collection(
                self._name, vectors=self._vectors, config=self._config
            )
        return self._opened

    def to_dict(self) -> dict[str, Any]:
        """Return the store's data for a saved pipeline, without the documents, which stay in the collection."""
        saved: dict[str, Any] = default_to_dict(
            self,
            collection=self._name,
            vectors=self._vectors,
            config=self._config,
            home=None if self._home is None else str(self._home),
        )
        return saved

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> GemDocumentStore:
        """Create a store from its saved data."""
        loaded: GemDocumentStore = default_from_dict(cls, data)
        return loaded

    # ----------------------------------------------------------------- writing

    def write_documents(
        self,
        documents: list[Document],
        policy: DuplicatePolicy = DuplicatePolicy.NONE,
        *,
        progress: ProgressOption = None,
    ) -> int:
        """Store documents in one transaction; they are durable when this returns.

        Parameters
        ----------
        documents : list of Document
            Metadata are JSON values.
        policy : DuplicatePolicy
            How to treat documents whose id is already stored; ``NONE`` means ``FAIL``.
        progress : bool or callable, optional
            True for a bar on standard error; a function is called with stage, done and total.

        Returns
        -------
        int
            Number of documents written.

        Raises
        ------
        DuplicateDocumentError
            If an id is already stored and the policy is ``FAIL``; nothing is stored then.
        ValueError
            If the input is not a list of Documents, or metadata use the name ``_haystack``.
        """
        if not isinstance(documents, list) or not all(
            isinstance(document, Document) for document in documents
        ):
            raise ValueError("found something other than Documents; expected a list of Documents")
        if (
            policy == DuplicatePolicy.OVERWRITE
        ):  # of two documents with the same id, the last is stored with this policy, else the first
            once = {document.id: document for document in documents}
            ordered = [_to_stored(document) for document in once.values()]
            report = self.collection.upsert(ordered, progress=progress)
            return report.added + report.updated + report.unchanged
        once = {document.id: document for document in reversed(documents)}
        ordered = [_to_stored(document) for document in reversed(once.values())]
        if policy == DuplicatePolicy.SKIP:
            return self.collection.upsert(ordered, on_existing="keep", progress=progress).added
        if len(once) < len(documents):
            raise DuplicateDocumentError(
                f"found {len(documents) - len(once)} documents with the id of another document in the call; "
                "expected each id once, or the policy SKIP or OVERWRITE"
            )
        try:
            return self.collection.upsert(ordered, on_existing="refuse", progress=progress).added
        except ExistingIdError as error:
            raise DuplicateDocumentError(
                f"{error} (the policies SKIP and OVERWRITE allow stored ids)"
            ) from error

    def delete_documents(self, document_ids: list[str]) -> None:
        """Delete documents by id; missing ids are not an error."""
        self.collection.delete(document_ids)

    def delete_all_documents(self) -> None:
        """Delete all documents; the collection stays."""
        self.delete_by_filter(None)

    def delete_by_filter(self, filters: dict[str, Any] | None) -> int:
        """Delete the documents that a filter accepts; return their number."""
        return self.collection.delete([found.id for found in self._select(filters)]).deleted

    def update_by_filter(self, filters: dict[str, Any] | None, meta: dict[str, Any]) -> int:
        """Set metadata of the documents that a filter accepts; return their number.

        They are read, then written: changes that another process makes in between are lost.
        """
        if _REST in meta:
            raise ValueError(f"the metadata hold {_REST!r}; expected another name")
        changed = [
            StoredDocument(id=found.id, text=found.text, metadata={**found.metadata, **meta})
            for found in self._select(filters)
        ]
        self.collection.upsert(changed)
        return len(changed)

    # ----------------------------------------------------------------- reading

    def count_documents(self) -> int:
        """Return how many documents there are."""
        return self.collection.count()

    def count_documents_by_filter(self, filters: dict[str, Any]) -> int:
        """Return the number of documents that a filter accepts."""
        with _translate_errors():
            return self.collection.count(as_where(filters))

    def filter_documents(self, filters: dict[str, Any] | None = None) -> list[Document]:
        """Return the documents that a filter accepts, in the order of their last change.

        Raises
        ------
        FilterError
            If the filter is malformed.
        """
        return [
            _from_stored(found.id, found.text, dict(found.metadata))
            for found in self._select(filters)
        ]

    def search(
        self,
        query: str,
        *,
        filters: dict[str, Any] | None = None,
        top_k: int = 10,
        mode: str = "hybrid",
        min_score: float | None = None,
        pieces: bool = False,
    ) -> list[Document]:
        """Return the best documents for a query with their scores; none if the query has no words.

        Parameters are those of ``GemRetriever``.
        """
        try:
            with _translate_errors():
                hits = self.collection.search(
                    query,
                    top_k,
                    as_where(filters),
                    mode=mode,
                    min_score=min_score,
                    pieces=pieces,
                )
        except EmptyTextError:
            return []
        return [_from_hit(hit, pieces) for hit in hits]

    def _select(self, filters: dict[str, Any] | None) -> list[StoredDocument]:
        with _translate_errors():
            return list(self.collection.documents(as_where(filters)))

    # ---------------------------------------------------- in another thread

    async def count_documents_async(self) -> int:
        """Return how many documents there are."""
        return await asyncio.to_thread(self.count_documents)

    async def filter_documents_async(self, filters: dict[str, Any] | None = None) -> list[Document]:
        """Return the documents that a filter accepts."""
        return await asyncio.to_thread(self.filter_documents, filters)

    async def write_documents_async(
        self,
        documents: list[Document],
        policy: DuplicatePolicy = DuplicatePolicy.NONE,
        *,
        progress: ProgressOption = None,
    ) -> int:
        """Store documents; see :meth:`write_documents`."""
        return await asyncio.to_thread(self.write_documents, documents, policy, progress=progress)

    async def delete_documents_async(self, document_ids: list[str]) -> None:
        """Delete documents by id."""
        await asyncio.to_thread(self.delete_documents, document_ids)


def _fields(config: GemConfig | dict[str, Any] | str) -> dict[str, Any]:
    """Return a configuration to save; a dict keeps only its fields, which override the defaults for the vectors."""
    checked = GemConfig.of(config)
    return dict(config) if isinstance(config, dict) else checked.to_fields()


@contextmanager
def _translate_errors() -> Iterator[None]:
    try:
        yield
    except WhereError as error:
        raise FilterError(str(error)) from error


def _to_stored(document: Document) -> StoredDocument:
    """Return a document for the collection: text, metadata, and the other parts in an entry of the metadata."""
    if _REST in document.meta:
        raise ValueError(f"the metadata of {document.id} hold {_REST!r}; expected another name")
    fields = document.to_dict(flatten=False)
    rest = {
        name: value
        for name, value in fields.items()
        if name not in ("id", "content", "meta", "score") and value is not None
    }
    if document.content is None:
        rest["content"] = None
    metadata = {**document.meta, _REST: rest} if rest else document.meta
    return StoredDocument(id=document.id, text=document.content or "", metadata=metadata)


def _from_hit(hit: SearchResult, pieces: bool) -> Document:
    """Return a found document, or its piece without the parts that belong to the whole document, such as an embedding."""
    if not pieces or hit.piece is None:
        return _from_stored(hit.id, hit.text, dict(hit.metadata), hit.score)
    row = hit.as_row()
    metadata = {name: value for name, value in row.metadata.items() if name != _REST}
    return _from_stored(row.id, row.text, metadata, row.score)


def _from_stored(
    identifier: str, text: str, metadata: dict[str, Any], score: float | None = None
) -> Document:
    rest = metadata.pop(_REST, {})
    return Document.from_dict(
        {"content": text, **rest, "id": identifier, "meta": metadata, "score": score}
    )
