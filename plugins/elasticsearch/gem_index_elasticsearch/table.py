"""One index: id, text, metadata and vector."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from gem_index.errors import RejectedDocumentsError, TargetUnavailableError
from gem_index.targets import (
    Condition,
    Neighbor,
    SparseVector,
    TargetBatch,
    TargetDocument,
    TargetSchema,
)
from gem_index_elasticsearch.documents import from_hit, key_of, to_source
from gem_index_elasticsearch.engines import Engine, cosine
from gem_index_elasticsearch.queries import filters_of, match_query

__all__ = ["IndexTable"]

_AGAIN = frozenset((429, 503))  # statuses of a single action of a bulk request


class IndexTable:
    """An index that the server searches by its HNSW graph.

    Parameters
    ----------
    engine : Engine
    shown : str
        The target without secrets.
    index : str
        The index itself.
    alias : str
        The alias for writing: a bulk request to the name of a deleted index would create the index again.
    schema : TargetSchema
    """

    def __init__(
        self, engine: Engine, shown: str, index: str, alias: str, schema: TargetSchema
    ) -> None:
        self._engine = engine
        self._shown = shown
        self.index = index
        self._alias = alias
        self._filters: list[dict[str, Any]] = []
        self.schema = schema

    def narrowed(self, conditions: Sequence[Condition]) -> Self:
        """Return the same table, whose ``query`` and ``match`` find rows that meet the conditions that fit the mapping."""
        narrowed = copy(self)
        answer = self._engine.request("GET", f"/{self.index}/_mapping") or {self.index: {}}
        properties = answer[self.index].get("mappings", {}).get("properties", {})
        narrowed._filters = filters_of(conditions, properties.get("metadata", {}))
        return narrowed

    def upsert(self, documents: Sequence[TargetDocument]) -> None:
        """Insert or replace documents by ``_bulk``, in the translog of the server on return."""
        self._bulk(
            {"_op_type": "index", "_id": key_of(each.id), "_source": to_source(each)}
            for each in TargetBatch.of(documents, self.schema)
        )

    def delete(self, ids: Sequence[str]) -> None:
        """Delete documents by ``_bulk``; unknown ids are ignored."""
        self._bulk({"_op_type": "delete", "_id": key_of(each)} for each in dict.fromkeys(ids))

    def count(self) -> int:
        """Return the number of documents."""
        self._refresh()
        answer = self._engine.request("GET", f"/{self.index}/_count")
        return int(answer["count"]) if answer is not None else 0

    def query(self, vector: npt.NDArray[np.float32], k: int) -> list[Neighbor]:
        """Return the k nearest documents; those without words have no vector and are not among them."""
        if k < 1 or not vector.any():
            return []
        found = self._search(self._engine.nearest(vector.tolist(), k, self._filters))
        return [Neighbor(hit.id, cosine(hit.score)) for hit in found]

    def match(self, words: SparseVector, k: int) -> list[Neighbor]:
        """Return the k documents with the largest inner product of words; the server stores each weight in 9 bits."""
        if k < 1 or not len(words.indices):
            return []
        return self._search({"size": k, "query": match_query(words, self._filters)})

    def documents(self) -> Iterator[TargetDocument]:
        """Iterate over the documents, all of one state of the index."""
        self._refresh()
        body = {"query": {"match_all": {}}, "fields": ["vector"], "_source": True}
        for hit in self._engine.scan(self.index, body):
            yield from_hit(hit, self.schema.dimension)

    def metadata_of(self, ids: Sequence[str]) -> dict[str, Mapping[str, Any]]:
        """Return the metadata of documents, including documents that a search does not see yet."""
        if not ids:
            return {}
        body = {"ids": [key_of(each) for each in dict.fromkeys(ids)]}
        fields = "id,metadata"
        answer = self._engine.request("POST", f"/{self.index}/_mget", body, _source=fields)
        found = answer["docs"] if answer is not None else []
        sources = [each["_source"] for each in found if each.get("found")]
        return {source["id"]: source.get("metadata", {}) for source in sources}

    def fetch(self, ids: Sequence[str]) -> dict[str, TargetDocument]:
        """Return documents, by a search for their keys."""
        if not ids:
            return {}
        self._refresh()
        keys = [key_of(each) for each in dict.fromkeys(ids)]
        body = {
            "size": len(keys),
            "query": {"ids": {"values": keys}},
            "fields": ["vector"],
            "_source": True,
        }
        answer = self._engine.request("POST", f"/{self.index}/_search", body)
        hits = answer["hits"]["hits"] if answer is not None else []
        found = [from_hit(hit, self.schema.dimension) for hit in hits]
        return {document.id: document for document in found}

    def finish(self) -> None:
        """Let readers see everything at once instead of after the server's interval."""
        self._refresh()

    def _search(self, body: dict[str, Any]) -> list[Neighbor]:
        """Return the ids and the server's scores of a search."""
        self._refresh()
        answer = self._engine.request("POST", f"/{self.index}/_search", body | {"_source": ["id"]})
        hits = answer["hits"]["hits"] if answer is not None else []
        return [Neighbor(hit["_source"]["id"], float(hit["_score"])) for hit in hits]

    def _refresh(self) -> None:
        self._engine.request("POST", f"/{self.index}/_refresh")

    def _bulk(self, actions: Iterable[dict[str, Any]]) -> None:
        refused: dict[str, str] = {}
        for done, answer in self._engine.bulk(self._alias, actions):
            [(operation, item)] = answer.items()
            if done or (operation == "delete" and item.get("status") == 404):
                continue
            reason = _reason(item)
            if item.get("status") in _AGAIN:
                raise TargetUnavailableError(self._shown, f"status {item['status']}: {reason}")
            refused[str(item.get("_id"))] = reason
        if refused:
            raise RejectedDocumentsError(self._shown, refused)


def _reason(item: Mapping[str, Any]) -> str:
    error = item.get("error", "")
    if not isinstance(error, Mapping):
        return str(error)[:200]
    cause = error.get("caused_by") or {}
    return f"{error.get('reason', '')} {cause.get('reason', '')}".strip()[:200]
