"""A gem-index provider as a LlamaIndex node postprocessor that re-ranks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Literal

from llama_index.core.bridge.pydantic import Field, PrivateAttr
from llama_index.core.callbacks import CBEventType, EventPayload
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.events.rerank import ReRankEndEvent, ReRankStartEvent
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import MetadataMode, NodeWithScore, QueryBundle

from gem_index import GemConfig, Home, open_provider
from gem_index.home import NamedProvider

__all__ = ["GemRerank"]

dispatcher = get_dispatcher(__name__)


class GemRerank(BaseNodePostprocessor):
    """Orders nodes by the similarity of their GEM embeddings to the query's embedding, and by words if you like, best first.

    A node without words scores 0, and all nodes score 0 if the query has no words. Equal scores keep the order of the input.
    The input nodes are not changed. The fields of the provider are the arguments of :func:`gem_index.open_provider`, cannot
    be assigned, and hold the fingerprint: ``from_dict(to_dict())`` opens the same provider or raises an error.

    Parameters
    ----------
    vectors, model, collection, config, home, fingerprint, words
        As for :func:`gem_index.open_provider`; by default the bundled word vectors.
    top_n : int
        Number of nodes to return, at least 1.
    mode : {"dense", "hybrid"}
        With ``dense`` the score is the cosine. With ``hybrid`` it is that of a search by meaning and words,
        (cosine + 2.25 match) / 3.25.
    **kwargs
        Fields of the base class: ``callback_manager``.

    Raises
    ------
    GemIndexError
        If a name is unknown, or the fingerprint differs from the expected one.
    """

    vectors: str | None = Field(default=None, frozen=True, description="Word vectors, by name.")
    model: str | None = Field(default=None, frozen=True, description="A fitted model, or its file.")
    collection: str | None = Field(default=None, frozen=True, description="A collection's model.")
    config: dict[str, Any] | None = Field(
        default=None, frozen=True, description="GEM's configuration, only for word vectors."
    )
    home: str | None = Field(default=None, frozen=True, description="The home of these names.")
    fingerprint: str | None = Field(
        default=None, frozen=True, description="Identity of everything that determines a score."
    )
    words: str | None = Field(
        default=None, frozen=True, description="Word statistics for the mode hybrid."
    )
    mode: Literal["dense", "hybrid"] = Field(
        default="dense", description="By the cosine, or by meaning and words."
    )
    top_n: int = Field(default=2, gt=0, description="Number of nodes to return.")
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
        words: str | Path | None = None,
        top_n: int = 2,
        mode: Literal["dense", "hybrid"] = "dense",
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
            words=words,
        )
        super().__init__(**kwargs | provider.settings | {"top_n": top_n, "mode": mode})
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
            results = self._provider.rerank(query, texts, self.top_n, mode=self.mode)
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
        # Pickle only the fields: the base class would also pickle the provider, and open its files twice.
        return partial(type(self), **self.__getstate__()["__dict__"]), ()
