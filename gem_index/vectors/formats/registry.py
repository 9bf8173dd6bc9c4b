"""The formats by name: recognised by their content, and read in chunks."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import IO, cast

from gem_index.common.checks import check_choice
from gem_index.errors import Action, Advice, InputError, VectorFormatError
from gem_index.errors.quoting import quoted
from gem_index.files.inputs import UNPACKING_ERRORS, user_path
from gem_index.files.publishing import publish_directory, publish_file
from gem_index.vectors.formats.arrays import read_folder, read_npy, read_safetensors, write_folder
from gem_index.vectors.formats.base import Ngrams, Pieces, VectorChunk, VectorFile
from gem_index.vectors.formats.binary import read_binary, write_binary
from gem_index.vectors.formats.fasttext import FASTTEXT_MAGIC, read_fasttext
from gem_index.vectors.formats.foreign import check_no_numpy_archive, check_not_foreign
from gem_index.vectors.formats.gensim import KeyedVectorsLike, of_keyed_vectors, read_gensim
from gem_index.vectors.formats.inputs import open_source_file
from gem_index.vectors.formats.pieces import read_model2vec, read_static, write_model2vec
from gem_index.vectors.formats.spacy import find_pipeline, read_spacy
from gem_index.vectors.formats.tables import read_parquet, write_parquet
from gem_index.vectors.formats.text import is_number, read_header, read_text, write_text

__all__ = [
    "FORMATS",
    "WRITABLE",
    "KeyedVectorsLike",
    "Ngrams",
    "Pieces",
    "VectorChunk",
    "VectorFile",
    "format_of_name",
    "read_vectors",
    "write_vectors",
]

FORMATS: Mapping[str, Callable[[str], VectorFile]] = {
    "glove": lambda path: read_text(path, header=False),
    "word2vec-text": lambda path: read_text(path, header=True),
    "word2vec-binary": read_binary,
    "fasttext": read_fasttext,
    "folder": read_folder,
    "npy": read_npy,
    "safetensors": read_safetensors,
    "parquet": read_parquet,
    "model2vec": read_model2vec,
    "static-embedding": read_static,
    "gensim": read_gensim,
    "spacy": read_spacy,
}
"""Readers by the name of the format."""

ALIASES: Mapping[str, str] = {
    "paragram": "glove",
    "fasttext-text": "word2vec-text",
    "lexvec": "word2vec-text",
    "numberbatch": "word2vec-text",
}
"""Other names of the same formats."""

WRITABLE = ("glove", "word2vec-text", "word2vec-binary", "folder", "parquet", "model2vec")
"""The formats that can be written."""

_ENDINGS = {
    ".txt": "glove",
    ".vec": "word2vec-text",
    ".bin": "word2vec-binary",
    ".parquet": "parquet",
}
_COMMON_ENDINGS = "xz bz2 zip gz npy npz safetensors csv tsv json jsonl kv model pkl"
_UNWRITABLE = frozenset(f".{ending}" for ending in _COMMON_ENDINGS.split())
_SAMPLE = 65_536  # bytes from which a format is recognised


def read_vectors(source: str | Path | KeyedVectorsLike, format: str | None = None) -> VectorFile:
    """Open word vectors, recognising their format from the content.

    Parameters
    ----------
    source : str, Path or gensim KeyedVectors
        A file, compressed or not, a folder, the name of an installed spaCy pipeline, or an object.
    format : str, optional
        One of ``FORMATS`` or ``ALIASES``; recognised from the content by default.

    Raises
    ------
    InputError
        If the path cannot be read.
    VectorFormatError
        If it is none of the formats, or not the given one.
    """
    if not isinstance(source, str | Path):
        return of_keyed_vectors(source)
    if str(source) == "-" or _is_stream(user_path(source)):
        raise InputError(
            f"{source} can be read only once; expected a file: save it first and add the file"
        )
    if format is not None:
        check_choice(format, "the format", (*FORMATS, *ALIASES), error=InputError)
    path = str(user_path(source))
    try:
        name = ALIASES.get(format, format) if format is not None else _recognise(path)
        return FORMATS[name](path)
    except UNPACKING_ERRORS as error:
        raise VectorFormatError(
            f"{source} cannot be read ({quoted(str(error), 120)}); expected a readable, undamaged file"
        ) from error


def _is_stream(path: Path) -> bool:
    try:
        return path.exists() and not path.is_file() and not path.is_dir()
    except OSError:
        return False  # opening it reports the problem


def _recognise(path: str) -> str:
    folder = Path(path)
    if folder.is_dir():
        if (folder / "words.txt").is_file():
            return "folder"
        if (folder / "modules.json").is_file():
            return "static-embedding"
        if (folder / "model.safetensors").is_file():
            return "model2vec"
        return "spacy" if find_pipeline(path) else "folder"
    check_no_numpy_archive(path)
    with open_source_file(path) as file:
        sample = file.read(_SAMPLE)
    check_not_foreign(path, sample)
    return _format_of_content(sample)


def _format_of_content(sample: bytes) -> str:
    if sample.startswith(b"\x93NUMPY"):
        return "npy"
    if sample.startswith(b"PAR1"):
        return "parquet"
    if sample.startswith(FASTTEXT_MAGIC):
        return "fasttext"
    if sample[8:9] == b"{" and int.from_bytes(sample[:8], "little") < 1 << 40:
        return "safetensors"
    if sample[:1] == b"\x80" and sample[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05"):
        return "gensim"
    header = read_header(sample.partition(b"\n")[0])
    if header is None:
        return "glove"
    return "word2vec-text" if _continues_as_text(sample, header[1]) else "word2vec-binary"


def _continues_as_text(sample: bytes, dimension: int) -> bool:
    """Tell whether numbers follow the header as text: the second line is numbers, or all bytes are printable."""
    second = [*sample.split(b"\n", 2), b""][1]
    numbers = second.split()[-dimension:]
    if len(numbers) == dimension and all(map(is_number, numbers)):
        return True
    return not any(byte < 9 for byte in sample)


def format_of_name(path: Path) -> str:
    """Return the format to write for a file name; a folder if the ending is not known."""
    if path.suffix == ".gz" and path.with_suffix("").suffix.lower() in (".txt", ".vec", ".bin"):
        path = path.with_suffix("")
    return _ENDINGS.get(path.suffix.lower(), "folder")


def write_vectors(vectors: VectorFile, path: Path, format: str | None = None) -> None:
    """Write word vectors atomically: complete on return, absent on error.

    Parameters
    ----------
    vectors : VectorFile
    path : Path
        A file (all but Parquet also compressed, if the name ends in ``.gz``) or, for folders, a new folder.
    format : str, optional
        One of ``WRITABLE``; by default by the name: ``.txt``, ``.vec``, ``.bin``, ``.parquet``, else a folder.

    Raises
    ------
    InputError
        If the format cannot be written, or the folder exists.
    VectorFormatError
        If a word does not fit into the format.
    """
    name = ALIASES.get(format, format) if format is not None else format_of_name(path)
    if format is None and (
        path.name == "-" or (name == "folder" and path.suffix.lower() in _UNWRITABLE)
    ):
        raise InputError(
            f"the output is {path}; expected a name ending in {', '.join(_ENDINGS)} (all but .parquet also .gz), or "
            "one without an ending for a folder"
        )
    check_choice(name, "the format", WRITABLE, error=InputError)
    if isinstance(vectors.composition, Pieces) and name != "model2vec":
        raise VectorFormatError(
            f"{vectors.origin} composes words from pieces; expected the format model2vec, or words",
            Advice(Action.CUT_TO_WORDS),
        )
    if path.is_dir() or (path.exists() and name in ("folder", "model2vec")):
        raise InputError(f"{path} exists already; expected the name of a new file or folder")
    try:
        _write(vectors, path, name)
    except OSError as error:
        raise InputError(
            f"cannot write {path}: {(error.strerror or str(error)).lower()}; expected a writable folder with room"
        ) from error


def _write(vectors: VectorFile, path: Path, name: str) -> None:
    if name in ("folder", "model2vec"):
        write = write_folder if name == "folder" else write_model2vec
        publish_directory(path, lambda folder: write(folder, vectors))
    elif name == "parquet":
        with publish_file(path) as file:
            write_parquet(Path(file.name), vectors)
    else:
        with publish_file(path) as plain:
            _write_stream(plain, path.suffix == ".gz", vectors, name)


def _write_stream(plain: IO[bytes], packed: bool, vectors: VectorFile, format: str) -> None:
    with ExitStack() as stack:
        file = plain
        if packed:
            # without file name and time: the same vectors give the same bytes
            stream = stack.enter_context(gzip.GzipFile("", "wb", fileobj=plain, mtime=0))
            file = cast("IO[bytes]", stream)
        if format == "word2vec-binary":
            write_binary(file, vectors)
        else:
            write_text(file, vectors, header=format == "word2vec-text")
