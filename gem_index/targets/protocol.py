"""The protocol of vector databases: the methods that a push calls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol, Self, runtime_checkable

from gem_index.common.arrays import F32, SparseVector
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
    """The description of a table, which is recorded when the table is created.

    Attributes
    ----------
    fingerprint : str
        The fingerprint of the encoder that made the vectors of the table.
    dimension : int
    token : str
        Identifies the writer of the table. A push writes only to a table whose token is recorded in the home of the push.
    texts : bool
        Whether the texts are stored beside their vectors.
    words : str
        The rule of the sparse vectors of words (:attr:`gem_index.sparse.SparseEncoder.rule`); empty if the table has no
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
        """Return the schema that :meth:`to_strings` wrote; None if gem-index did not create the table."""
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
    """A row of a table, as a database stores it: a document, or a piece of a document.

    Attributes
    ----------
    id : str
    vector : float32 array (d,)
        A vector of unit length; zeros for a text without words.
    text : str, optional
        The text; None if texts are not stored.
    metadata : mapping
        The metadata: JSON values by name.
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
    """A row near a query, and the score that the database computed.

    The score is the cosine of the vectors, or the inner product of the sparse vectors of words.
    """

    id: str
    score: float


class TargetTable(Protocol):
    """One table of a database."""

    @property
    def schema(self) -> TargetSchema:
        """The description that was recorded when the table was created."""
        ...

    def upsert(self, documents: Sequence[TargetDocument]) -> None:
        """Insert rows; a new row replaces an old row with the same id. When the method returns, the rows are durable.

        The caller has already removed the metadata fields that :meth:`Target.unsupported` returns.
        """
        ...

    def delete(self, ids: Sequence[str]) -> None:
        """Delete rows by id; unknown ids are ignored. When the method returns, the deletion is durable."""
        ...

    def count(self) -> int:
        """Return the number of rows."""
        ...

    def query(self, vector: F32, k: int) -> list[Neighbor]:
        """Return the k nearest rows by cosine similarity, best first."""
        ...

    def documents(self) -> Iterator[TargetDocument]:
        """Iterate over all rows."""
        ...

    def metadata_of(self, ids: Sequence[str]) -> dict[str, Mapping[str, Any]]:
        """Return the metadata of rows by id, for at most 1,000 ids; read nothing else, and ignore ids without a row."""
        ...

    def fetch(self, ids: Sequence[str]) -> dict[str, TargetDocument]:
        """Return rows by id, for at most 1,000 ids; ids without a row are ignored."""
        ...

    def finish(self) -> None:
        """If the engine needs it, build indexes or compact. A push calls this method after all rows were sent.

        After this call, the push counts the rows. If this method raises TargetUnavailableError, the push calls it
        again.
        """
        ...


@runtime_checkable
class WordsTable(TargetTable, Protocol):
    """A table that can store sparse vectors of words, and find rows by these vectors."""

    def match(self, words: SparseVector, k: int) -> list[Neighbor]:
        """Return the k rows with the largest inner products of words, best first, without rows whose product is 0."""
        ...


@runtime_checkable
class Target(Protocol):
    """A place in a vector database, named by a URL: a live table, and perhaps a staged table that will replace it."""

    @property
    def url(self) -> TargetUrl:
        """The URL that was opened. The name of the target is this URL without its secrets."""
        ...

    def unsupported(self, metadata: Mapping[str, Any]) -> list[str]:
        """Return the fields of a document's metadata that the database cannot store."""
        ...

    def live(self) -> TargetTable | None:
        """Return the live table, which readers see; None if there is no live table.

        Raises
        ------
        ConfigError
            If the name belongs to a table that gem-index did not create.
        """
        ...

    def staged(self) -> TargetTable | None:
        """Return the staged table, the unfinished replacement of the live table; None if there is no staged table."""
        ...

    def create(self, schema: TargetSchema) -> TargetTable:
        """Create an empty live table; an earlier live table must have been dropped.

        Raises
        ------
        ConfigError
            If the name belongs to an existing table.
        """
        ...

    def stage(self, schema: TargetSchema) -> TargetTable:
        """Create an empty staged table; it replaces an earlier staged table."""
        ...

    def switch(self) -> None:
        """Make the staged table the live table, and drop the old live table."""
        ...

    def drop(self) -> None:
        """Drop the live and the staged table."""
        ...

    def close(self) -> None:
        """Release connections and files."""
        ...


@runtime_checkable
class JsonTarget(Protocol):
    """A target that can check metadata as JSON texts, so a push can check metadata without parsing them."""

    def stores_json(self, texts: Sequence[str]) -> bool:
        """Return True if all these metadata can certainly be stored; if False, :meth:`Target.unsupported` decides."""
        ...


@runtime_checkable
class WordsTarget(Protocol):
    """A target that can have sparse vectors: if a schema has a rule for words, its table is a :class:`WordsTable`."""

    @property
    def word_dimensions(self) -> int:
        """Return the largest dimension of sparse vectors in the database, at most 2^31; 0 if it has no sparse vectors.

        If the dimension is below 2^31, tables store :meth:`~gem_index.common.arrays.SparseVector.folded` vectors.
        """
        ...


def word_dimensions(target: Target) -> int:
    """Return the largest dimension of sparse vectors in a target; 0 if the target cannot have sparse vectors."""
    return target.word_dimensions if isinstance(target, WordsTarget) else 0


@runtime_checkable
class RowsTarget(Protocol):
    """A target that can read a table that gem-index did not create."""

    def rows(self) -> Iterator[Mapping[str, Any]]:
        """Iterate over the rows of a table that gem-index did not create: values by field name, without vectors.

        The caller has checked that the table exists. Some engines store the id and the text of a row apart from the
        fields; then the returned row has these values as ``id`` and ``text`` (:func:`row_of`).
        """
        ...


def row_of(fields: Mapping[str, Any], **own: Any) -> dict[str, Any]:
    """Make one row from a user's fields and the values that the engine stores separately, such as the id.

    Parameters
    ----------
    fields : mapping
        The fields of the user. If a field has the name of a value in ``own``, such as ``id``, the row has the field as
        ``_id``.
    **own
        The values that the engine stores apart: the id, and in some engines the text.
    """
    return own | {f"_{name}" if name in own else name: value for name, value in fields.items()}


@runtime_checkable
class QueryTableTarget(Protocol):
    """A target that itself chooses the name of the second table, which has the query records.

    In any other target, the second table has the name of the first table with an ending; the other options of its URL
    are those of the first table.
    """

    @property
    def query_table(self) -> TargetUrl:
        """The URL of the second table."""
        ...
