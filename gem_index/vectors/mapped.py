"""Word vectors as a matrix with a vocabulary, mapped from disk; unknown words by SHA-256 (spec section 2)."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from gem_index.errors import CorruptionError, VectorFormatError
from gem_index.files import publish_directory, sha256_of_file
from gem_index.npy import NpyWriter
from gem_index.vectors.base import BoolArray, FloatArray
from gem_index.vectors.formats import VectorFile
from gem_index.vectors.vocabulary import Vocabulary

__all__ = ["MappedVectors", "import_vectors"]

_MAGIC = "gem-index word vectors"
_VERSION = 1
_META = "vectors.json"
_MATRIX = "matrix.npy"


class MappedVectors:
    """A matrix of word vectors; a word that it does not hold takes the row that its SHA-256 digest names.

    Parameters
    ----------
    matrix : float16 or float32 array (V, d)
        Row i is the vector of word i.
    vocabulary : Vocabulary
        The V words.
    fingerprint : str
        As :func:`content_fingerprint` gives it.
    """

    def __init__(
        self, matrix: npt.NDArray[np.floating], vocabulary: Vocabulary, fingerprint: str
    ) -> None:
        self.matrix = matrix
        self.vocabulary = vocabulary
        self.fingerprint = fingerprint

    @property
    def dimension(self) -> int:
        """Length of a word's vector."""
        return int(self.matrix.shape[1])

    @classmethod
    def from_words(cls, words: Sequence[str], matrix: npt.NDArray[np.floating]) -> MappedVectors:
        """Make a source of words and rows in memory.

        Raises
        ------
        VectorFormatError
            If there are not as many words as rows, or a number is not finite.
        """
        if matrix.ndim != 2 or len(words) != len(matrix) or not np.isfinite(matrix).all():
            raise VectorFormatError(
                f"found {len(words)} words and a matrix of shape {matrix.shape}; "
                "expected a finite (words, dimension) matrix"
            )
        if matrix.dtype != np.float16:
            matrix = matrix.astype(np.float32)
        vocabulary = Vocabulary.build(words)
        return cls(matrix, vocabulary, content_fingerprint(matrix, vocabulary))

    @classmethod
    def read(cls, file: VectorFile) -> MappedVectors:
        """Read a whole vector file into memory."""
        words: list[str] = []
        blocks = []
        for chunk_words, rows in file.chunks():
            words += chunk_words
            blocks.append(rows)
        if not blocks:
            raise VectorFormatError(f"{file.path} holds no words; expected at least one")
        return cls.from_words(words, np.concatenate(blocks))

    @classmethod
    def open(cls, folder: Path) -> MappedVectors:
        """Map a folder that :func:`import_vectors` wrote.

        Raises
        ------
        CorruptionError
            If the folder is not whole.
        """
        try:
            meta = json.loads((folder / _META).read_text())
            if meta["magic"] != _MAGIC or meta["version"] != _VERSION:
                raise CorruptionError(
                    f"{folder} is {meta['magic']!r} version {meta['version']}; expected {_MAGIC!r} version {_VERSION}"
                )
            matrix = np.load(folder / _MATRIX, mmap_mode="r", allow_pickle=False)
            return cls(matrix, Vocabulary.open(folder), meta["fingerprint"])
        except (OSError, ValueError, KeyError) as error:
            raise CorruptionError(
                f"the word vectors in {folder} cannot be opened ({error}); remove and add them again"
            ) from error

    def lookup(self, tokens: Sequence[str]) -> tuple[FloatArray, BoolArray]:
        """Return the vectors of some words; see :class:`~gem_index.vectors.base.VectorSource`."""
        rows = self.vocabulary.find(tokens)
        unknown = rows < 0
        missing, size = np.flatnonzero(unknown), len(self.vocabulary)
        rows[missing] = [_row_of_unknown(tokens[i], size) for i in missing.tolist()]
        return self.matrix[rows].astype(np.float32), unknown

    def frequent_words(self) -> Sequence[str] | None:
        """Return the vocabulary, or None where its words are in alphabetical order."""
        sample = self.vocabulary[:2000]
        ascending = sum(a < b for a, b in itertools.pairwise(sample))
        # In order of frequency about half of all neighbours ascend; in alphabetical order nearly all do.
        if len(sample) < 20 or ascending > 0.9 * (len(sample) - 1):
            return None
        return self.vocabulary


def _row_of_unknown(word: str, size: int) -> int:
    return int.from_bytes(hashlib.sha256(word.encode()).digest(), "big") % size


def content_fingerprint(matrix: npt.NDArray[np.floating], vocabulary: Vocabulary) -> str:
    """Return the SHA-256 over kind, shape and bytes of the matrix and over the words."""
    state = hashlib.sha256(f"{_MAGIC} {matrix.dtype.str} {matrix.shape}\n".encode())
    step = 1 << 14
    for begin in range(0, len(matrix), step):
        state.update(np.ascontiguousarray(matrix[begin : begin + step]).data)
    for begin in range(0, len(vocabulary), step):
        state.update(("\n".join(vocabulary[begin : begin + step]) + "\n").encode())
    return state.hexdigest()


def import_vectors(
    file: VectorFile, folder: Path, progress: Callable[[int], None] | None = None
) -> MappedVectors:
    """Copy a vector file into a mapped folder, in one pass and with one chunk of rows in memory.

    Parameters
    ----------
    file : VectorFile
        What to read.
    folder : Path
        The folder to create: wholly there when this returns, not at all when it raises.
    progress : callable, optional
        Called with the number of words read so far.

    Raises
    ------
    VectorFormatError
        If the file is not what it should be.
    """

    def fill(target: Path) -> None:
        words: list[str] = []
        with (
            (target / _MATRIX).open("wb") as output,
            NpyWriter(output, file.dimension, file.dtype) as matrix_file,
        ):
            for chunk_words, rows in file.chunks():
                words += chunk_words
                matrix_file.append(rows)
                if progress is not None:
                    progress(len(words))
        vocabulary = Vocabulary.build(words)
        vocabulary.save(target)
        matrix = np.load(target / _MATRIX, mmap_mode="r")
        meta = {
            "magic": _MAGIC,
            "version": _VERSION,
            "fingerprint": content_fingerprint(matrix, vocabulary),
            "files": {path.name: sha256_of_file(path) for path in sorted(target.iterdir())},
        }
        (target / _META).write_text(json.dumps(meta, indent=1) + "\n")

    publish_directory(folder, fill)
    return MappedVectors.open(folder)


def damaged_files(folder: Path) -> list[str]:
    """Return the names of files in a mapped folder whose bytes are not those that were written."""
    try:
        files: dict[str, str] = json.loads((folder / _META).read_text())["files"]
    except (OSError, ValueError, KeyError):
        return [_META]
    return [
        name
        for name, expected in files.items()
        if not (folder / name).is_file() or sha256_of_file(folder / name) != expected
    ]
