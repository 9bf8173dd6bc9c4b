"""The vectors of a spaCy pipeline, with its table of keys to rows: pruned pipelines let many words share a row."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import numpy as np
import numpy.typing as npt

from gem_index.errors import MissingExtraError, VectorFormatError
from gem_index.vectors.formats.base import VectorFile, check_matrix, matrix_chunks

__all__ = ["find_pipeline", "read_spacy"]


def find_pipeline(name: str) -> Path | None:
    """Return the folder of an installed pipeline package, or of a pipeline folder; None where it is none."""
    folder = Path(name).expanduser()
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
        If spaCy itself, which knows how its words are hashed, is not installed.
    """
    folder = find_pipeline(name)
    if folder is None:
        raise VectorFormatError(
            f"{name} is no spaCy pipeline; expected an installed package or a folder with vocab/strings.json"
        )
    try:
        from spacy.strings import StringStore
        from spacy.vectors import Vectors
    except ImportError as error:
        raise MissingExtraError("reading a spaCy pipeline", "spacy") from error
    vocab = folder / "vocab"
    settings = vocab / "vectors.cfg"
    try:
        mode = json.loads(settings.read_text()).get("mode") if settings.is_file() else None
        if mode == "floret":
            raise VectorFormatError(
                f"{name} has floret vectors, which have no words; expected a pipeline with a word table"
            )
        strings = StringStore().from_disk(vocab / "strings.json")
        vectors = Vectors(strings=strings).from_disk(vocab, exclude=["strings"])
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise VectorFormatError(f"the vectors of {name} cannot be read: {error}") from error
    matrix = np.asarray(vectors.data)
    if not matrix.size:
        raise VectorFormatError(
            f"{name} has no vectors; expected a pipeline that has, for example en_core_web_md"
        )
    dtype = check_matrix(matrix, name)

    def table() -> tuple[list[str], npt.NDArray[np.int64]]:
        known = [(row, strings[key]) for key, row in vectors.key2row.items() if key in strings]
        known.sort(key=lambda entry: entry[0])  # by row; within a row as the pipeline has them
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
