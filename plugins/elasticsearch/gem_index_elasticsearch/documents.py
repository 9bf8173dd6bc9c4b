"""Convert documents to their form in an index, and back."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from gem_index.targets import SparseVector, TargetDocument, TargetSchema
from gem_index_elasticsearch.engines import Engine

__all__ = [
    "from_hit",
    "index_body",
    "key_of",
    "schema_of",
    "to_source",
    "unsupported",
    "vector_fields",
]

_VECTORS = ("dense_vector", "sparse_vector", "rank_features", "knn_vector")
_LONGEST_KEY = 512  # bytes of an _id


def key_of(identifier: str) -> str:
    """Return the ``_id`` of a document: its id, or a hash of the id if the server does not accept it."""
    encoded = identifier.encode()
    if 0 < len(encoded) <= _LONGEST_KEY:
        return identifier
    return f"sha256:{hashlib.sha256(encoded).hexdigest()}"


def to_source(document: TargetDocument) -> dict[str, Any]:
    """Return the fields of a document; a zero vector is left out, as both servers refuse it."""
    source: dict[str, Any] = {"id": document.id, "metadata": dict(document.metadata)}
    if document.text is not None:
        source["text"] = document.text
    if document.vector.any():
        # The shortest decimals that give the same 32-bit numbers.
        source["vector"] = [float(str(number)) for number in document.vector]
    if document.words is not None:
        terms = zip(document.words.indices.tolist(), document.words.values, strict=True)
        source["words"] = {str(index): float(str(value)) for index, value in terms}
    return source


def from_hit(hit: Mapping[str, Any], dimension: int) -> TargetDocument:
    """Return the document of a hit."""
    source = hit["_source"]
    # Elasticsearch 9.2 leaves vectors out of the source; "fields" has them in every version.
    found = hit.get("fields", {}).get("vector") or source.get("vector")
    vector = np.zeros(dimension, np.float32) if found is None else np.array(found, np.float32)
    words = source.get("words")
    return TargetDocument(
        source["id"],
        vector.reshape(-1),
        source.get("text"),
        source.get("metadata", {}),
        None
        if words is None
        else SparseVector.summed([int(term) for term in words], list(words.values())),
    )


def unsupported(metadata: Mapping[str, Any]) -> list[str]:
    """Return the fields that an index does not take.

    These have empty names, or dots that end a name or follow one another; hold integers of more than 64 bits; or lists of
    objects beside other values.
    """
    return [name for name, value in metadata.items() if not _fits(name, value)]


def _fits(name: str, value: Any) -> bool:
    if not all(part.strip() for part in name.split(".")) or len(name.encode()) > 1000:
        return False
    if isinstance(value, Mapping):
        return all(_fits(inner, content) for inner, content in value.items())
    if isinstance(value, list):
        objects = {isinstance(content, Mapping) for content in value if content is not None}
        return len(objects) < 2 and all(_fits("x", content) for content in value)
    return not isinstance(value, int) or isinstance(value, bool) or -(2**63) <= value < 2**63


def index_body(engine: type[Engine], schema: TargetSchema) -> dict[str, Any]:
    """Return the mapping and the settings of an index; the schema is its ``_meta``."""
    body: dict[str, Any] = {
        "mappings": {
            "_meta": schema.to_strings(),
            # "2024-05-01" and "12" stay text: later documents may hold other words in the same field.
            "date_detection": False,
            "numeric_detection": False,
            "dynamic_templates": [
                {
                    "texts_of_metadata": {
                        "path_match": "metadata.*",
                        "match_mapping_type": "string",
                        "mapping": {"type": "keyword", "ignore_above": 8191},
                    }
                },
                {
                    # the servers' default, a float of 32 bits, refuses 1e300
                    "numbers_of_metadata": {
                        "path_match": "metadata.*",
                        "match_mapping_type": "double",
                        "mapping": {"type": "double"},
                    }
                },
            ],
            "properties": {
                "id": {"type": "keyword", "ignore_above": 8191},
                "text": {"type": "text"},
                "metadata": {"type": "object", "dynamic": True},
                "vector": engine.vector_mapping(schema.dimension),
            },
        }
    }
    if schema.words:
        body["mappings"]["properties"]["words"] = {"type": "rank_features"}
    if settings := engine.settings():
        body["settings"] = settings
    return body


def schema_of(description: Mapping[str, Any]) -> TargetSchema | None:
    """Return the schema from the mapping of an index; None if gem-index did not create the index."""
    return TargetSchema.from_strings(description.get("mappings", {}).get("_meta", {}))


def vector_fields(mapping: Mapping[str, Any], before: str = "") -> Iterator[str]:
    """Iterate over the names of the fields of a mapping that hold vectors, dense or sparse."""
    for name, field in mapping.get("properties", {}).items():
        if field.get("type") in _VECTORS:
            yield f"{before}{name}"
        yield from vector_fields(field, f"{before}{name}.")
