"""Write encoded texts to a ``.npy`` or ``.parquet`` file, streamed. Atomic: complete on return, absent on error."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np

from gem_index.errors import InputError
from gem_index.files.arrow import load_pyarrow
from gem_index.files.npy import NpyWriter
from gem_index.gem.batches import blocks_of_texts
from gem_index.gem.combined import Encoder
from gem_index.vectors.base import FloatArray

__all__ = ["write_vectors"]

_BLOCK = 32_768
_BLOCK_CHARACTERS = 8_000_000
_Block = tuple[list[str], list[str], FloatArray]  # ids, texts, vectors


def write_vectors(
    path: Path,
    encoder: Encoder,
    rows: Iterable[tuple[str, str]],
    progress: Callable[[int], None] | None = None,
) -> tuple[int, int]:
    """Encode texts into a file: one row per text, in the same order, in constant memory.

    Parameters
    ----------
    path : Path
        Ending in ``.npy`` (float32 matrix) or ``.parquet`` (columns ``id``, ``text`` and ``vector``). An existing file is
        replaced when the new one is complete.
    encoder : Encoder
    rows : iterable of (str, str)
        The id and the text of each row.
    progress : callable, optional
        Called with the number of texts encoded so far.

    Returns
    -------
    rows, empty : int
        The number of rows, and the number of zero rows (texts without words).

    Raises
    ------
    InputError
        If the name has another ending or the folder cannot be written.
    """
    writers = {".npy": _write_npy, ".parquet": _write_parquet}
    write = writers.get(path.suffix)
    if write is None:
        raise InputError(f"the output is {path}; expected a name ending in .npy or .parquet")
    written = empty = 0
    ids: deque[str] = deque()  # ids of texts that were read and not yet written

    def texts() -> Iterator[str]:
        for identifier, text in rows:
            ids.append(identifier)
            yield text

    def encoded() -> Iterator[_Block]:
        nonlocal written, empty
        for block in blocks_of_texts(texts(), _BLOCK, _BLOCK_CHARACTERS):
            vectors = encoder.encode(block)
            written += len(block)
            empty += int(np.count_nonzero(~vectors.any(axis=1)))
            yield [ids.popleft() for _ in block], block, vectors
            if progress is not None:
                progress(written)

    partial = path.with_name(f".{path.name}.partial-{os.getpid()}")
    try:
        with partial.open("wb"):
            pass
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InputError(f"cannot write {path}: {reason}; expected a writable folder") from error
    try:
        write(partial, encoder.dimension, encoded())
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
    return written, empty


def _write_npy(path: Path, dimension: int, encoded: Iterator[_Block]) -> None:
    with path.open("wb") as file, NpyWriter(file, dimension, np.float32) as writer:
        for _, _, vectors in encoded:
            writer.append(vectors)


def _write_parquet(path: Path, dimension: int, encoded: Iterator[_Block]) -> None:
    pa, pq = load_pyarrow("writing Parquet")
    vector = pa.list_(pa.float32(), dimension)
    schema = pa.schema([("id", pa.string()), ("text", pa.string()), ("vector", vector)])
    # few vectors and texts repeat, and looking for repeated values takes nine tenths of the time
    with pq.ParquetWriter(path, schema, use_dictionary=False) as writer:
        for ids, texts, vectors in encoded:
            columns = [
                pa.array(ids, pa.string()),
                pa.array(texts, pa.string()),
                pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), dimension),
            ]
            writer.write_table(pa.table(columns, schema=schema))
