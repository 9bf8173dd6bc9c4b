"""The query record: the data with which a machine without the home can search a pushed table.

The query record of a table has the model without its word vectors, the chunking, and the sparse encoder of the words.
The record is compressed, and stored as rows of a second table in the same database. The name of the second table ends
in ``__query``. The second table can have two records: of the live table and of the staged table. So the name of each row
begins with the token of the live or staged table.
"""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gem_index.collection.write.exports import model_fields
from gem_index.collection.write.imports import model_of
from gem_index.errors import ConfigError, InputError
from gem_index.sparse import SparseEncoder
from gem_index.store.records import ModelRecord
from gem_index.targets.batch import TargetBatch
from gem_index.targets.protocol import QueryTableTarget, Target, TargetSchema, TargetTable
from gem_index.targets.registry import open_target
from gem_index.targets.retries import with_retries
from gem_index.targets.tables import query_table_name
from gem_index.targets.url import TargetUrl
from gem_index.text.chunking import Chunking

__all__ = ["OUTGROWN", "QUERY_SCHEMA", "QueryRecord", "QueryRecords"]

OUTGROWN = 2
"""Word statistics are too old if there are this many rows for each text of the statistics (docs/evaluation.md)."""

_VERSION = 1
_PART = 30_000  # characters per row; every engine can store a text that is this long
QUERY_SCHEMA = TargetSchema(fingerprint="query record", dimension=2, token="query")  # noqa: S106 - a mark, no secret
"""The schema of the second table."""
# options that name the table; a URL has at most one of them
_NAMING = ("table", "collection", "index")


@dataclass(frozen=True)
class QueryRecord:
    """The data that a search of a table needs; only the word vectors are not included.

    Attributes
    ----------
    model : ModelRecord
    chunking : Chunking
    words : SparseEncoder
    """

    model: ModelRecord
    chunking: Chunking
    words: SparseEncoder

    def to_bytes(self) -> bytes:
        """Return the record, compressed."""
        fields = {
            "version": _VERSION,
            "model": model_fields(self.model),
            "chunking": self.chunking.fields,
            "words": json.loads(self.words.to_json()),
        }
        return zlib.compress(json.dumps(fields, sort_keys=True).encode())

    @classmethod
    def of_bytes(cls, content: bytes, name: str) -> QueryRecord:
        """Return the record that :meth:`to_bytes` wrote; ``name`` is the target's name in messages.

        Raises
        ------
        ConfigError
            If the record is damaged, or a later version of gem-index wrote it.
        """
        try:
            fields = json.loads(zlib.decompress(content))
            version = fields["version"]
            if version == _VERSION:
                words = SparseEncoder.of_fields(fields["words"], name)
                return cls(model_of(fields["model"]), Chunking.of(fields["chunking"]), words)
        except (zlib.error, ValueError, LookupError, TypeError, InputError) as error:
            raise ConfigError(
                f"the query record of {name} is damaged; expected the record that a push wrote; push in full again"
            ) from error
        raise ConfigError(
            f"the query record of {name} has version {version}; expected {_VERSION}; upgrade gem-index"
        )


class QueryRecords:
    """The query records of the tables of a target; call :meth:`close` at the end.

    Parameters
    ----------
    target : Target
    """

    def __init__(self, target: Target) -> None:
        self._name = str(target.url)
        self._target = open_target(_url_beside(target))

    def close(self) -> None:
        """Release the second table's connection."""
        self._target.close()

    def texts_of(self, token: str) -> int | None:
        """Return the number of texts in the word statistics of a table.

        None if there is no complete record, or if an earlier version of gem-index wrote the record without this number.
        """
        texts = self._noted(token).get("texts")
        return None if texts is None else int(texts)

    def synonyms_of(self, token: str) -> str:
        """Return the fingerprint of the synonyms in the record of a table; empty if the record has no synonyms."""
        return str(self._noted(token).get("synonyms", ""))

    def _noted(self, token: str) -> Mapping[str, Any]:
        """Return the metadata of the first row of a record; empty without a record."""
        table = self._table()
        first = _row_name(token, 0)
        found = {} if table is None else with_retries(table.metadata_of, [first])
        return found.get(first, {})

    def read(self, token: str) -> QueryRecord:
        """Return the record of a table.

        Raises
        ------
        ConfigError
            If there is no record, the record is damaged, or a later version of gem-index wrote it.
        """
        parts = self._parts(token)
        if parts is None:
            parts = self._parts(token)  # read it again: a push has just replaced the record
        try:
            content = base64.b64decode("".join(parts or []), validate=True)
        except ValueError:
            content = b""
        return QueryRecord.of_bytes(content, self._name)

    def _parts(self, token: str) -> list[str] | None:
        """Return the texts of the rows of a record; None if a row is missing.

        Raises
        ------
        ConfigError
            If there is no record.
        """
        table = self._table()
        first = _row_name(token, 0)
        begin = {} if table is None else with_retries(table.fetch, [first])
        if table is None or first not in begin:
            raise ConfigError(
                f"the target {self._name} has no query record; expected the table of a finished push; push once more"
            )
        noted = begin[first].metadata
        names = _row_names(token, int(noted["rows"]), str(noted.get("content", "")))
        found = begin | with_retries(table.fetch, names[1:])
        return [str(found[name].text) for name in names] if found.keys() >= set(names) else None

    def write(self, token: str, record: QueryRecord) -> None:
        """Store the record of a table, instead of an earlier record.

        The first row has a hash of the record, and the names of all other rows contain this hash. So the rows of an
        earlier record stay complete until the first row is written, which is the last step.
        """
        data = record.to_bytes()
        text = base64.b64encode(data).decode()
        parts = [text[begin : begin + _PART] for begin in range(0, len(text), _PART)]
        content = hashlib.sha256(data).hexdigest()[:16]
        names = _row_names(token, len(parts), content)
        table = self._table() or self._target.create(QUERY_SCHEMA)
        vectors = np.tile(np.array([1, 0], np.float32), (len(parts), 1))
        noted = {
            "token": token,
            "rows": len(parts),
            "texts": record.words.texts,
            "synonyms": record.words.synonyms.fingerprint,
            "content": content,
        }
        batch = TargetBatch(names, vectors, parts, [noted] * len(parts))
        for rows in (batch[1:], batch[:1]):
            if rows:
                with_retries(table.upsert, rows)
        with_retries(table.finish)
        mine = _row_name(token, 0).partition(" ")[0]
        self._delete(lambda name: name.partition(" ")[0] == mine and name not in names)

    def keep(self, *tokens: str) -> None:
        """Delete the records of all tables except the tables with these tokens."""
        self._delete(lambda name: name.partition(" ")[0] not in tokens)

    def _delete(self, condition: Callable[[str], bool]) -> None:
        """Delete the rows for whose names ``condition`` is true."""
        table = self._table()
        names = [] if table is None else [each.id for each in table.documents()]
        others = [name for name in names if condition(name)]
        if table is not None and others:
            with_retries(table.delete, others)

    def _table(self) -> TargetTable | None:
        return with_retries(self._target.live)


def _row_name(token: str, place: int) -> str:
    name = token.partition(" ")[0]  # `embed` adds its chunking, as JSON after a blank
    return f"{name} {place}"


def _row_names(token: str, count: int, content: str) -> list[str]:
    """Return the names of the rows of a record; records of earlier versions have no hash in their names."""
    ending = content and f" {content}"
    return [
        _row_name(token, 0),
        *(f"{_row_name(token, place)}{ending}" for place in range(1, count)),
    ]


def _url_beside(target: Target) -> TargetUrl:
    """Return the URL of the second table.

    Some engines choose the name of the second table; otherwise the name is made from the name of the first table.
    """
    url = target.url
    if isinstance(target, QueryTableTarget):
        return target.query_table
    options: dict[str, Any] = dict(url.options)
    for option in _NAMING:
        if option in options:
            options[option] = query_table_name(options[option])
            return replace(url, options=options)
    raise ConfigError(f"the target {url} names no table; expected one of the options {_NAMING}")
