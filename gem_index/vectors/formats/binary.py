"""word2vec's binary format: a line ``words dimension``, then each word, a space and its float32 numbers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import IO

import numpy as np

from gem_index.errors import VectorFormatError
from gem_index.errors.quoting import quoted
from gem_index.vectors.formats.base import (
    VectorChunk,
    VectorFile,
    check_dimension,
    refuse_not_finite,
    word_of_bytes,
)
from gem_index.vectors.formats.inputs import open_source_file
from gem_index.vectors.formats.text import read_header

__all__ = ["read_binary", "write_binary"]

_BYTES = 4 * 1024 * 1024
_CONTROLS = re.compile(rb"[\0-\x08]")  # bytes that no word has, but numbers have
_LONGEST_WORD = 65_536  # bytes


def read_binary(path: str) -> VectorFile:
    """Open a word2vec binary file."""
    with open_source_file(path) as file:
        first = file.readline(256)
    announced = read_header(first)
    if announced is None:
        raise VectorFormatError(
            f"{path} begins with {quoted(first[:40])}; expected the numbers of words and dimensions"
        )
    count, dimension = announced
    check_dimension(dimension, f"{path} line 1")
    oddities: Counter[str] = Counter()

    def chunks() -> Iterator[VectorChunk]:
        oddities.clear()
        total, size = 0, 4 * dimension
        with open_source_file(path) as file:
            buffer = b""
            offset = len(file.readline(256))  # position in the file of the buffer's first byte
            while total < count:
                block = file.read(_BYTES)
                buffer += block
                words: list[str] = []
                numbers: list[bytes] = []
                position = 0
                while total + len(words) < count:
                    space = buffer.find(b" ", position)
                    if space - position > _LONGEST_WORD or (
                        space < 0 and len(buffer) - position > _LONGEST_WORD
                    ):
                        raise VectorFormatError(
                            f"{path} byte {offset + position}: word {total + len(words) + 1} is longer than "
                            f"{_LONGEST_WORD} bytes; expected a word, a space and {dimension} numbers of 4 bytes"
                        )
                    if space < 0 or space + 1 + size > len(buffer):
                        break
                    # the original program writes a line feed after each vector, others do not
                    word = buffer[position:space].lstrip(b"\n")
                    if _CONTROLS.search(word):
                        place = f"{path} byte {offset + position}: word {total + len(words) + 1}"
                        raise VectorFormatError(
                            f"{place} is {quoted(word, 40)}, which is not text; expected words without spaces, because this "
                            "format cannot hold others: save it as word2vec text"
                        )
                    words.append(word_of_bytes(word, oddities))
                    numbers.append(buffer[space + 1 : space + 1 + size])
                    position = space + 1 + size
                if words:
                    rows = np.frombuffer(b"".join(numbers), dtype="<f4").reshape(-1, dimension)
                    rows = rows.astype(np.float32)
                    refuse_not_finite(rows, f"{path} word", total + 1)
                    total += len(words)
                    yield words, rows
                elif not block:
                    raise VectorFormatError(
                        f"{path} line 1 announces {count} words, found {total}: the file ends inside "
                        f"word {total + 1} at byte {offset + len(buffer)}; expected a complete file"
                    )
                offset += position
                buffer = buffer[position:]
            if rest := (buffer + file.read(_BYTES)).strip():
                raise VectorFormatError(
                    f"{path} line 1 announces {count} words, found {len(rest)} more bytes at byte {offset}; "
                    "expected the end of the file"
                )

    return VectorFile(
        path,
        "word2vec-binary",
        dimension,
        np.dtype(np.float32),
        chunks,
        words=count,
        oddities=oddities,
    )


def write_binary(file: IO[bytes], vectors: VectorFile) -> None:
    """Write vectors in word2vec's binary format."""
    file.write(f"{vectors.words} {vectors.dimension}\n".encode())
    for words, rows in vectors.chunks():
        for word, row in zip(words, rows.astype("<f4"), strict=True):
            if " " in word or not word:
                raise VectorFormatError(
                    f"the word {quoted(word)} {'holds a space' if word else 'is empty'}, which word2vec's formats "
                    "cannot hold; expected another format: glove, folder or parquet"
                )
            file.write(word.encode() + b" " + row.tobytes() + b"\n")
