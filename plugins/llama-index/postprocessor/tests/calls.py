"""Calls of the adapter, in a module that a spawned child can import."""

from __future__ import annotations

from llama_index.core.schema import NodeWithScore, TextNode
from llama_index.postprocessor.gem import GemRerank


def nodes_of(texts: list[str]) -> list[NodeWithScore]:
    """Return nodes whose ids are their places."""
    return [NodeWithScore(node=TextNode(id_=str(i), text=text)) for i, text in enumerate(texts)]


def ranking(adapter: GemRerank, query: str, texts: list[str]) -> list[tuple[int, float]]:
    """Return (place in the input, score), best first."""
    hits = adapter.postprocess_nodes(nodes_of(texts), query_str=query)
    return [(int(hit.node.node_id), hit.score) for hit in hits]
