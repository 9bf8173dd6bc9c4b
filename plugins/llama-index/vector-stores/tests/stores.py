"""Texts and helpers that the tests of GemVectorStore share."""

from __future__ import annotations

from llama_index.core.schema import (
    NodeRelationship,
    RelatedNodeInfo,
    TextNode,
)
from llama_index.core.vector_stores import (
    FilterCondition,
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
)

SMALL = {"removed": 1, "components": 3}
TEXTS = {
    "visa": "how do I renew a visa?",
    "visa2": "how do I renew my visa?",
    "bank": "where can I open a bank account?",
    "school": "is the school open today?",
    "tea": "how long does tea keep in the cup?",
}


def of(*documents: str, **metadata: dict[str, object]) -> list[TextNode]:
    """Return the nodes of TEXTS, each with its source document, if one is given."""
    sources = dict(zip(TEXTS, documents, strict=False))
    nodes = []
    for name, text in TEXTS.items():
        node = TextNode(id_=name, text=text, metadata=metadata.get(name, {}))
        node.excluded_embed_metadata_keys = list(node.metadata)
        if name in sources:
            source = RelatedNodeInfo(node_id=sources[name])
            node.relationships[NodeRelationship.SOURCE] = source
        nodes.append(node)
    return nodes


def ids(nodes: object) -> list[str]:
    return [node.node_id for node in nodes]


def filters(*conditions: object, condition: str = "and") -> MetadataFilters:
    return MetadataFilters(
        filters=[
            each
            if isinstance(each, MetadataFilters)
            else MetadataFilter(key=each[0], operator=FilterOperator(each[1]), value=each[2])
            for each in conditions
        ],
        condition=FilterCondition(condition),
    )
