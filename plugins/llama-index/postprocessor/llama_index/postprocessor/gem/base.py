"""The re-ranker: a gem-index provider behind LlamaIndex's interface of node postprocessors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from llama_index.core.bridge.pydantic import Field, PrivateAttr
from llama_index.core.callbacks import CBEventType, EventPayload
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.events.rerank import ReRankEndEvent, ReRankStartEvent
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import MetadataMode, NodeWithScore, QueryBundle

from gem_index import GemConfig, Home, NamedProvider, open_provider, rerank

__all__ = ["GemRerank"]

dispatcher = get_dispatcher(__name__)


class GemRerank(BaseNodePostprocessor):
    """Orders nodes by the cosine of their GEM embedding with the query's, best first.

    A node without words scores 0, and so do all where the query has none. Equal scores keep the order of the input. The
    nodes given are not changed. The fields of the provider are the arguments of :func:`gem_index.open_provider`, cannot be
    assigned, and hold the fingerprint of what was opened: ``from_dict(to_dict())`` opens the same provider or refuses.

    Parameters
    ----------
    vectors, model, collection, config, home, fingerprint
        As :func:`gem_index.open_provider` takes them; the bundled word vectors where nothing is named.
    top_n : int
        How many nodes are returned, at least 1.
    **kwargs
        Fields of the base class: ``callback_manager``.

    Raises
    ------
    GemIndexError
        If a name is unknown, or the fingerprint is not that of what was opened.
    """

    vectors: str | None = Field(default=None, frozen=True, description="Word vectors, by name.")
    model: str | None = Field(default=None, frozen=True, description="A fitted model, or its file.")
    collection: str | None = Field(default=None, frozen=True, description="Whose model it is.")
    config: dict[str, Any] | None = Field(
        default=None, frozen=True, description="GEM's configuration, for word vectors alone."
    )
    home: str | None = Field(default=None, frozen=True, description="Where names are looked up.")
    fingerprint: str | None = Field(
        default=None, frozen=True, description="Identity of everything that decides a score."
    )
    top_n: int = Field(default=2, gt=0, description="How many nodes are returned.")
    _provider: NamedProvider = PrivateAttr()

    def __init__(
        self,
        vectors: str | None = None,
        *,
        model: str | Path | None = None,
        collection: str | None = None,
        config: GemConfig | Mapping[str, Any] | str | None = None,
        home: Home | str | Path | None = None,
        fingerprint: str | None = None,
        top_n: int = 2,
        **kwargs: Any,
    ) -> None:
        unknown = set(kwargs) - set(type(self).model_fields) - {"class_name"}
        if unknown:
            raise TypeError(
                f"found the argument {', '.join(sorted(unknown))}, which {self.class_name()} does not take"
            )
        provider = open_provider(
            vectors,
            model=model,
            collection=collection,
            config=config,
            home=home,
            fingerprint=fingerprint,
        )
        super().__init__(**kwargs | provider.settings | {"top_n": top_n})
        self._provider = provider

    @classmethod
    def class_name(cls) -> str:
        """Return the name that serialised components carry."""
        return "GemRerank"

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        if query_bundle is None:
            raise ValueError(
                "found no query; expected one to compare the nodes with: pass query_str or query_bundle"
            )
        if not nodes:
            return []
        query, name = query_bundle.query_str, f"gem:{self.collection or self.model or self.vectors}"
        dispatcher.event(
            ReRankStartEvent(query=query_bundle, nodes=nodes, top_n=self.top_n, model_name=name)
        )
        payload: dict[str, Any] = {
            EventPayload.NODES: nodes,
            EventPayload.MODEL_NAME: name,
            EventPayload.QUERY_STR: query,
            EventPayload.TOP_K: self.top_n,
        }
        with self.callback_manager.event(CBEventType.RERANKING, payload=payload) as event:
            texts = [node.node.get_content(MetadataMode.EMBED) for node in nodes]
            results = rerank(query, texts, self._provider.encoder, self.top_n)
            ranked = [NodeWithScore(node=nodes[r.index].node, score=r.score) for r in results]
            event.on_end(payload={EventPayload.NODES: ranked})
        dispatcher.event(ReRankEndEvent(nodes=ranked))
        return ranked

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        for name in ("vectors", "model", "collection", "home", "top_n"):
            if getattr(self, name) is not None:
                yield name, getattr(self, name)
        yield "fingerprint", str(self.fingerprint)[:12]

    def __reduce__(self) -> tuple[Any, ...]:
        # The fields alone: the base class would also pickle the provider, and open its files twice.
        return partial(type(self), **self.__getstate__()["__dict__"]), ()
