"""Snapshots: index files that never change. :mod:`gem_index.index.snapshot_writing` writes them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

import numpy as np

from gem_index.common.arrays import I64
from gem_index.errors import Action, Advice, CorruptionError
from gem_index.files.inputs import sha256_of_file
from gem_index.files.npy import map_array
from gem_index.index.dense import DenseIndex
from gem_index.index.fields import SnapshotFields
from gem_index.index.hits import Ids
from gem_index.index.kinds import IndexKind
from gem_index.index.lexical import LexicalIndex
from gem_index.index.pieces import PieceIndex
from gem_index.index.rows import VectorRows

__all__ = ["FileTable", "Snapshot", "fields_of", "open_fields", "piece_counts", "values_of"]

FileTable: TypeAlias = Mapping[str, Mapping[str, str | int]]
"""SHA-256 and size in bytes of each file."""

MAGIC = "gem-index snapshot"
VERSION = 1
META, IDS, INDEX, WORDS = "snapshot.json", "ids.npy", "vectors.faiss", "words"
COUNTS, ROWS, FIELDS = "pieces.npy", "rows", "fields"


class Snapshot:
    """One snapshot: the ids of its documents, an index of their vectors, and an index of their words.

    Parameters
    ----------
    directory : Path
    ids : int64 array (n,)
        Ascending.
    index : PieceIndex
        Position i has the vectors of the document ``ids[i]``.
    kind : IndexKind
    mean_terms : float
        The mean number of terms of a piece.

    Attributes
    ----------
    fields : SnapshotFields, optional
        The metadata by field. None if there are few documents, or an earlier version of gem-index wrote the snapshot.
    """

    def __init__(
        self, directory: Path, ids: Ids, index: PieceIndex, kind: IndexKind, mean_terms: float
    ) -> None:
        self.directory = directory
        self.ids = ids
        self.index = index
        self.kind = kind
        self.mean_terms = mean_terms
        self.fields = fields_of(directory)
        self._words: LexicalIndex | None = None

    @property
    def words(self) -> LexicalIndex:
        """The word index, which is opened on first use."""
        if self._words is None:
            self._words = LexicalIndex.open(self.directory / WORDS)
        return self._words

    @classmethod
    def open(cls, directory: Path, files: FileTable) -> Snapshot:
        """Open a snapshot after checking the sizes of its files.

        Raises
        ------
        CorruptionError
            If the snapshot is incomplete or damaged.
        """
        for name, expected in files.items():
            path = directory / name
            found = path.stat().st_size if path.is_file() else None
            if found != expected["bytes"]:
                raise CorruptionError(
                    f"{path} has {found} bytes; expected {expected['bytes']}",
                    Advice(Action.REBUILD_INDEX),
                )
        try:
            meta = json.loads((directory / META).read_text())
            if meta.get("magic") != MAGIC or meta.get("version") != VERSION:
                raise CorruptionError(f"{directory} is not a {MAGIC} of version {VERSION}")
            ids = map_array(directory / IDS)
            counts = piece_counts(directory, len(ids))
            kind = IndexKind(meta["kind"], meta["factory"])
            mean_terms = meta["words"] / max(1, meta["documents"])
        except (OSError, ValueError, LookupError, TypeError) as error:
            raise CorruptionError(f"{directory} cannot be read: {error}") from error
        index = DenseIndex.open(directory / INDEX)
        vectors = values_of(directory, index, kind.exact, meta["dimension"])
        if len(counts) != len(ids) or len(index) != counts.sum():
            raise CorruptionError(
                f"{directory} holds {len(index)} vectors of {counts.sum()} pieces and {len(ids)} ids"
            )
        if vectors is not None and len(vectors) != len(index):
            raise CorruptionError(
                f"{directory} holds {len(index)} vectors in its index and {len(vectors)} beside it"
            )
        return cls(directory, ids, PieceIndex(index, counts, vectors), kind, mean_terms)

    @staticmethod
    def damage(directory: Path, files: FileTable) -> list[str]:
        """Return a line of text for each file that is missing or has changed."""
        lines = []
        for name, expected in files.items():
            path = directory / name
            if not path.is_file():
                lines.append(f"{name} is missing")
            elif sha256_of_file(path) != expected["sha256"]:
                lines.append(f"{name} is not what was written")
        return lines


def piece_counts(directory: Path, documents: int) -> I64:
    """Return the number of pieces of each document; if no file has these numbers, each document has one piece."""
    path = directory / COUNTS
    if not path.exists():
        return np.ones(documents, np.int64)
    return np.array(map_array(path))


def fields_of(directory: Path) -> SnapshotFields | None:
    """Return the metadata by field; None if the snapshot has no files of fields."""
    return SnapshotFields(directory / FIELDS) if (directory / FIELDS).is_dir() else None


def open_fields(directory: Path) -> tuple[SnapshotFields, Ids] | None:
    """Open the metadata by field and the ids, without the index; None without documents or files of fields.

    Raises
    ------
    CorruptionError
        If the ids cannot be read, or the fields are those of another number of documents.
    """
    fields = fields_of(directory)
    if fields is None:
        return None
    try:
        ids = map_array(directory / IDS)
    except (OSError, ValueError) as error:
        raise CorruptionError(f"{directory / IDS} cannot be read: {error}") from error
    if len(ids) != fields.documents:
        raise CorruptionError(
            f"{directory} holds fields of {fields.documents} documents and {len(ids)} ids"
        )
    return (fields, ids) if len(ids) else None


def values_of(
    directory: Path, index: DenseIndex, exact: bool, dimension: int
) -> DenseIndex | VectorRows | None:
    """Return the exact vectors of a snapshot; None if an earlier version of gem-index stored only an approximate index."""
    if exact:
        return index
    return VectorRows.open(directory / ROWS, dimension) if (directory / ROWS).is_dir() else None
