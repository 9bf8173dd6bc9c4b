"""Recognise formats that gem-index does not read by their first bytes; the error shows how to convert the file."""

from __future__ import annotations

import re
import struct
import zipfile
from contextlib import suppress

from gem_index.errors import VectorFormatError

__all__ = ["check_no_numpy_archive", "check_not_foreign"]

_SAVE = "read it with {library}, and save its words and vectors as word2vec text"
_MAGICS = (
    (b"\x89HDF\r\n\x1a\n", "an HDF5 file", _SAVE.format(library="h5py or pandas")),
    (b"FiFu", "a finalfusion file", _SAVE.format(library="the package finalfusion")),
    (b"SQLite format 3\0", "a Magnitude file", _SAVE.format(library="the package pymagnitude")),
)
_FLORET = re.compile(rb"\d+ \d+ \d+ \d+ \d+ \d+ \S+ \S+\r?\n")
_JSON = re.compile(rb'\s*(?:\{\s*"|\[\s*[\[{"])')
_CONCEPTNET = re.compile(rb"(?:\d+ \d+\r?\n)?/c/([a-z]{2,3})/")
_OLD_FASTTEXT = struct.Struct("<12i")


def check_not_foreign(path: str, sample: bytes) -> None:
    """Check that a file is in none of the known formats that are not read.

    Parameters
    ----------
    path : str
    sample : bytes
        The first bytes of the file, unpacked.

    Raises
    ------
    VectorFormatError
        If it is in one of them.
    """
    for magic, name, way in _MAGICS:
        if sample.startswith(magic):
            raise _error(path, name, way)
    if _FLORET.match(sample):
        raise _error(
            path,
            "a table of floret",
            "load it into a spaCy pipeline, and name the pipeline's folder",
        )
    if _JSON.match(sample):
        way = "write one line per word: the word, then its numbers, with blanks between them"
        raise _error(path, "JSON", way)
    if _is_old_fasttext(sample):
        way = "load it with fasttext 0.1, and save its words and vectors as word2vec text"
        raise _error(path, "a fastText model of before version 12 (2017)", way)
    conceptnet = _CONCEPTNET.match(sample)
    if conceptnet is not None:
        prefix = f"/c/{conceptnet[1].decode()}/"
        way = f"keep the lines that begin with {prefix}, and remove {prefix} from them"
        raise _error(path, "a file with the keys of ConceptNet, which are no words", way)


def check_no_numpy_archive(path: str) -> None:
    """Check that a file is not a zip file of several NumPy arrays (``.npz``), which does not say which one has the words.

    Raises
    ------
    VectorFormatError
        If it is one.
    """
    if not zipfile.is_zipfile(path):
        return
    with (
        suppress(zipfile.BadZipFile),
        zipfile.ZipFile(path) as archive,
    ):  # opening it reports damage
        names = archive.namelist()
        if len(names) > 1 and all(name.endswith(".npy") for name in names):
            way = "save the words as words.txt, one per line, and the vectors as matrix.npy, and name the folder of both"
            raise _error(path, "an archive of several NumPy arrays", way)


def _error(path: str, name: str, way: str) -> VectorFormatError:
    return VectorFormatError(f"{path} is {name}; expected another format: {way}")


def _is_old_fasttext(sample: bytes) -> bool:
    """Tell whether a file begins with the arguments of a fastText model, without the magic number of later versions."""
    if len(sample) < _OLD_FASTTEXT.size:
        return False
    numbers: tuple[int, ...] = _OLD_FASTTEXT.unpack_from(sample)
    dimension, window, _, _, _, ngrams, loss, model, buckets, shortest, longest, _ = numbers
    return (
        1 <= dimension <= 10_000
        and 1 <= window <= 1000
        and 1 <= ngrams <= 100
        and 1 <= loss <= 3
        and 1 <= model <= 3
        and buckets >= 0
        and 0 <= shortest <= longest <= 1000
    )
