"""Convert nodes to the documents of a gem-index collection, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from llama_index.core.schema import BaseNode, MetadataMode
from llama_index.core.vector_stores.utils import metadata_dict_to_node, node_to_metadata_dict

from gem_index import Document

__all__ = ["NODE_ID", "REF_DOC_ID", "embedded_text", "from_stored", "to_stored"]

NODE_ID = "_node_id"
"""Metadata entry with the node's id, for filters."""
REF_DOC_ID = "ref_doc_id"
"""Metadata entry with the id of the node's source document, null without one."""
_OWN_TEXT = "_text"
"""Metadata entry with the node's own text, if it differs from the embedded text."""


def embedded_text(node: BaseNode) -> str:
    """Return the text of a node that LlamaIndex embeds: its text, with the metadata that are not excluded."""
    return node.get_content(MetadataMode.EMBED)


def to_stored(node: BaseNode) -> Document:
    """Return a node as a document: the embedded text, its metadata for filters, and the rest of the node."""
    metadata = node_to_metadata_dict(node, remove_text=True)
    # LlamaIndex writes the text "None" if there is no source
    metadata |= dict.fromkeys(("document_id", "doc_id", REF_DOC_ID), node.ref_doc_id)
    metadata[NODE_ID] = node.node_id
    text, own = embedded_text(node), node.get_content(MetadataMode.NONE)
    if own != text:
        metadata[_OWN_TEXT] = own
    return Document(id=node.node_id, text=text, metadata=metadata)


def from_stored(text: str, metadata: Mapping[str, Any]) -> BaseNode:
    """Return the node that was stored, without an embedding."""
    return metadata_dict_to_node(dict(metadata), metadata.get(_OWN_TEXT, text))
