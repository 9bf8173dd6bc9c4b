"""Parts of queries that Elasticsearch and OpenSearch share: words by their weights, and filters of metadata."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from gem_index.targets import Condition, SparseVector

__all__ = ["filters_of", "match_query"]

Json = dict[str, Any]

_MOST_TERMS = 1000
"""Of a query; both servers take 1,024 clauses by default."""
_LONGEST_KEYWORD = 8191
"""Characters of a text of metadata that the mapping indexes (``ignore_above``)."""
_VALUES: Mapping[str, Any] = {
    "keyword": str,
    "boolean": bool,
    "long": int | float,
    "float": int | float,
    "double": int | float,
}
"""For each type of field, the JSON types that a server indexes without conversion."""


def match_query(words: SparseVector, filters: Sequence[Json]) -> Json:
    """Return a query whose scores are the inner products of words; at most the 1,000 heaviest terms are used."""
    heaviest = np.argsort(-words.values, kind="stable")[:_MOST_TERMS]
    terms = [
        {"rank_feature": {"field": f"words.{index}", "linear": {}, "boost": weight}}
        for index, weight in zip(
            words.indices[heaviest].tolist(), words.values[heaviest].tolist(), strict=True
        )
    ]
    return {"bool": {"should": terms, "minimum_should_match": 1, "filter": list(filters)}}


def filters_of(conditions: Sequence[Condition], metadata: Mapping[str, Any]) -> list[Json]:
    """Return filters for the conditions whose values have the types of their fields.

    Parameters
    ----------
    conditions : sequence of Condition
    metadata : mapping
        The mapping of the field ``metadata``; it has a field as soon as a document has it.
    """
    fields = metadata.get("properties", {})
    return [
        found
        for each in conditions
        for found in _filter(each, fields.get(each.field, {}).get("type"))
    ]


def _filter(condition: Condition, kind: str | None) -> Iterator[Json]:
    path = f"metadata.{condition.field}"
    bounds = [bound for bound in (condition.least, condition.most) if bound is not None]
    values = condition.values or bounds
    if kind is None or kind not in _VALUES or not all(_fits(value, kind) for value in values):
        return
    if bounds:
        yield _range(path, condition.least, condition.most)
    elif kind in ("keyword", "boolean"):
        yield {"terms": {path: list(values)}}
    elif condition.is_short:
        yield {"bool": {"should": [_range(path, value, value) for value in values]}}


def _fits(value: object, kind: str) -> bool:
    if isinstance(value, str) and len(value) > _LONGEST_KEYWORD:
        return False
    return isinstance(value, _VALUES[kind]) and isinstance(value, bool) == (kind == "boolean")


def _range(path: str, least: Any, most: Any) -> Json:
    """Return a filter for a range of numbers; it allows that a field of whole numbers has cut off fractions."""
    bounds: dict[str, Any] = {}
    if least is not None:
        bounds["gte"] = math.floor(least)
    if most is not None:
        bounds["lte"] = math.ceil(most)
    return {"range": {path: bounds}}
