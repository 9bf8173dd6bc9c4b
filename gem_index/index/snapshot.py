"""Immutable generations of a collection's index files."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from gem_index.errors import CorruptionError
from gem_index.files import publish_directory, sha256_of_file
from gem_index.index.checkpoint import Checkpoint
from gem_index.index.dense import DenseIndex
from gem_index.index.hits import Ids
from gem_index.index.kinds import IndexKind
from gem_index.index.lexical import LexicalIndex

__all__ = ["FileTable", "Snapshot", "SnapshotInputs"]

FileTable: TypeAlias = Mapping[str, Mapping[str, str | int]]

_BLOCK = 4096
_MAGIC = "gem-index snapshot"
_VERSION = 1
_META, _IDS, _INDEX, _WORDS = "snapshot.json", "ids.npy", "vectors.faiss", "words"


@dataclass(frozen=True)
class SnapshotInputs:
    """What a new generation is made of.

    Attributes
    ----------
    kind : IndexKind
    dimension : int
    fingerprint : str
        Of the encoder that makes the vectors.
    texts : callable
        Iterates over blocks of ids (``documents.seq``, ascending over all blocks) and texts, of the documents after an id.
    encode : callable
        Texts to float32 vectors (b, dimension).
    sample : callable
        Returns vectors for an index to learn from.
    report : callable
        Called with the name of a stage and the id up to which it is done.
    checkpoint : Checkpoint, optional
        Where to go on from and what to leave on the way, for a long one.
    """

    kind: IndexKind
    dimension: int
    fingerprint: str
    texts: Callable[[int], Iterable[tuple[Ids, Sequence[str]]]]
    encode: Callable[[Sequence[str]], npt.NDArray[np.float32]]
    sample: Callable[[], npt.NDArray[np.float32]]
    report: Callable[[str, int], None] = lambda _stage, _last: None
    checkpoint: Checkpoint | None = None


class Snapshot:
    """One generation: the ids of its documents, ascending, an index over their vectors, and one over their words.

    Parameters
    ----------
    directory : Path
    ids : int64 array (n,)
        Ascending.
    index : DenseIndex
        Position i holds the vector of ``ids[i]``.
    kind : IndexKind
    mean_terms : float
        Mean number of words of a document.
    """

    def __init__(
        self, directory: Path, ids: Ids, index: DenseIndex, kind: IndexKind, mean_terms: float
    ) -> None:
        self.directory = directory
        self.ids = ids
        self.index = index
        self.kind = kind
        self.mean_terms = mean_terms
        self._words: LexicalIndex | None = None

    @property
    def words(self) -> LexicalIndex:
        """The index over words; opened when first asked for."""
        if self._words is None:
            self._words = LexicalIndex.open(self.directory / _WORDS)
        return self._words

    @staticmethod
    def write(
        directory: Path,
        new: SnapshotInputs,
        old: tuple[Path, Ids] | None = None,
    ) -> dict[str, dict[str, str | int]]:
        """Write a new generation: wholly there when this returns, not at all when it raises.

        Parameters
        ----------
        directory : Path
            Its name; must not exist.
        new : SnapshotInputs
        old : tuple of Path and int64 array, optional
            A sound generation with vectors of the same encoder, and those of its ids that still live: their words are taken
            over, and their vectors where they are of the same kind or exact.

        Returns
        -------
        dict
            Hash and size of each file, for :meth:`damage`.
        """

        def fill(folder: Path) -> None:
            taken = None if old is None else _taken_over(*old)
            index, ids = (_extended(new, taken) if taken is not None else None) or _built(new)
            index.write(folder / _INDEX)
            np.save(folder / _IDS, ids)
            documents, words = _write_words(folder / _WORDS, new, taken)
            meta = {
                "magic": _MAGIC,
                "version": _VERSION,
                "kind": new.kind.name,
                "factory": new.kind.factory,
                "vectors": len(index),
                "dimension": new.dimension,
                "fingerprint": new.fingerprint,
                "documents": documents,
                "words": words,
            }
            (folder / _META).write_text(json.dumps(meta, indent=1) + "\n")

        publish_directory(directory, fill)
        return {
            path.relative_to(directory).as_posix(): {
                "sha256": sha256_of_file(path),
                "bytes": path.stat().st_size,
            }
            for path in sorted(directory.rglob("*"))
            if path.is_file() and path.suffix != ".lock"
        }

    @classmethod
    def open(cls, directory: Path, files: FileTable) -> Snapshot:
        """Map a generation after a look at its files' sizes.

        Raises
        ------
        CorruptionError
            If it is not whole.
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
                raise CorruptionError(f"{directory} is no {_MAGIC} of version {_VERSION}")
            ids = np.load(directory / _IDS, mmap_mode="r", allow_pickle=False)
            kind = IndexKind(meta["kind"], meta["factory"])
            mean_terms = meta["words"] / max(1, meta["documents"])
        except (OSError, ValueError, LookupError, TypeError) as error:
            raise CorruptionError(f"{directory} cannot be read: {error}") from error
        index = DenseIndex.open(directory / _INDEX)
        if len(index) != len(ids):
            raise CorruptionError(f"{directory} holds {len(index)} vectors and {len(ids)} ids")
        return cls(directory, ids, index, kind, mean_terms)

    @staticmethod
    def damage(directory: Path, files: FileTable) -> list[str]:
        """Return a line for each file whose bytes are not those that were written."""
        lines = []
        for name, expected in files.items():
            path = directory / name
            if not path.is_file():
                lines.append(f"{name} is missing")
            elif sha256_of_file(path) != expected["sha256"]:
                lines.append(f"{name} is not what was written")
        return lines


def _built(new: SnapshotInputs) -> tuple[DenseIndex, Ids]:
    begun = None if new.checkpoint is None else new.checkpoint.load()
    if begun is None:
        begun = DenseIndex.empty(new.dimension, new.kind, new.sample), np.zeros(0, np.int64)
    index, ids = begun
    return _filled(new, index, ids, int(ids[-1]) if len(ids) else 0)


def _filled(
    new: SnapshotInputs, index: DenseIndex, begun: Ids, after: int
) -> tuple[DenseIndex, Ids]:
    """Add the documents after an id to an index that holds those before."""
    ids = [begun]
    for block, texts in new.texts(after):
        index.add(new.encode(texts))
        ids.append(block)
        new.report("encode", int(block[-1]))
        if new.checkpoint is not None:
            new.checkpoint.keep(index, ids)
    return index, np.concatenate(ids)


@dataclass(frozen=True)
class _Old:
    """A generation whose vectors and words are taken over."""

    directory: Path
    ids: Ids
    kept: npt.NDArray[np.bool_]
    factory: str
    exact: bool

    @property
    def last(self) -> int:
        return int(self.ids[-1]) if len(self.ids) else 0


def _taken_over(directory: Path, alive: Ids) -> _Old:
    ids = np.load(directory / _IDS, mmap_mode="r", allow_pickle=False)
    meta = json.loads((directory / _META).read_text())
    kind = IndexKind(meta["kind"], meta["factory"])
    kept = np.isin(ids, alive, assume_unique=True)
    return _Old(directory, np.asarray(ids), kept, kind.factory, kind.exact)


def _extended(new: SnapshotInputs, old: _Old) -> tuple[DenseIndex, Ids] | None:
    """Take the vectors over: those of the same kind as they are, exact ones into any kind."""
    if old.factory == new.kind.factory:
        index = DenseIndex.read(old.directory / _INDEX)
        if not index.keep(old.kept):
            return None
    elif not old.exact:
        return None
    else:
        vectors = DenseIndex.open(old.directory / _INDEX)
        kept = np.flatnonzero(old.kept)
        index = DenseIndex.empty(new.dimension, new.kind, new.sample)
        for begin in range(0, len(kept), _BLOCK):
            index.add(vectors.take(kept[begin : begin + _BLOCK]))
    return _filled(new, index, old.ids[old.kept], old.last)


def _write_words(folder: Path, new: SnapshotInputs, old: _Old | None) -> tuple[int, int]:
    """Write the index over words; return the documents and words ever added to it, for their mean."""

    def blocks(after: int) -> Iterator[tuple[Ids, Sequence[str]]]:
        for block, texts in new.texts(after):
            yield block, texts
            new.report("index words", int(block[-1]))

    if old is None:
        return LexicalIndex.write(folder, blocks(0))
    meta = json.loads((old.directory / _META).read_text())
    dead = old.ids[~old.kept]
    documents, words = LexicalIndex.write(folder, blocks(old.last), old.directory / _WORDS, dead)
    return meta["documents"] + documents, meta["words"] + words
