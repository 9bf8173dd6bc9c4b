"""A gem-index collection as a LlamaIndex vector store."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
from llama_index.core.bridge.pydantic import Field, PrivateAttr
from llama_index.core.schema import BaseNode
from llama_index.core.vector_stores.types import (
    BasePydanticVectorStore,
    MetadataFilters,
    VectorStoreQuery,
    VectorStoreQueryMode,
    VectorStoreQueryResult,
)
from llama_index.embeddings.gem import GemEmbedding
from llama_index.vector_stores.gem.diversity import Diversity
from llama_index.vector_stores.gem.filters import as_where
from llama_index.vector_stores.gem.nodes import (
    NODE_ID,
    REF_DOC_ID,
    embedded_text,
    from_stored,
    piece_node,
    to_stored,
)

from gem_index import Collection, Document, GemConfig, Home
from gem_index.errors import EmptyTextError, FingerprintMismatchError
from gem_index.progress import ProgressOption

__all__ = ["GemVectorStore"]

_MODES = {
    VectorStoreQueryMode.DEFAULT: None,  # depends on the query: hybrid for a text, dense for a vector
    VectorStoreQueryMode.HYBRID: "hybrid",
    VectorStoreQueryMode.SPARSE: "lexical",
    VectorStoreQueryMode.TEXT_SEARCH: "lexical",
    VectorStoreQueryMode.MMR: None,
}
_BY_EMBEDDING = (VectorStoreQueryMode.DEFAULT, VectorStoreQueryMode.MMR)
_UNSUPPORTED_FIELDS = (
    "output_fields",
    "embedding_field",
    "alpha",
    "sparse_top_k",
    "hybrid_top_k",
)


class GemVectorStore(BasePydanticVectorStore):
    """Nodes in a collection: durable when a call returns, embedded by the collection's own model.

    The collection embeds texts and queries itself, so a retriever passes it the query's text. LlamaIndex embeds nodes before
    it adds them, and must do that with :attr:`embed_model`: other embeddings of the nodes' texts are refused. Scores are at
    most 1, the higher the better: for a text those of hybrid search, for an embedding cosines. A query without words finds
    nothing.

    Parameters
    ----------
    collection : str
        Opened if it exists, created otherwise.
    vectors : str, optional
        Word vectors of a new collection; those of an existing one must be the same.
    config : GemConfig, mapping of its fields, or name of a preset, optional
        Configuration, likewise.
    home : Home, str or Path, optional
        The home of the collection; by default the default home.

    Raises
    ------
    FingerprintMismatchError, ConfigError
        If an existing collection has other vectors, or another configuration.

    Examples
    --------
    >>> store = GemVectorStore("notes", home="my-home")  # doctest: +SKIP
    >>> index = VectorStoreIndex.from_vector_store(store, embed_model=store.embed_model)  # doctest: +SKIP
    """

    stores_text: Literal[True] = True
    is_embedding_query: Literal[False] = False

    collection: str = Field(frozen=True, description="Name of the collection.")
    vectors: str | None = Field(default=None, frozen=True, description="Its word vectors.")
    config: dict[str, Any] | None = Field(
        default=None, frozen=True, description="GEM's configuration."
    )
    home: str | None = Field(default=None, frozen=True, description="The home of the collection.")
    _home: Home = PrivateAttr()
    _collection: Collection = PrivateAttr()
    _embed_model: GemEmbedding | None = PrivateAttr(default=None)

    def __init__(
        self,
        collection: str = "llama-index",
        *,
        vectors: str | None = None,
        config: GemConfig | Mapping[str, Any] | str | None = None,
        home: Home | str | Path | None = None,
        **kwargs: Any,
    ) -> None:
        _refuse(set(kwargs) - {"stores_text", "is_embedding_query", "class_name"})
        opened = home if isinstance(home, Home) else Home(home)
        fields = {
            "collection": collection,
            "vectors": vectors,
            "config": None if config is None else _fields(config),
            "home": None if home is None else str(opened.root.absolute()),
        }
        super().__init__(**fields | kwargs)
        self._home = opened
        self._collection = opened.get_or_create_collection(
            collection, vectors=vectors, config=config
        )

    @classmethod
    def class_name(cls) -> str:
        """Return the name that serialised components carry."""
        return "GemVectorStore"

    @property
    def client(self) -> Collection:
        """The collection, for operations that LlamaIndex does not have: refit, verify, export, status."""
        return self._collection

    @property
    def embed_model(self) -> GemEmbedding:
        """Embeddings of the collection's current model, for the index or the pipeline that fills the store."""
        fingerprint = self._collection.encoder.fingerprint
        if self._embed_model is None or self._embed_model.fingerprint != fingerprint:
            self._embed_model = GemEmbedding(collection=self.collection, home=self._home)
        return self._embed_model

    # ----------------------------------------------------------------- writing

    def add(self, nodes: Sequence[BaseNode], **kwargs: Any) -> list[str]:
        """Store nodes, or replace those with the same id, in one transaction; durable and searchable on return.

        Parameters
        ----------
        nodes : sequence of BaseNode
        **kwargs
            ``progress``: True for a bar on standard error; a function is called with stage, done and total.
            ``index.insert_nodes(nodes, progress=True)`` passes it on.

        Returns
        -------
        list of str
            The ids.

        Raises
        ------
        FingerprintMismatchError
            If a node has an embedding that differs from the one of the collection's model; nothing is stored then.
        DuplicateIdError
            If an id occurs twice in the call; nothing is stored then.
        """
        progress: ProgressOption = kwargs.pop("progress", None)
        _refuse(kwargs)
        self._check_embeddings(nodes, progress)
        self._collection.upsert([to_stored(node) for node in nodes], progress=progress)
        return [node.node_id for node in nodes]

    def delete(self, ref_doc_id: str, **delete_kwargs: Any) -> None:
        """Delete the nodes of a source document; a missing one is not an error."""
        _refuse(delete_kwargs)
        self._delete(self._collection.documents({REF_DOC_ID: ref_doc_id}))

    def delete_nodes(
        self,
        node_ids: list[str] | None = None,
        filters: MetadataFilters | None = None,
        **delete_kwargs: Any,
    ) -> None:
        """Delete nodes by id, by filters, or by both; missing ids are not an error.

        Raises
        ------
        TypeError
            If there are neither ids nor filters: :meth:`clear` deletes all nodes.
        """
        _refuse(delete_kwargs)
        if node_ids is None and filters is None:
            raise TypeError("found neither ids nor filters; expected one of them, or clear()")
        self._delete(self._select(node_ids, filters))

    def clear(self) -> None:
        """Delete all nodes; the collection and its model stay."""
        self._delete(self._collection.documents())

    def _delete(self, documents: Iterable[Document]) -> None:
        self._collection.delete([document.id for document in documents])

    def _check_embeddings(self, nodes: Sequence[BaseNode], progress: ProgressOption) -> None:
        """Refuse embeddings of another model: a collection compares only vectors of its own model."""
        given = [node for node in nodes if node.embedding is not None]
        if not given:
            return
        encoder = self._collection.encoder
        rows = encoder.encode([embedded_text(node) for node in given], progress=progress)
        for node, row in zip(given, rows, strict=True):
            if not _same(node.embedding, row):
                raise FingerprintMismatchError(
                    f"the collection {self.collection}",
                    encoder.fingerprint,
                    "others",
                    f"the embedding of the node {node.node_id!r} is not this model's embedding of its text: embed with "
                    "embed_model=store.embed_model (after a refit take it again), or omit embeddings",
                    kind="encoder",
                )

    # ----------------------------------------------------------------- reading

    def get_nodes(
        self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None
    ) -> list[BaseNode]:
        """Return nodes by id, in the given order, by filters, or by both; all nodes without either.

        Missing ids are omitted.
        """
        return [from_stored(each.text, each.metadata) for each in self._select(node_ids, filters)]

    def query(self, query: VectorStoreQuery, **kwargs: Any) -> VectorStoreQueryResult:
        """Return the best nodes for a query.

        Parameters
        ----------
        query : VectorStoreQuery
            With a text, or in the modes ``default`` and ``mmr`` an embedding; ``filters``, ``doc_ids``, ``node_ids`` and
            ``similarity_top_k``. The mode ``default`` searches by meaning and words (an embedding: by meaning), ``sparse``
            and ``text_search`` by words (BM25), ``hybrid`` by both. The mode ``mmr`` searches as ``default`` for more nodes,
            and selects those that are similar to the query and different from each other.
        **kwargs
            ``mode``: ``dense``, ``lexical`` or ``hybrid``, as in :meth:`gem_index.Collection.search`, instead of the query's
            mode ``default``; ``min_score``: only nodes with at least this score; ``fingerprint``: that of the model that
            made the query's embedding; ``pieces``: True for the pieces of long nodes instead of whole ones, each a
            ``TextNode`` with ``start_char_idx`` and ``end_char_idx``, whose source is its node, and which has ``parent``,
            ``piece``, ``start``, ``end`` and ``heading`` in its metadata. In the mode ``mmr``: ``mmr_threshold`` from 0
            (different from each other) to 1 (similar to the query), by default 0.5, and ``mmr_prefetch_factor``, how many
            times as many nodes are searched, by default 4. A retriever takes them as ``vector_store_kwargs``.

        Raises
        ------
        FingerprintMismatchError
            If the query's embedding is of another model: its fingerprint differs or, without a fingerprint, the embedding
            is not the collection's embedding of the query's text.
        ValueError
            If the query has neither text nor embedding, an unsupported mode, or a field that this store does not support.
        FilterError
            If a filter cannot be expressed.
        """
        fingerprint, min_score = kwargs.pop("fingerprint", None), kwargs.pop("min_score", None)
        mode, pieces = kwargs.pop("mode", None), kwargs.pop("pieces", False)
        diversity = Diversity.of(query, kwargs)
        _refuse(kwargs)
        if mode is not None and query.mode != VectorStoreQueryMode.DEFAULT:
            raise ValueError(
                f"found the mode {mode!r} and the query's mode {VectorStoreQueryMode(query.mode).value!r}; "
                "expected one of them"
            )
        unsupported = [name for name in _UNSUPPORTED_FIELDS if getattr(query, name) is not None]
        if unsupported or query.mode not in _MODES:
            found = ", ".join(unsupported) or f"the mode {VectorStoreQueryMode(query.mode).value!r}"
            raise ValueError(
                f"found {found}; expected one of the modes {', '.join(mode.value for mode in _MODES)}, with "
                "similarity_top_k, filters, doc_ids and node_ids"
            )
        where: dict[str, Any] = {"$and": [as_where(query.filters)]}
        for key, among in ((REF_DOC_ID, query.doc_ids), (NODE_ID, query.node_ids)):
            if among:  # LlamaIndex's retrievers pass an empty list for no restriction
                where["$and"].append({key: {"$in": among}})
        question = self._question(query, fingerprint)
        try:
            hits: Sequence[Any] = self._collection.search(
                question,
                query.similarity_top_k if diversity is None else diversity.searched,
                where,
                mode=mode or _MODES[query.mode],
                min_score=min_score,
                pieces=pieces,
                fingerprint=None if isinstance(question, str) else fingerprint,
            )
        except EmptyTextError:
            hits = []
        if diversity is not None:
            hits = diversity.select(self._collection, question, hits, query.similarity_top_k)
        nodes = [piece_node(hit) if pieces else from_stored(hit.text, hit.metadata) for hit in hits]
        return VectorStoreQueryResult(
            nodes=nodes,
            similarities=[hit.score for hit in hits],
            ids=[node.node_id for node in nodes],
        )

    def _question(self, query: VectorStoreQuery, fingerprint: str | None) -> Any:
        """Return the text to search for, or an embedding of the collection's own model."""
        embedding, text = query.query_embedding, query.query_str
        if embedding is not None:
            encoder = self._collection.encoder
            own = encoder.fingerprint
            proven = text is not None and _same(embedding, encoder.encode([text])[0])
            if fingerprint != own if fingerprint else not proven:
                raise FingerprintMismatchError(
                    f"the collection {self.collection}",
                    own,
                    fingerprint or "others",
                    "the query has an embedding of another model, or one without a fingerprint: query by text, or pass "
                    "fingerprint=embed_model.fingerprint (a retriever takes it in vector_store_kwargs)",
                    kind="encoder",
                )
            if query.mode in _BY_EMBEDDING and not proven:
                return embedding
        if text is None:
            raise ValueError(
                "found no text of the query; expected query_str, or in the modes default and mmr query_embedding"
            )
        return text

    def _select(
        self, node_ids: list[str] | None, filters: MetadataFilters | None
    ) -> Iterator[Document]:
        accepted = None if filters is None else as_where(filters)
        if node_ids is None:
            return self._collection.documents(accepted)
        found = self._collection.get(node_ids)
        if accepted:
            both = {"$and": [accepted, {NODE_ID: {"$in": list(node_ids)}}]}
            kept = {document.id for document in self._collection.documents(both)}
            found = [document for document in found if document.id in kept]
        return iter(found)

    # ---------------------------------------------------- in another thread

    async def async_add(self, nodes: Sequence[BaseNode], **kwargs: Any) -> list[str]:
        """Store nodes; see :meth:`add`."""
        return await asyncio.to_thread(self.add, nodes, **kwargs)

    async def adelete(self, ref_doc_id: str, **delete_kwargs: Any) -> None:
        """Delete the nodes of a source document."""
        await asyncio.to_thread(self.delete, ref_doc_id, **delete_kwargs)

    async def adelete_nodes(
        self,
        node_ids: list[str] | None = None,
        filters: MetadataFilters | None = None,
        **delete_kwargs: Any,
    ) -> None:
        """Delete nodes; see :meth:`delete_nodes`."""
        await asyncio.to_thread(self.delete_nodes, node_ids, filters, **delete_kwargs)

    async def aclear(self) -> None:
        """Delete all nodes."""
        await asyncio.to_thread(self.clear)

    async def aget_nodes(
        self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None
    ) -> list[BaseNode]:
        """Return nodes; see :meth:`get_nodes`."""
        return await asyncio.to_thread(self.get_nodes, node_ids, filters)

    async def aquery(self, query: VectorStoreQuery, **kwargs: Any) -> VectorStoreQueryResult:
        """Return the best nodes for a query; see :meth:`query`."""
        return await asyncio.to_thread(self.query, query, **kwargs)

    # ------------------------------------------------------------------- saved

    def __reduce__(self) -> tuple[Any, ...]:
        # Pickle only the fields: unpickling opens the collection.
        return partial(type(self), **self.__getstate__()["__dict__"]), ()

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        yield None, self.collection
        for name in ("vectors", "config", "home"):
            if getattr(self, name) is not None:
                yield name, getattr(self, name)


def _fields(config: GemConfig | Mapping[str, Any] | str) -> dict[str, Any]:
    """Return a configuration to save; a mapping keeps only its fields, which override the defaults for the vectors."""
    checked = GemConfig.of(config)
    return dict(config) if isinstance(config, Mapping) else checked.to_fields()


def _refuse(names: Iterable[str]) -> None:
    """Raise an error for arguments of other stores that this store would have to ignore."""
    if names:
        raise TypeError(
            f"found the argument {', '.join(sorted(names))}, which this store does not take"
        )


def _same(embedding: Sequence[float] | None, row: np.ndarray[Any, Any]) -> bool:
    found = np.asarray(embedding, dtype=np.float32)
    return found.shape == row.shape and bool(np.allclose(found, row, rtol=0, atol=1e-5))
