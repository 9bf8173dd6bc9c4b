"""A component that makes sparse vectors of the words of documents."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

from haystack import Document, component, default_from_dict, default_to_dict
from haystack_integrations.common.gem import EncoderFields
from haystack_integrations.common.gem.documents import check_documents, sparse_embedding, text_of

from gem_index import GemConfig

__all__ = ["GemSparseDocumentEmbedder"]


@component
class GemSparseDocumentEmbedder(EncoderFields):
    """Returns copies of documents with sparse embeddings of their words, for stores that search by meaning and words.

    The sparse embedding of a document without words is None, because stores refuse empty ones.

    Parameters
    ----------
    vectors, model, collection, config, home, fingerprint, words
        As for :func:`gem_index.open_provider`.
    meta_fields_to_embed : list of str, optional
        Metadata whose values are embedded before the content.
    embedding_separator : str
        Separator between them.
    """

    def __init__(
        self,
        vectors: str | None = None,
        *,
        model: str | Path | None = None,
        collection: str | None = None,
        config: GemConfig | dict[str, Any] | str | None = None,
        home: str | Path | None = None,
        fingerprint: str | None = None,
        words: str | Path | None = None,
        meta_fields_to_embed: list[str] | None = None,
        embedding_separator: str = "\n",
    ) -> None:
        EncoderFields.__init__(  # Haystack creates the class a second time, and super() would refer to the first one
            self,
            vectors,
            model=model,
            collection=collection,
            config=config,
            home=home,
            fingerprint=fingerprint,
            words=words,
        )
        self.meta_fields_to_embed = meta_fields_to_embed or []
        self.embedding_separator = embedding_separator

    @component.output_types(documents=list[Document])
    def run(self, documents: list[Document]) -> dict[str, list[Document]]:
        """Embed documents.

        Raises
        ------
        TypeError
            If they are not a list of Documents: for a text use GemSparseTextEmbedder.
        """
        check_documents(documents, "GemSparseDocumentEmbedder", "GemSparseTextEmbedder")
        texts = [
            text_of(document, self.meta_fields_to_embed, self.embedding_separator)
            for document in documents
        ]
        vectors = self.provider.embed_sparse_documents(texts)
        return {
            "documents": [
                replace(document, sparse_embedding=sparse_embedding(vector))
                for document, vector in zip(documents, vectors, strict=True)
            ]
        }

    @component.output_types(documents=list[Document])
    async def run_async(self, documents: list[Document]) -> dict[str, list[Document]]:
        """Embed documents in another thread."""
        return await asyncio.to_thread(self.run, documents)

    def to_dict(self) -> dict[str, Any]:
        """Return the component's data for a saved pipeline."""
        saved: dict[str, Any] = default_to_dict(
            self,
            **self.settings,
            meta_fields_to_embed=self.meta_fields_to_embed,
            embedding_separator=self.embedding_separator,
        )
        return saved

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> GemSparseDocumentEmbedder:
        """Create a component from its saved data."""
        loaded: GemSparseDocumentEmbedder = default_from_dict(cls, data)
        return loaded
