"""Convert nodes to the documents of a gem-index collection, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from llama_index.core.schema import (
    BaseNode,
    MetadataMode,
    NodeRelationship,
    RelatedNodeInfo,
    TextNode,
)
from llama_index.core.vector_stores.utils import metadata_dict_to_node, node_to_metadata_dict

from gem_index import Document
from gem_index.results import SearchResult

__all__ = ["NODE_ID", "REF_DOC_ID", "embedded_text", "from_stored", "piece_node", "to_stored"]

NODE_ID = "_node_id"
"""Metadata entry with the node's id, for filters."""
REF_DOC_ID = "ref_doc_id"
"""Metadata entry with the id of the node's source document, null without one."""
_OWN_TEXT = "_text"
"""Metadata entry with the node's own text, if it differs from the embedded text."""

_PLACE = ("parent", "piece", "start", "end")
"""Metadata that every piece has in addition to the metadata of its node."""


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


def piece_node(hit: SearchResult) -> BaseNode:
    """Return the found piece of a node, whose source is that node; the node itself if it is not divided.

    The place of the piece counts from the beginning of the node's own text. Metadata that were embedded before this text are
    removed from the piece. If the piece has only metadata, it keeps them and has no place.
    """
    node = from_stored(hit.text, hit.metadata)
    if hit.piece is None:
        return node
    text, start, end = hit.text, hit.piece.start, hit.piece.end
    own = hit.metadata.get(_OWN_TEXT)
    if own is not None:
        # LlamaIndex strips the embedded text
        blanks = len(own) - len(own.lstrip())
        before = embedded_text(node).rfind(own.strip()) - blanks
        start, end = (min(max(0, place - before), len(own)) for place in (start, end))
        text = own[start:end] or text
    row = hit.as_row()
    known = ("heading", hit.piece.heading), ("page", hit.piece.page)
    names = (*_PLACE, *(name for name, value in known if value))
    place = {name: row.metadata[name] for name in names}
    return TextNode(
        id_=row.id,
        text=text,
        metadata=node.metadata | place | {"start": start, "end": end},
        excluded_embed_metadata_keys=[*node.excluded_embed_metadata_keys, *place],
        excluded_llm_metadata_keys=[*node.excluded_llm_metadata_keys, *place],
        start_char_idx=start if start < end else None,
        end_char_idx=end if start < end else None,
        relationships={
            NodeRelationship.SOURCE: RelatedNodeInfo(
                node_id=hit.id, node_type=node.get_type(), metadata=node.metadata
            )
        },
    )
