"""Word vectors stored in a folder: written once, mapped when used, with a hash of every file."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from gem_index.common.json_input import read_json_file
from gem_index.errors import ConfigError, CorruptionError, InputError, VectorFormatError
from gem_index.errors.quoting import quoted
from gem_index.files.inputs import sha256_of_file, user_path
from gem_index.files.npy import map_array
from gem_index.files.publishing import disk_errors, publish_directory
from gem_index.vectors.formats.base import Ngrams, Pieces, VectorChunk, VectorFile
from gem_index.vectors.mapped import MappedVectors
from gem_index.vectors.ngrams import NgramTable
from gem_index.vectors.options import SourceOptions
from gem_index.vectors.rows import Rows, RowWriter
from gem_index.vectors.runs import mostly_runs
from gem_index.vectors.subword import SubwordVectors
from gem_index.vectors.vocabulary import Vocabulary

__all__ = [
    "ImportReport",
    "StoredVectors",
    "damaged_files",
    "findings_of",
    "import_vectors",
    "is_stored",
    "open_stored",
    "open_unstored",
    "vector_file",
]

StoredVectors: TypeAlias = MappedVectors | SubwordVectors

_MAGIC = "gem-index word vectors"
_VERSION = 2
_READABLE = (1, 2)  # version 1 holds only words, without options
_META = "vectors.json"
_TOKENIZER = "tokenizer.json"
_ROW_OF_WORD = "row_of_word.npy"
_FREQUENT = 2000  # number of words that show the script of a table


@dataclass(frozen=True)
class ImportReport:
    """Problems that were tolerated while importing a file of word vectors.

    Attributes
    ----------
    duplicates : int
        Repeated words; the first one counts.
    empty : int
        Rows with an empty word, which no look-up finds.
    latin1 : int
        Words that were not UTF-8 and were read as Latin-1.
    spaced : int
        Words that contain a space.
    loss : dict, optional
        Mean and largest relative error of a row, if numbers are stored with fewer bits than in the file.
    """

    duplicates: int = 0
    empty: int = 0
    latin1: int = 0
    spaced: int = 0
    loss: dict[str, float] | None = None


def import_vectors(
    file: VectorFile,
    folder: Path,
    progress: Callable[[int], None] | None = None,
    options: SourceOptions | None = None,
) -> StoredVectors:
    """Copy word vectors into a folder, in one pass and with one chunk of rows in memory.

    Parameters
    ----------
    file : VectorFile
        The vectors to copy.
    folder : Path
        The folder to create: complete on return, absent on error.
    progress : callable, optional
        Called with the number of rows read so far.
    options : SourceOptions, optional

    Raises
    ------
    VectorFormatError
        If the file is damaged or of another format.
    ConfigError
        If the options do not fit the file.
    """
    with disk_errors("the word vectors"):
        publish_directory(
            folder, lambda target: _fill(target, file, options or SourceOptions(), progress)
        )
    return open_stored(folder)


def open_unstored(file: VectorFile, options: SourceOptions | None = None) -> StoredVectors:
    """Open a file of word vectors without storing it: import it into a temporary folder, map it, and remove the folder."""
    with tempfile.TemporaryDirectory(prefix="gem-index-") as folder:
        _fill(Path(folder), file, options or SourceOptions(), None)
        source = open_stored(Path(folder))
        if isinstance(source, SubwordVectors):
            source.load()
    return source


def _fill(
    target: Path,
    file: VectorFile,
    options: SourceOptions,
    progress: Callable[[int], None] | None,
) -> None:
    composition = file.composition
    if options.oov == "subword" and composition is None:
        raise ConfigError(
            f"oov is 'subword' and {file.origin} has no n-grams; expected hash or zero, or a fastText .bin model"
        )
    dtype = np.dtype(options.dtype) if options.dtype else file.dtype
    words: list[str] = []
    with RowWriter(target, "matrix", file.dimension, dtype) as rows:
        for chunk_words, chunk in _limited(file, options.limit):
            words += chunk_words
            rows.append(chunk)
            if progress is not None:
                progress(rows.rows)
    if not rows.rows:
        raise VectorFormatError(f"{file.origin} holds no words; expected at least one")
    options = options.decided(
        has_ngrams=isinstance(composition, Ngrams), has_runs=mostly_runs(words[:_FREQUENT])
    )
    counts = {name: file.oddities[name] for name in ("latin1", "spaced")}
    parts: dict[str, Any] = {"kind": "words"}
    if isinstance(composition, Pieces):
        shutil.copyfile(composition.tokenizer, target / _TOKENIZER)
        rule = {"rule": composition.rule, "left_out": composition.left_out}
        parts = {"kind": "pieces", "pieces": rule}
    else:
        if file.table is not None:
            words, row_of_word = _shared_rows(file, rows.rows)
            np.save(target / _ROW_OF_WORD, row_of_word)
        vocabulary = Vocabulary.build(words)
        vocabulary.save(target)
        counts |= {"duplicates": vocabulary.duplicates(), "empty": sum(not word for word in words)}
        if isinstance(composition, Ngrams) and options.oov == "subword":
            with RowWriter(target, "ngrams", file.dimension, dtype) as buckets:
                for block in composition.rows():
                    buckets.append(block)
            parts["ngrams"] = {"shortest": composition.shortest, "longest": composition.longest}
    meta = {
        "magic": _MAGIC,
        "version": _VERSION,
        **parts,
        "options": json.loads(options.to_json()),
        "findings": {
            **counts,
            "loss": rows.loss.summary() if rows.loss.rows else None,
        },
    }
    meta["fingerprint"] = _open_parts(target, meta).fingerprint
    meta["files"] = {path.name: sha256_of_file(path) for path in sorted(target.iterdir())}
    (target / _META).write_text(json.dumps(meta, indent=1) + "\n")


def _limited(file: VectorFile, limit: int | None) -> Iterator[VectorChunk]:
    """Iterate over chunks of at most ``limit`` rows in total."""
    if limit is not None and file.table is not None:
        raise ConfigError(
            f"found a limit for {file.origin}, whose words share rows; expected no limit"
        )
    left = limit
    chunks = file.chunks()
    while left is None or left > 0:
        chunk = next(chunks, None)
        if chunk is None:
            return
        words, rows = chunk
        yield words[:left], rows[:left]
        left = left if left is None else left - len(rows)


def _shared_rows(file: VectorFile, rows: int) -> tuple[list[str], np.ndarray[Any, Any]]:
    assert file.table is not None
    words, row_of_word = file.table()
    if len(row_of_word) and not 0 <= int(row_of_word.min()) <= int(row_of_word.max()) < rows:
        raise VectorFormatError(
            f"{file.origin} names row {int(row_of_word.max())} of {rows}; expected rows that exist"
        )
    return list(words), row_of_word


def open_stored(folder: Path) -> StoredVectors:
    """Map a folder that :func:`import_vectors` wrote.

    Raises
    ------
    CorruptionError
        If the folder is incomplete or damaged.
    """
    try:
        meta = _meta(folder)
        if meta["magic"] != _MAGIC or meta["version"] not in _READABLE:
            raise CorruptionError(
                f"{folder} is {quoted(meta['magic'])} version {quoted(meta['version'])}; "
                f"expected {_MAGIC!r} version {_VERSION}"
            )
        return _open_parts(folder, meta)
    except (OSError, ValueError, InputError, LookupError, TypeError, AttributeError) as error:
        raise CorruptionError(
            f"the word vectors in {folder} cannot be opened ({quoted(str(error), 200)}); remove and add them again"
        ) from error


def _open_parts(folder: Path, meta: dict[str, Any]) -> StoredVectors:
    options = SourceOptions.of_stored(meta.get("options", {}))
    fingerprint = meta.get("fingerprint")
    rows = Rows.open(folder, "matrix")
    if meta.get("kind") == "pieces":
        return SubwordVectors(
            rows,
            Pieces(folder / _TOKENIZER, **meta["pieces"]),
            options,
            fingerprint=fingerprint,
        )
    row_of_word = None
    if (folder / _ROW_OF_WORD).is_file():
        row_of_word = map_array(folder / _ROW_OF_WORD)
    ngrams = None
    if "ngrams" in meta:
        ngrams = NgramTable(Rows.open(folder, "ngrams"), **meta["ngrams"])
    return MappedVectors(
        rows,
        Vocabulary.open(folder),
        options,
        row_of_word=row_of_word,
        ngrams=ngrams,
        fingerprint=fingerprint,
    )


def _meta(folder: Path) -> dict[str, Any]:
    meta = read_json_file(folder / _META)
    if not isinstance(meta, dict):
        raise InputError(f"{folder / _META} holds {quoted(meta)}; expected an object")
    return meta


def is_stored(path: Path) -> bool:
    """Tell whether a folder is one that :func:`import_vectors` wrote."""
    return (path / _META).is_file()


def vector_file(source: str | Path, format: str | None = None) -> VectorFile:
    """Open a file or folder of word vectors, also one that :func:`import_vectors` wrote."""
    path = user_path(source)
    if format is None and is_stored(path):
        return open_stored(path).as_file(str(source), "folder")
    from gem_index.vectors.formats.registry import read_vectors

    return read_vectors(source, format)


def findings_of(folder: Path) -> ImportReport:
    """Return the report of the import into a folder.

    Raises
    ------
    CorruptionError
        If the folder is incomplete or damaged.
    """
    try:
        return ImportReport(**_meta(folder)["findings"])
    except (OSError, ValueError, InputError, LookupError, TypeError, AttributeError) as error:
        raise CorruptionError(
            f"{folder / _META} cannot be read ({quoted(str(error), 200)}); remove the word vectors and add them again"
        ) from error


def damaged_files(folder: Path) -> list[str]:
    """Return the names of missing or changed files in a folder."""
    try:
        files: dict[str, str] = _meta(folder)["files"]
    except (OSError, InputError, LookupError):
        return [_META]
    return [
        name
        for name, expected in files.items()
        if not (folder / name).is_file() or sha256_of_file(folder / name) != expected
    ]
