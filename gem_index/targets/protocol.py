"""The protocol of vector databases: the methods that a push calls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol, Self, runtime_checkable

from gem_index.arrays import F32, SparseVector
from gem_index.errors import ConfigError
from gem_index.targets.url import TargetUrl

__all__ = [
    "JsonTarget",
    "Neighbor",
    "QueryTableTarget",
    "RowsTarget",
    "Target",
    "TargetDocument",
    "TargetSchema",
    "TargetTable",
    "WordsTable",
    "WordsTarget",
    "row_of",
    "word_dimensions",
]


@dataclass(frozen=True, kw_only=True)
class TargetSchema:
    """The facts that are recorded in a table when it is created.

    Attributes
    ----------
    fingerprint : str
        The fingerprint of the encoder that made the vectors of the table.
    dimension : int
    token : str
        Identifies the push that created the table; another push does not write to it.
    texts : bool
        Whether the texts are stored beside their vectors.
    words : str
        The rule of the sparse vectors of words (:attr:`gem_index.sparse.SparseEncoder.rule`); empty if the table holds no
        sparse vectors.
    """

    fingerprint: str
    dimension: int
    token: str
    texts: bool = True
    words: str = ""

    def to_strings(self) -> dict[str, str]:
        """Return the fields as texts, for databases whose properties are texts."""
        return {f"gem_{name}": str(value) for name, value in asdict(self).items()}

    def check_vector(self, vector: F32) -> None:
        """Raise ConfigError if a vector does not have the table's dimension."""
        if vector.shape != (self.dimension,):
            raise ConfigError(
                f"found a vector of the shape {vector.shape}; expected {self.dimension} numbers, the table's dimension"
            )

    @classmethod
    def from_strings(cls, values: Mapping[str, Any]) -> Self | None:
        """Return the schema that :meth:`to_strings` wrote; None if the table is not one of ours."""
        try:
            return cls(
                fingerprint=str(values["gem_fingerprint"]),
                dimension=int(values["gem_dimension"]),
                token=str(values["gem_token"]),
                texts=str(values["gem_texts"]) == "True",
                words=str(values.get("gem_words", "")),
            )
        except (KeyError, TypeError, ValueError):
            return None


@dataclass(frozen=True)
class TargetDocument:
    """A document as a database stores it.

    Attributes
    ----------
    id : str
    vector : float32 array (d,)
        A vector of unit length; zeros for a text without words.
    text : str, optional
        None if texts are not stored.
    metadata : mapping
        JSON values under string keys.
    words : SparseVector, optional
        The sparse vector of the words; None in a table without sparse vectors.
    """

    id: str
    vector: F32
    text: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    words: SparseVector | None = None


@dataclass(frozen=True)
class Neighbor:
    """A document near a query, and the score that the database computed.

    The score is the cosine similarity of the vectors, or the inner product of the sparse vectors of words.
    """

    id: str
    score: float


class TargetTable(Protocol):
    """One table of a database."""

    @property
    def schema(self) -> TargetSchema:
        """What was recorded when the table was created."""
        ...

    def upsert(self, documents: Sequence[TargetDocument]) -> None:
        """Insert documents, or replace those with the same id. Durable on return.

        The caller has left out metadata that :meth:`Target.unsupported` names.
        """
        ...

    def delete(self, ids: Sequence[str]) -> None:
        """Delete documents by id; unknown ids are ignored. Durable on return."""
        ...

    def count(self) -> int:
        """Return the number of documents."""
        ...

    def query(self, vector: F32, k: int) -> list[Neighbor]:
        """Return the k nearest documents by cosine similarity, best first."""
        ...

    def documents(self) -> Iterator[TargetDocument]:
        """Iterate over all documents."""
        ...

    def metadata_of(self, ids: Sequence[str]) -> dict[str, Mapping[str, Any]]:
        """Return, by id, the metadata of the documents that the table has, for at most 1,000 ids; nothing else is read."""
        ...

    def fetch(self, ids: Sequence[str]) -> dict[str, TargetDocument]:
        """Return, by id, the documents that the table has, for at most 1,000 ids."""
        ...

    def finish(self) -> None:
        """Build indexes or compact, if the engine needs it; a push calls this when it has sent everything, before it counts.

        A push calls it again if it raised TargetUnavailableError.
        """
        ...


@runtime_checkable
class WordsTable(TargetTable, Protocol):
    """A table that can hold sparse vectors of words, and search by them."""

    def match(self, words: SparseVector, k: int) -> list[Neighbor]:
        """Return the k documents with the largest inner product of words, best first; none has a product of 0."""
        ...


@runtime_checkable
class Target(Protocol):
    """A place in a vector database, named by a URL: a live table and perhaps a staged one that will replace it."""

    @property
    def url(self) -> TargetUrl:
        """The URL that it was opened with; without its secrets it names the target."""
        ...

    def unsupported(self, metadata: Mapping[str, Any]) -> list[str]:
        """Return the fields of a document's metadata that the database cannot store."""
        ...

    def live(self) -> TargetTable | None:
        """Return the table that readers see; None if there is none.

        Raises
        ------
        ConfigError
            If there is a table of that name that gem-index did not create.
        """
        ...

    def staged(self) -> TargetTable | None:
        """Return the unfinished replacement of the live table; None if there is none."""
        ...

    def create(self, schema: TargetSchema) -> TargetTable:
        """Create an empty live table; an existing one must have been dropped.

        Raises
        ------
        ConfigError
            If there is a table of that name.
        """
        ...

    def stage(self, schema: TargetSchema) -> TargetTable:
        """Create an empty replacement of the live table, in place of an earlier one."""
        ...

    def switch(self) -> None:
        """Let readers see the staged table instead of the live one, which is dropped."""
        ...

    def drop(self) -> None:
        """Drop the live and the staged table."""
        ...

    def close(self) -> None:
        """Release connections and files."""
        ...


@runtime_checkable
class JsonTarget(Protocol):
    """A target that can tell from JSON text whether it can store it, so that a push need not parse metadata."""

    def stores_json(self, texts: Sequence[str]) -> bool:
        """Tell whether all of these metadata can be stored; False if only :meth:`Target.unsupported` can tell."""
        ...


@runtime_checkable
class WordsTarget(Protocol):
    """A target whose tables are :class:`WordsTable` if their schema has a rule for words."""

    @property
    def word_dimensions(self) -> int:
        """Number of dimensions of the database's sparse vectors, at most 2^31; 0 if its version has none.

        With fewer than 2^31, tables store :meth:`~gem_index.arrays.SparseVector.folded` vectors.
        """
        ...


def word_dimensions(target: Target) -> int:
    """Return the number of dimensions of a target's sparse vectors; 0 if it has none."""
    return target.word_dimensions if isinstance(target, WordsTarget) else 0


@runtime_checkable
class RowsTarget(Protocol):
    """A target that can read a table that gem-index did not create."""

    def rows(self) -> Iterator[Mapping[str, Any]]:
        """Iterate over the rows of such a table: values by the names of their fields, without vectors.

        The caller knows that there is a table of this name. If the engine keeps the id and the text of a row apart from
        its fields, they are called ``id`` and ``text`` (:func:`row_of`).
        """
        ...


def row_of(fields: Mapping[str, Any], **own: Any) -> dict[str, Any]:
    """Return a row of an engine that keeps some values apart from the fields that users name.

    Parameters
    ----------
    fields : mapping
        The fields that users name. If a field has the name of a value of the engine, such as ``id``, it gets the name
        ``_id``.
    **own
        The values of the engine: the id, perhaps the text.
    """
    return own | {f"_{name}" if name in own else name: value for name, value in fields.items()}


@runtime_checkable
class QueryTableTarget(Protocol):
    """A target that names the second table (of query records) itself.

    For other targets, the name of the second table is the name of the first with an ending; other options of the URL stay.
    """

    @property
    def query_table(self) -> TargetUrl:
        """The URL of the second table."""
        ...
