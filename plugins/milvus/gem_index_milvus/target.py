"""A collection of Milvus as a target: the alias ``faq`` of a generation such as ``faq__gem_2``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pymilvus import DataType

from gem_index.targets import (
    WORD_DIMENSIONS,
    AliasTarget,
    TargetSchema,
    TargetUrl,
    integers_are_short,
    integers_within,
)
from gem_index_milvus.database import Database
from gem_index_milvus.table import MilvusTable, pages_of, read_schema

__all__ = ["MilvusTarget"]

_INTEGERS = range(-(2**63), 2**64)
_LARGEST_JSON = 65_536  # bytes
_DYNAMIC = "$meta"
"""The field in which Milvus stores all fields that are not in the schema of a collection."""
_SHORT_JSON = 8192  # characters of at most four bytes; Milvus also counts spaces, without which the text may be half as long


class MilvusTarget(AliasTarget[MilvusTable]):
    """A live collection and perhaps a staged one.

    A folder is opened when it is first needed, and no other process may open it until :meth:`close`.

    Parameters
    ----------
    url : TargetUrl
        ``milvus:///folder/name.db?collection=faq`` for milvus-lite, ``milvus+http://host:19530/?collection=faq`` or
        ``milvus+https://...`` for a server, with the secret ``token`` (or ``key``), or ``user`` and ``password``; the
        option ``database``.

    Raises
    ------
    ConfigError
        If a part of the URL is missing or unsuitable.
    """

    word_dimensions = WORD_DIMENSIONS
    too_old = "found a Milvus without properties of collections at {url}; expected version 2.5 or newer; update it"

    def __init__(self, url: TargetUrl) -> None:
        self._database = Database(url)
        super().__init__(
            url,
            "[A-Za-z_][A-Za-z0-9_]{0,199}",
            "letters, digits and _, at most 200, and no digit at the beginning",
        )

    def unsupported(self, metadata: Mapping[str, Any]) -> list[str]:
        """Return the fields with integers beyond 64 bits, and the largest ones while the metadata exceeds 65,536 bytes."""
        refused = [
            name for name, value in metadata.items() if not integers_within(value, _INTEGERS)
        ]
        kept = {name: value for name, value in metadata.items() if name not in refused}
        while kept and _size(kept) > _LARGEST_JSON:
            largest = max(kept, key=lambda name: _size({name: kept[name]}))
            refused.append(largest)
            del kept[largest]
        return [name for name in metadata if name in refused]

    def stores_json(self, texts: Sequence[str]) -> bool:
        """Tell whether it is certain that all are short and no integer has more than 64 bits."""
        return max(map(len, texts), default=0) < _SHORT_JSON and integers_are_short(texts)

    def exists(self) -> bool:
        """Tell whether there is a server or a file."""
        return self._database.exists()

    def collections(self) -> set[str]:
        """Return the names of all collections."""
        return set(self._database.call("list_collections"))

    def used(self) -> set[str]:
        """Return the names of collections, and those that a killed process left as folders."""
        return self.collections() | self._database.folders(f"{self.alias}__gem_*")

    def aliased(self) -> str | None:
        """Return the collection that the alias names."""
        if self.alias not in self._database.call("list_aliases")["aliases"]:
            return None
        return str(self._database.call("describe_alias", self.alias)["collection_name"])

    def schema_of(self, name: str) -> TargetSchema | None:
        """Return the schema in a collection's properties."""
        return read_schema(self._database.call("describe_collection", name))

    def table(self, name: str, schema: TargetSchema) -> MilvusTable:
        """Return the object of a collection."""
        return MilvusTable(self._database, name, schema, str(self.url))

    def rows(self) -> Iterator[dict[str, Any]]:
        """Iterate over the entities of a collection that another program made, without vectors."""
        described = self._database.call("describe_collection", self.alias)
        fields = [each["name"] for each in described["fields"] if not _holds_vectors(each)]
        if described.get("enable_dynamic_field"):
            fields.append(_DYNAMIC)
        self._database.call("load_collection", self.alias)
        for page in pages_of(self._database, self.alias, fields):
            for row in page:
                yield {name: value for name, value in row.items() if name != _DYNAMIC}

    def before_switch(self, staged: MilvusTable) -> None:
        """Load the staged generation: readers find it in memory."""
        self._database.call("load_collection", staged.name)

    def point_alias(self, name: str | None) -> None:
        """Switch the alias to another collection; Milvus does this in one step."""
        if name is None:
            self._database.call("drop_alias", self.alias)
        else:
            method = "create_alias" if self.aliased() is None else "alter_alias"
            self._database.call(method, name, self.alias)

    def remove(self, name: str) -> None:
        """Drop a collection."""
        self._database.call("drop_collection", name)

    def close(self) -> None:
        """Close the connection; another process may then open the folder."""
        self._database.close()


def _holds_vectors(field: Mapping[str, Any]) -> bool:
    return "VECTOR" in DataType(field["type"]).name


def _size(metadata: Mapping[str, Any]) -> int:
    return len(json.dumps(dict(metadata), ensure_ascii=False).encode())
