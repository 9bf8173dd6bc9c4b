"""Write snapshots: from texts, from an older snapshot, or from shards."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol, TypeAlias

import numpy as np

from gem_index.common.arrays import F32, I64, Mask
from gem_index.errors import CorruptionError
from gem_index.files.inputs import sha256_of_file
from gem_index.files.npy import map_array
from gem_index.files.publishing import publish_directory
from gem_index.index.checkpoint import Built, Checkpoint
from gem_index.index.dense import DenseIndex
from gem_index.index.fields import FieldsWriter
from gem_index.index.hits import Ids
from gem_index.index.kinds import IndexKind
from gem_index.index.lexical import LexicalIndex
from gem_index.index.rows import RowsWriter, VectorRows, continued, linked, numbered
from gem_index.index.snapshot import (
    COUNTS,
    FIELDS,
    IDS,
    INDEX,
    MAGIC,
    META,
    ROWS,
    VERSION,
    WORDS,
    FileTable,
    fields_of,
    piece_counts,
    values_of,
)
from gem_index.text.analyzer import Analyzer

__all__ = [
    "Blocks",
    "NewSnapshot",
    "SnapshotSource",
    "fill_snapshot",
    "join_snapshots",
    "write_snapshot",
]

_BLOCK = 4096
_LEAST_DOCUMENTS = 20_000
"""A snapshot with fewer documents has no files of fields, because a filter then takes at most 15 ms without files."""

Blocks: TypeAlias = Iterable[tuple[Ids, Sequence[str]]]
"""Blocks of ids (``documents.seq``, ascending over all blocks) with a text for each id."""


class SnapshotSource(Protocol):
    """The documents of a snapshot, and the functions that encode them."""

    def texts(self, after: int) -> Blocks:
        """Iterate over the texts of the documents with an id above ``after``."""
        ...

    def metadata(self, after: int) -> Blocks | None:
        """Iterate over the metadata (JSON) of the documents with an id above ``after``; None if fields are not written."""
        ...

    def parts(self, texts: Sequence[str]) -> tuple[Sequence[str], I64]:
        """Return the pieces of b texts, in order, and the number of pieces of each text, int64 (b,)."""
        ...

    def rows(self, texts: Sequence[str]) -> tuple[F32, I64]:
        """Return the vectors of the pieces of b texts (p, dimension), and the number of pieces of each text, int64 (b,)."""
        ...

    def empty(self, kind: IndexKind) -> DenseIndex:
        """Return an empty index of a kind; if the kind needs training, the index is trained."""
        ...

    def report(self, stage: str, last: int) -> None:
        """Report that a stage is finished up to the document ``last``."""
        ...


@dataclass(frozen=True)
class NewSnapshot:
    """A snapshot to write.

    Attributes
    ----------
    kind : IndexKind
    dimension : int
    fingerprint : str
        The index fingerprint: the encoder's fingerprint, the chunking and the analyzer.
    analyzer : Analyzer
    source : SnapshotSource
    checkpoint : Checkpoint, optional
        The saved progress; a long build resumes from it and updates it.
    """

    kind: IndexKind
    dimension: int
    fingerprint: str
    analyzer: Analyzer
    source: SnapshotSource
    checkpoint: Checkpoint | None = None


def write_snapshot(
    directory: Path,
    new: NewSnapshot,
    old: tuple[Path, Ids] | None = None,
    files: FileTable | None = None,
) -> FileTable:
    """Write a new snapshot; after an error, no incomplete snapshot is left.

    Parameters
    ----------
    directory : Path
        The directory to create. It must not exist.
    new : NewSnapshot
    old : tuple of Path and int64 array, optional
        An undamaged snapshot with vectors of the same encoder, and the ids of its documents that are still present. The
        words of these documents are reused. Their vectors are reused too, except if the new index is exact and the old
        index is not.
    files : mapping, optional
        The hashes and sizes of the old snapshot's files. With them, files that both snapshots share are not read again.

    Returns
    -------
    mapping
        The hash and size of each file, for :meth:`Snapshot.damage`.
    """
    publish_directory(directory, lambda folder: fill_snapshot(folder, new, old))
    return _table(directory, {} if old is None or files is None else _by_inode(old[0], files))


def fill_snapshot(folder: Path, new: NewSnapshot, old: tuple[Path, Ids] | None = None) -> None:
    """Write the files of a snapshot into an empty folder, like :func:`write_snapshot`, but without syncing and hashes."""
    taken = None if old is None else _load_old(*old)
    built = None if taken is None else _extend(new, taken, folder / ROWS)
    built = built or _build(new, folder / ROWS)
    _write_built(folder, new, built, taken)
    _write_meta(folder, new, built, *_write_words(folder / WORDS, new, taken))


def join_snapshots(
    directory: Path, new: NewSnapshot, shards: Sequence[Path], ids: Ids
) -> FileTable:
    """Join several snapshots (shards) into a new snapshot, like :func:`write_snapshot`; nothing is encoded again.

    Parameters
    ----------
    directory : Path
        The directory to create. It must not exist, and must be in the same file system as the shards.
    new : NewSnapshot
    shards : sequence of Path
        Snapshots of one encoder and one kind; the ids ascend from each shard to the next. The files of the shards are
        linked. If the kind needs training, all shards must come from the same trained index.
    ids : int64 array (n,)
        The documents that the shards must have together.

    Returns
    -------
    mapping
        The hash and size of each file.

    Raises
    ------
    CorruptionError
        If a shard cannot be read, or the shards have other documents.
    """

    def fill(folder: Path) -> None:
        every = [_load_old(shard) for shard in shards]
        built = _join(new, every, folder / ROWS)
        if not np.array_equal(built.ids, ids):
            raise CorruptionError(
                f"found {len(built.ids)} documents in {len(every)} shards; expected the {len(ids)} of the collection"
            )
        _write_built(folder, new, built, None)
        LexicalIndex.join(folder / WORDS, [shard / WORDS for shard in shards])
        _write_meta(
            folder, new, built, sum(s.documents for s in every), sum(s.words for s in every)
        )

    publish_directory(directory, fill)
    return _table(directory, {})


def _table(directory: Path, known: Mapping[int, Mapping[str, str | int]]) -> FileTable:
    """Return the hash and size of each file; files with known inodes are not read again."""
    return {
        path.relative_to(directory).as_posix(): known.get(path.stat().st_ino)
        or {"sha256": sha256_of_file(path), "bytes": path.stat().st_size}
        for path in sorted(directory.rglob("*"))
        if path.is_file() and path.suffix != ".lock"
    }


def _by_inode(directory: Path, files: FileTable) -> dict[int, Mapping[str, str | int]]:
    return {(directory / name).stat().st_ino: entry for name, entry in files.items()}


def _write_built(folder: Path, new: NewSnapshot, built: Built, old: _OldSnapshot | None) -> None:
    """Write the index, the ids at its positions, and the fields of the metadata."""
    built.index.write(folder / INDEX)
    np.save(folder / IDS, built.ids)
    if len(built.index) != len(built.ids):
        np.save(folder / COUNTS, built.counts)
    if len(built.ids) >= _LEAST_DOCUMENTS:
        _write_fields(folder / FIELDS, new.source, old)


def _write_meta(folder: Path, new: NewSnapshot, built: Built, documents: int, words: int) -> None:
    meta = {
        "magic": MAGIC,
        "version": VERSION,
        "kind": new.kind.name,
        "factory": new.kind.factory,
        "vectors": len(built.index),
        "dimension": new.dimension,
        "fingerprint": new.fingerprint,
        "documents": documents,
        "words": words,
    }
    (folder / META).write_text(json.dumps(meta, indent=1) + "\n")


def _build(new: NewSnapshot, rows: Path) -> Built:
    start = None if new.checkpoint is None else new.checkpoint.load(new.dimension)
    if start is None:
        index = new.source.empty(new.kind)
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


def _new_rows(new: NewSnapshot, rows: Path) -> RowsWriter | None:
    return None if new.kind.exact else RowsWriter(numbered(rows, 0), new.dimension)


def _add_after(new: NewSnapshot, start: Built, after: int) -> Built:
    """Add the documents with an id above ``after`` to an index of the earlier documents; close the file of its vectors."""
    ids, counts = [start.ids], [start.counts]
    with start.rows or nullcontext():
        for block, texts in new.source.texts(after):
            vectors, pieces = new.source.rows(texts)
            start.add(vectors)
            ids.append(block)
            counts.append(pieces)
            new.source.report("encode", int(block[-1]))
            if new.checkpoint is not None:
                new.checkpoint.keep(start, ids, counts)
    return replace(start, ids=np.concatenate(ids), counts=np.concatenate(counts))


@dataclass(frozen=True)
class _OldSnapshot:
    """An existing snapshot whose vectors and words are reused."""

    directory: Path
    ids: Ids
    counts: I64
    kept: Mask
    factory: str
    vectors: DenseIndex | VectorRows | None
    documents: int
    words: int

    @property
    def last(self) -> int:
        return int(self.ids[-1]) if len(self.ids) else 0


def _load_old(directory: Path, alive: Ids | None = None) -> _OldSnapshot:
    ids = map_array(directory / IDS)
    meta = json.loads((directory / META).read_text())
    kind = IndexKind(meta["kind"], meta["factory"])
    kept = np.full(len(ids), True) if alive is None else np.isin(ids, alive, assume_unique=True)
    counts = piece_counts(directory, len(ids))
    index = DenseIndex.open(directory / INDEX)
    vectors = values_of(directory, index, kind.exact, meta["dimension"])
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


def _extend(new: NewSnapshot, old: _OldSnapshot, rows: Path) -> Built | None:
    """Reuse the vectors of an old snapshot; None if it has none, or if only the new index is exact."""
    if old.vectors is None or (new.kind.exact and not isinstance(old.vectors, DenseIndex)):
        return None
    kept = np.repeat(old.kept, old.counts)
    complete = bool(kept.all())
    if old.factory == new.kind.factory:
        index = DenseIndex.read(old.directory / INDEX)
        filled = complete or index.keep(kept)
        if not filled:
            index.clear()
    else:
        index, filled = new.source.empty(new.kind), False
    links_rows = complete and isinstance(old.vectors, VectorRows)
    writer = (
        continued(old.directory / ROWS, rows, new.dimension) if links_rows else _new_rows(new, rows)
    )
    copied = None if links_rows else writer
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


def _join(new: NewSnapshot, shards: Sequence[_OldSnapshot], rows: Path) -> Built:
    """Join the vectors of shards: copy the codes if the shards have the new kind, else index the vectors again."""
    ids = np.concatenate([shard.ids for shard in shards])
    counts = np.concatenate([shard.counts for shard in shards])
    if all(shard.factory == new.kind.factory for shard in shards):
        index = DenseIndex.read(shards[0].directory / INDEX)
        for shard in shards[1:]:
            index.join(DenseIndex.read(shard.directory / INDEX))
        if not new.kind.exact:
            linked(rows, [shard.directory / ROWS for shard in shards])
        return Built(index, ids, counts, None)
    built = Built(new.source.empty(new.kind), ids, counts, _new_rows(new, rows))
    with built.rows or nullcontext():
        for shard in shards:
            assert shard.vectors is not None
            for begin in range(0, len(shard.vectors), _BLOCK):
                places = np.arange(begin, min(begin + _BLOCK, len(shard.vectors)))
                built.add(shard.vectors.take(places))
    return built


def _write_fields(folder: Path, source: SnapshotSource, old: _OldSnapshot | None) -> None:
    """Write the metadata by field; only the metadata of new documents are read."""
    known = None if old is None else fields_of(old.directory)
    if old is None or known is None:
        writer, after = FieldsWriter(), 0
    else:
        writer, after = FieldsWriter(known, old.kept), old.last
    blocks = source.metadata(after)
    if blocks is None:
        return
    for _, texts in blocks:
        writer.append(texts)
    writer.write(folder)


def _write_words(folder: Path, new: NewSnapshot, old: _OldSnapshot | None) -> tuple[int, int]:
    """Write the word index; return how many texts and terms were ever added to it, for the mean length of a text."""

    def blocks(after: int) -> Iterator[tuple[Ids, Sequence[str]]]:
        for block, texts in new.source.texts(after):
            pieces, counts = new.source.parts(texts)
            yield np.repeat(block, counts), pieces
            new.source.report("index words", int(block[-1]))

    if old is None:
        return LexicalIndex.write(folder, blocks(0), new.analyzer)
    dead = old.ids[~old.kept]
    words_before = old.directory / WORDS
    documents, words = LexicalIndex.write(
        folder, blocks(old.last), new.analyzer, words_before, dead
    )
    return old.documents + documents, old.words + words
