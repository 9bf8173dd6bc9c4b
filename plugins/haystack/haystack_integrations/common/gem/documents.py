"""The texts of documents that are embedded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from haystack import Document
from haystack.dataclasses import SparseEmbedding

from gem_index.sparse import SparseVector

__all__ = ["check_documents", "sparse_embedding", "text_of"]


def check_documents(documents: Any, component: str, for_a_string: str) -> None:
    """Refuse anything but a list of documents.

    Raises
    ------
    TypeError
        If it is something else; the message names the component for a string.
    """
    if not isinstance(documents, list) or not all(
        isinstance(document, Document) for document in documents
    ):
        raise TypeError(
            f"{component} found {str(documents)[:60]!r}; expected a list of Documents: "
            f"for a string use {for_a_string}"
        )


def text_of(document: Document, meta_fields: Sequence[str], separator: str) -> str:
    """Return the text to embed: the values of some metadata fields, and the content."""
    values = (document.meta.get(name) for name in meta_fields)
    parts = [str(value) for value in values if value is not None]
    return separator.join([*parts, document.content or ""])


def sparse_embedding(vector: SparseVector) -> SparseEmbedding | None:
    """Return the sparse embedding of a document; None if it has no words, because stores refuse empty ones."""
    if not len(vector.indices):
        return None
    return SparseEmbedding(vector.indices.tolist(), vector.values.tolist())
