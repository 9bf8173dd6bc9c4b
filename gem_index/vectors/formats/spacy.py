"""The vectors of a spaCy pipeline, with its table from keys to rows: in pruned pipelines many words share a row."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gem_index.common.json_input import read_json_file
from gem_index.errors import InputError, MissingExtraError, VectorFormatError
from gem_index.errors.quoting import quoted
from gem_index.files.inputs import user_path
from gem_index.vectors.formats.arrays import map_npy
from gem_index.vectors.formats.base import VectorFile, check_matrix, matrix_chunks
from gem_index.vectors.formats.inputs import foreign_reader

__all__ = ["find_pipeline", "read_spacy"]


def find_pipeline(name: str) -> Path | None:
    """Return the folder of an installed pipeline package, or of a pipeline folder; None if there is no such pipeline."""
    folder = user_path(name)
    if not folder.is_dir():
        if not name.isidentifier():
            return None
        try:
            found = importlib.util.find_spec(name)  # finds, does not import
        except (ImportError, ValueError):
            return None
        if found is None or found.origin is None:
            return None
        folder = Path(found.origin).parent
    for candidate in (folder, *sorted(folder.glob(f"{folder.name}-*"))):
        if (candidate / "vocab" / "strings.json").is_file():
            return candidate
    return None


def read_spacy(name: str) -> VectorFile:
    """Open the vectors of a spaCy pipeline, by the name of its installed package or its folder.

    Raises
    ------
    MissingExtraError
        If spaCy, which is needed to hash words, is not installed.
    """
    folder = find_pipeline(name)
    if folder is None:
        raise VectorFormatError(
            f"{name} is not a spaCy pipeline; expected an installed package or a folder with vocab/strings.json"
        )
    try:
        from spacy.strings import StringStore
    except ImportError as error:
        raise MissingExtraError("reading a spaCy pipeline", "spacy") from error
    vocab = folder / "vocab"
    try:
        floret = _mode(vocab / "vectors.cfg") == "floret"
        words = read_json_file(vocab / "strings.json")
        rows_of_keys = _rows_of_keys(vocab / "key2row")
        stored = vocab / "vectors"
        matrix = map_npy(str(stored)) if stored.is_file() else np.empty((0, 0))
        with foreign_reader(f"{vocab / 'strings.json'} is not a list of words", "one"):
            strings = StringStore(words if isinstance(words, list) else [words])
    except (OSError, InputError) as error:
        reason = quoted(str(error), 120) if isinstance(error, OSError) else error
        raise VectorFormatError(f"the vectors of {name} cannot be read: {reason}") from error
    if floret:
        raise VectorFormatError(
            f"{name} has floret vectors, which have no words; expected a pipeline with a word table"
        )
    if not matrix.size:
        raise VectorFormatError(
            f"{name} has no vectors; expected a pipeline with vectors, for example en_core_web_md"
        )
    dtype = check_matrix(matrix, name)

    def table() -> tuple[list[str], npt.NDArray[np.int64]]:
        known = [(row, strings[key]) for key, row in rows_of_keys.items() if key in strings]
        known.sort(key=lambda entry: entry[0])  # by row; within a row in the pipeline's order
        rows = np.array([row for row, _ in known], dtype=np.int64)
        return [word for _, word in known], rows

    return VectorFile(
        name,
        "spacy",
        matrix.shape[1],
        dtype,
        lambda: matrix_chunks(matrix, (), f"{name} row", dtype),
        words=len(matrix),
        table=table,
    )


def _mode(settings: Path) -> object:
    if not settings.is_file():
        return None
    found = read_json_file(settings)
    if not isinstance(found, dict):
        raise VectorFormatError(f"{settings} holds {quoted(found)}; expected an object")
    return found.get("mode")


_SIZES = {0xCC: 1, 0xCD: 2, 0xCE: 4, 0xCF: 8}  # of MessagePack's unsigned integers


def _rows_of_keys(path: Path) -> dict[Any, int]:
    """Read the row of each key from a MessagePack map of unsigned integers.

    spaCy's own library is not used: it creates any object that a file names, and allocates any size that it announces.

    Raises
    ------
    VectorFormatError
        If it is not such a map.
    """
    data = path.read_bytes() if path.is_file() else b"\x80"
    position = 0

    def take(size: int) -> int:
        nonlocal position
        position += size
        return int.from_bytes(data[position - size : position], "big")

    def number() -> int:
        code = take(1)
        return code if code < 0x80 else take(_SIZES[code])

    found: dict[Any, int] = {}
    try:
        kind = take(1)
        count = kind & 0x0F if kind & 0xF0 == 0x80 else take({0xDE: 2, 0xDF: 4}[kind])
        while count and position < len(data):
            key = number()
            found[key] = number()
            count -= 1
    except KeyError:
        count = 1
    if count or position != len(data) or max(found.values(), default=0) >= 1 << 62:
        raise VectorFormatError(
            f"{path} is damaged at byte {min(position, len(data))}; expected the rows of spaCy's keys"
        )
    return found
