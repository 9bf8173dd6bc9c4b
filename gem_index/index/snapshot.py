"""Snapshots: immutable generations of a collection's index files."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from gem_index.arrays import F32, I64
from gem_index.errors import CorruptionError
from gem_index.files import publish_directory, sha256_of_file
from gem_index.index.checkpoint import Built, Checkpoint
from gem_index.index.dense import DenseIndex
from gem_index.index.fields import FieldsWriter, SnapshotFields
from gem_index.index.hits import Ids
from gem_index.index.kinds import IndexKind
from gem_index.index.lexical import LexicalIndex
from gem_index.index.pieces import PieceIndex
from gem_index.index.rows import RowsWriter, VectorRows, continued, linked, numbered
from gem_index.npy import map_array

__all__ = ["FileTable", "Snapshot", "SnapshotInputs"]

FileTable: TypeAlias = Mapping[str, Mapping[str, str | int]]

_BLOCK = 4096
_MAGIC = "gem-index snapshot"
_VERSION = 1
_META, _IDS, _INDEX, _WORDS = "snapshot.json", "ids.npy", "vectors.faiss", "words"
_COUNTS, _ROWS, _FIELDS = "pieces.npy", "rows", "fields"
_LEAST_DOCUMENTS = 20_000  # for files of fields: a filter reads the metadata of fewer in 15 ms


@dataclass(frozen=True)
class SnapshotInputs:
    """The inputs of a new snapshot.

    Attributes
    ----------
    kind : IndexKind
    dimension : int
    fingerprint : str
        Of the encoder that makes the vectors.
    texts : callable
        Takes an id; iterates over blocks of ids (``documents.seq``, ascending over all blocks) and texts of the documents
        after it.
    encode : callable
        Turns b texts into the float32 vectors of their pieces (p, dimension), and how many each has, int64 (b,).
    parts : callable
        Turns b texts into their pieces, in order, and how many each has, int64 (b,).
    empty : callable
        Returns an index of a kind without vectors, trained if it needs training.
    metadata : callable, optional
        As ``texts``, with the documents' metadata as JSON; without it a snapshot has no files of fields.
    report : callable
        Called with the name of a stage and the id up to which it is done.
    checkpoint : Checkpoint, optional
        Saved progress to resume from and to update during a long build.
    """

    kind: IndexKind
    dimension: int
    fingerprint: str
    texts: Callable[[int], Iterable[tuple[Ids, Sequence[str]]]]
    encode: Callable[[Sequence[str]], tuple[F32, I64]]
    parts: Callable[[Sequence[str]], tuple[Sequence[str], I64]]
    empty: Callable[[IndexKind], DenseIndex]
    metadata: Callable[[int], Iterable[tuple[Ids, Sequence[str]]]] | None = None
    report: Callable[[str, int], None] = lambda _stage, _last: None
    checkpoint: Checkpoint | None = None


class Snapshot:
    """One snapshot: the ids of its documents, an index over their vectors, and an index over their words.

    Parameters
    ----------
    directory : Path
    ids : int64 array (n,)
        Ascending.
    index : PieceIndex
        Position i holds the vectors of ``ids[i]``.
    kind : IndexKind
    mean_terms : float
        Mean number of words of a piece.

    Attributes
    ----------
    fields : SnapshotFields, optional
        The metadata by field; None for few documents, or if an earlier version wrote the snapshot.
    """

    def __init__(
        self, directory: Path, ids: Ids, index: PieceIndex, kind: IndexKind, mean_terms: float
    ) -> None:
        self.directory = directory
        self.ids = ids
        self.index = index
        self.kind = kind
        self.mean_terms = mean_terms
        self.fields = _fields(directory)
        self._words: LexicalIndex | None = None

    @property
    def words(self) -> LexicalIndex:
        """The index over words; opened on first use."""
        if self._words is None:
            self._words = LexicalIndex.open(self.directory / _WORDS)
        return self._words

    @staticmethod
    def write(
        directory: Path,
        new: SnapshotInputs,
        old: tuple[Path, Ids] | None = None,
        files: FileTable | None = None,
    ) -> FileTable:
        """Write a new snapshot atomically: complete on return, absent on error.

        Parameters
        ----------
        directory : Path
            The directory to create; must not exist.
        new : SnapshotInputs
        old : tuple of Path and int64 array, optional
            An undamaged snapshot with vectors of the same encoder, and those of its ids that are still stored: their words
            are reused, and their vectors unless the new index is exact and the old one is not.
        files : mapping, optional
            Hashes and sizes of its files: those that the new snapshot shares are not read again.

        Returns
        -------
        mapping
            Hash and size of each file, for :meth:`damage`.
        """
        publish_directory(directory, lambda folder: Snapshot.fill(folder, new, old))
        return _table(directory, {} if old is None or files is None else _by_inode(old[0], files))

    @staticmethod
    def fill(folder: Path, new: SnapshotInputs, old: tuple[Path, Ids] | None = None) -> None:
        """Write the files of a snapshot into an empty folder, as :meth:`write` does, but neither synced nor hashed."""
        taken = None if old is None else _load_old(*old)
        built = None if taken is None else _extend(new, taken, folder / _ROWS)
        built = built or _build(new, folder / _ROWS)
        _write_built(folder, new, built, taken)
        _write_meta(folder, new, built, *_write_words(folder / _WORDS, new, taken))

    @staticmethod
    def join(directory: Path, new: SnapshotInputs, shards: Sequence[Path], ids: Ids) -> FileTable:
        """Write the snapshot of the documents of several, its shards, as :meth:`write` does: nothing is encoded again.

        Parameters
        ----------
        directory : Path
            The directory to create; must not exist, and lies in the file system of the shards.
        new : SnapshotInputs
        shards : sequence of Path
            Snapshots by the same encoder, all of one kind, whose ids ascend from one to the next; their files are linked.
            If that kind was trained for them, all begin with one trained index.
        ids : int64 array (n,)
            The documents that they are to hold.

        Returns
        -------
        mapping
            Hash and size of each file.

        Raises
        ------
        CorruptionError
            If a shard cannot be read, or they hold other documents.
        """

        def fill(folder: Path) -> None:
            every = [_load_old(shard) for shard in shards]
            built = _join(new, every, folder / _ROWS)
            if not np.array_equal(built.ids, ids):
                raise CorruptionError(
                    f"found {len(built.ids)} documents in {len(every)} shards; expected the {len(ids)} of the collection"
                )
            _write_built(folder, new, built, None)
            LexicalIndex.join(folder / _WORDS, [shard / _WORDS for shard in shards])
            _write_meta(
                folder, new, built, sum(s.documents for s in every), sum(s.words for s in every)
            )

        publish_directory(directory, fill)
        return _table(directory, {})

    @classmethod
    def open(cls, directory: Path, files: FileTable) -> Snapshot:
        """Open a snapshot after checking the sizes of its files.

        Raises
        ------
        CorruptionError
            If it is incomplete or damaged.
        """
        for name, expected in files.items():
            path = directory / name
            found = path.stat().st_size if path.is_file() else None
            if found != expected["bytes"]:
                raise CorruptionError(
                    f"{path} has {found} bytes; expected {expected['bytes']}: rebuild it: verify and fix the collection"
                )
        try:
            meta = json.loads((directory / _META).read_text())
            if meta.get("magic") != _MAGIC or meta.get("version") != _VERSION:
                raise CorruptionError(f"{directory} is not a {_MAGIC} of version {_VERSION}")
            ids = map_array(directory / _IDS)
            counts = _counts(directory, len(ids))
            kind = IndexKind(meta["kind"], meta["factory"])
            mean_terms = meta["words"] / max(1, meta["documents"])
        except (OSError, ValueError, LookupError, TypeError) as error:
            raise CorruptionError(f"{directory} cannot be read: {error}") from error
        index = DenseIndex.open(directory / _INDEX)
        vectors = _vectors(directory, index, kind.exact, meta["dimension"])
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
        """Return one line for each file that is missing or changed."""
        lines = []
        for name, expected in files.items():
            path = directory / name
            if not path.is_file():
                lines.append(f"{name} is missing")
            elif sha256_of_file(path) != expected["sha256"]:
                lines.append(f"{name} is not what was written")
        return lines


def _table(directory: Path, known: Mapping[int, Mapping[str, str | int]]) -> FileTable:
    """Return hash and size of each file; those of known inodes are not read."""
    return {
        path.relative_to(directory).as_posix(): known.get(path.stat().st_ino)
        or {"sha256": sha256_of_file(path), "bytes": path.stat().st_size}
        for path in sorted(directory.rglob("*"))
        if path.is_file() and path.suffix != ".lock"
    }


def _by_inode(directory: Path, files: FileTable) -> dict[int, Mapping[str, str | int]]:
    return {(directory / name).stat().st_ino: entry for name, entry in files.items()}


def _counts(directory: Path, documents: int) -> I64:
    """Return how many pieces each document has; one each without a file that says it."""
    path = directory / _COUNTS
    if not path.exists():
        return np.ones(documents, np.int64)
    return np.array(map_array(path))


def _fields(directory: Path) -> SnapshotFields | None:
    return SnapshotFields(directory / _FIELDS) if (directory / _FIELDS).is_dir() else None


def _vectors(
    directory: Path, index: DenseIndex, exact: bool, dimension: int
) -> DenseIndex | VectorRows | None:
    """Return where the values of a snapshot's vectors are; None if an earlier version kept those of texts alone."""
    if exact:
        return index
    return VectorRows.open(directory / _ROWS, dimension) if (directory / _ROWS).is_dir() else None


def _write_built(folder: Path, new: SnapshotInputs, built: Built, old: _OldSnapshot | None) -> None:
    """Write the index, what its positions stand for, and the fields of metadata."""
    built.index.write(folder / _INDEX)
    np.save(folder / _IDS, built.ids)
    if len(built.index) != len(built.ids):
        np.save(folder / _COUNTS, built.counts)
    if new.metadata is not None and len(built.ids) >= _LEAST_DOCUMENTS:
        _write_fields(folder / _FIELDS, new.metadata, old)


def _write_meta(
    folder: Path, new: SnapshotInputs, built: Built, documents: int, words: int
) -> None:
    meta = {
        "magic": _MAGIC,
        "version": _VERSION,
        "kind": new.kind.name,
        "factory": new.kind.factory,
        "vectors": len(built.index),
        "dimension": new.dimension,
        "fingerprint": new.fingerprint,
        "documents": documents,
        "words": words,
    }
    (folder / _META).write_text(json.dumps(meta, indent=1) + "\n")


def _build(new: SnapshotInputs, rows: Path) -> Built:
    start = None if new.checkpoint is None else new.checkpoint.load(new.dimension)
    if start is None:
        index = new.empty(new.kind)
        if new.checkpoint is not None:
            start = new.checkpoint.begin(index, new.dimension)
        else:
            none = np.zeros(0, np.int64)
            start = Built(index, none, none, _new_rows(new, rows))
    built = _add_after(new, start, int(start.ids[-1]) if len(start.ids) else 0)
    if built.rows is not None and len(built.index) and built.rows.path.parent != rows:
        rows.mkdir(mode=0o700)
        numbered(rows, 0).hardlink_to(built.rows.path)
    return built


def _new_rows(new: SnapshotInputs, rows: Path) -> RowsWriter | None:
    return None if new.kind.exact else RowsWriter(numbered(rows, 0), new.dimension)


def _add_after(new: SnapshotInputs, start: Built, after: int) -> Built:
    """Add the documents after an id to an index that holds the earlier ones, and close its rows."""
    ids, counts = [start.ids], [start.counts]
    with start.rows or nullcontext():
        for block, texts in new.texts(after):
            vectors, pieces = new.encode(texts)
            start.add(vectors)
            ids.append(block)
            counts.append(pieces)
            new.report("encode", int(block[-1]))
            if new.checkpoint is not None:
                new.checkpoint.keep(start, ids, counts)
    return replace(start, ids=np.concatenate(ids), counts=np.concatenate(counts))


@dataclass(frozen=True)
class _OldSnapshot:
    """A snapshot whose vectors and words are reused."""

    directory: Path
    ids: Ids
    counts: I64
    kept: npt.NDArray[np.bool_]
    factory: str
    vectors: DenseIndex | VectorRows | None
    documents: int
    words: int

    @property
    def last(self) -> int:
        return int(self.ids[-1]) if len(self.ids) else 0


def _load_old(directory: Path, alive: Ids | None = None) -> _OldSnapshot:
    ids = map_array(directory / _IDS)
    meta = json.loads((directory / _META).read_text())
    kind = IndexKind(meta["kind"], meta["factory"])
    kept = np.full(len(ids), True) if alive is None else np.isin(ids, alive, assume_unique=True)
    counts = _counts(directory, len(ids))
    index = DenseIndex.open(directory / _INDEX)
    vectors = _vectors(directory, index, kind.exact, meta["dimension"])
    return _OldSnapshot(
        directory,
        np.asarray(ids),
        counts,
        kept,
        kind.factory,
        vectors,
        meta["documents"],
        meta["words"],
    )


def _extend(new: SnapshotInputs, old: _OldSnapshot, rows: Path) -> Built | None:
    """Reuse the vectors of an old snapshot; None if they are not kept, or not exactly and the new index is exact."""
    if old.vectors is None or (new.kind.exact and not isinstance(old.vectors, DenseIndex)):
        return None
    kept = np.repeat(old.kept, old.counts)
    complete = bool(kept.all())
    if old.factory == new.kind.factory:
        index = DenseIndex.read(old.directory / _INDEX)
        filled = complete or index.keep(kept)
        if not filled:
            index.clear()
    else:
        index, filled = new.empty(new.kind), False
    linked = complete and isinstance(old.vectors, VectorRows)
    writer = (
        continued(old.directory / _ROWS, rows, new.dimension) if linked else _new_rows(new, rows)
    )
    copied = None if linked else writer
    places = np.flatnonzero(kept)
    if filled and copied is None:
        places = places[:0]
    for begin in range(0, len(places), _BLOCK):
        vectors = old.vectors.take(places[begin : begin + _BLOCK])
        if not filled:
            index.add(vectors)
        if copied is not None:
            copied.append(vectors)
    start = Built(index, old.ids[old.kept], old.counts[old.kept], writer)
    return _add_after(new, start, old.last)


def _join(new: SnapshotInputs, shards: Sequence[_OldSnapshot], rows: Path) -> Built:
    """Put the vectors of shards one after the other: codes as they are if they are of the new kind, else values."""
    ids = np.concatenate([shard.ids for shard in shards])
    counts = np.concatenate([shard.counts for shard in shards])
    if all(shard.factory == new.kind.factory for shard in shards):
        index = DenseIndex.read(shards[0].directory / _INDEX)
        for shard in shards[1:]:
            index.join(DenseIndex.read(shard.directory / _INDEX))
        if not new.kind.exact:
            linked(rows, [shard.directory / _ROWS for shard in shards])
        return Built(index, ids, counts, None)
    built = Built(new.empty(new.kind), ids, counts, _new_rows(new, rows))
    with built.rows or nullcontext():
        for shard in shards:
            assert shard.vectors is not None
            for begin in range(0, len(shard.vectors), _BLOCK):
                places = np.arange(begin, min(begin + _BLOCK, len(shard.vectors)))
                built.add(shard.vectors.take(places))
    return built


def _write_fields(
    folder: Path,
    metadata: Callable[[int], Iterable[tuple[Ids, Sequence[str]]]],
    old: _OldSnapshot | None,
) -> None:
    """Write the metadata by field, and read only that of new documents."""
    known = None if old is None else _fields(old.directory)
    if old is None or known is None:
        writer, after = FieldsWriter(), 0
    else:
        writer, after = FieldsWriter(known, old.kept), old.last
    for _, texts in metadata(after):
        writer.append(texts)
    writer.write(folder)


def _write_words(folder: Path, new: SnapshotInputs, old: _OldSnapshot | None) -> tuple[int, int]:
    """Write the index over words; return the numbers of documents and words ever added, for the mean length."""

    def blocks(after: int) -> Iterator[tuple[Ids, Sequence[str]]]:
        for block, texts in new.texts(after):
            pieces, counts = new.parts(texts)
            yield np.repeat(block, counts), pieces
            new.report("index words", int(block[-1]))

    if old is None:
        return LexicalIndex.write(folder, blocks(0))
    dead = old.ids[~old.kept]
    documents, words = LexicalIndex.write(folder, blocks(old.last), old.directory / _WORDS, dead)
    return old.documents + documents, old.words + words
