"""GloVe text and word2vec text: a word and its numbers on each line; word2vec text begins with ``words dimension``.

fastText's and LexVec's text files are word2vec text, Paragram's are GloVe text.
"""

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

__all__ = ["is_number", "read_header", "read_text", "write_text"]

_BYTES = 4 * 1024 * 1024
_LONGEST_LINE = 1 << 20
_SAMPLE = 50  # lines
_BOM = b"\xef\xbb\xbf"
_HEADER = re.compile(rb"\s*(\d{1,100})\s+(\d{1,100})\s*")


def read_header(line: bytes) -> tuple[int, int] | None:
    """Return words and dimension if a first line announces them, else None."""
    header = _HEADER.fullmatch(line.removeprefix(_BOM))
    return (int(header[1]), int(header[2])) if header else None


def read_text(path: str, header: bool | None = None) -> VectorFile:
    """Open a text file of word vectors.

    Parameters
    ----------
    path : str
        Compressed or not.
    header : bool, optional
        Whether the first line announces words and dimension; by default detected from that line.
    """
    with open_source_file(path) as file:
        first = file.readline(_LONGEST_LINE).removeprefix(_BOM)
        sample = [file.readline(_LONGEST_LINE) for _ in range(_SAMPLE)]
    if not first:
        raise VectorFormatError(f"{path} is empty; expected a word and its vector on each line")
    announced = read_header(first)
    if header is None:
        header = announced is not None
    count = None
    if header:
        if announced is None:
            raise VectorFormatError(
                f"{path} line 1 is {quoted(first[:40])}; expected the numbers of words and dimensions"
            )
        count, dimension = announced
        check_dimension(dimension, f"{path} line 1")
    else:
        dimension = _dimension(first, sample)
        if dimension < 1:
            raise VectorFormatError(
                f"{path} line 1 is not a word followed by numbers; expected GloVe or word2vec text "
                "or another format of word vectors"
            )
        check_dimension(dimension, f"{path} line 1")
    oddities: Counter[str] = Counter()

    def chunks() -> Iterator[VectorChunk]:
        oddities.clear()
        total = 0
        with open_source_file(path) as file:
            if file.peek(3)[:3] == _BOM:
                file.read(3)
            begin = 1
            if header:
                file.readline()
                begin = 2
            while block := file.read(_BYTES):
                block += file.readline(_LONGEST_LINE)
                lines = block.count(b"\n") + (not block.endswith(b"\n"))
                chunk = parse_quickly(block, lines, dimension)
                if chunk is None:
                    chunk = _parse(path, block, begin, dimension, oddities)
                total += len(chunk[0])
                begin += lines
                yield chunk
        if count is not None and total != count:
            raise VectorFormatError(
                f"{path} line 1 announces {count} words, found {total}; expected as many: the file may be truncated"
            )

    name = "word2vec-text" if header else "glove"
    return VectorFile(
        path, name, dimension, np.dtype(np.float32), chunks, words=count, oddities=oddities
    )


def _dimension(first: bytes, sample: list[bytes]) -> int:
    """Return how many numbers follow the word of a first line, 0 if it ends without numbers.

    The first word may contain spaces and even numbers; in that case the majority of the next lines decides.
    """
    fields = first.split()
    numbers = next(
        (i for i, field in enumerate(reversed(fields)) if not is_number(field)), len(fields)
    )
    dimension = min(numbers, len(fields) - 1)
    ((usual, times),) = Counter(len(line.split()) - 1 for line in sample if line).most_common(
        1
    ) or [(dimension, 0)]
    return usual if 1 <= usual < dimension and times > len(sample) / 2 else dimension


def parse_quickly(block: bytes, lines: int, dimension: int) -> VectorChunk | None:
    """Parse lines of the simplest form in compiled code; None if a line needs the general parser."""
    from gem_index.kernels.lines import parse_lines

    if not block.endswith(b"\n"):
        block += b"\n"
    if len(block) < 2 * dimension * lines:
        return None  # fewer bytes than numbers: a wrong header must not cost memory
    spans = np.empty((lines, 2), dtype=np.int64)
    rows = np.empty((lines, dimension), dtype=np.float32)
    parsed = parse_lines(np.frombuffer(block, dtype=np.uint8), spans, rows)
    if parsed != lines or not np.isfinite(rows).all():
        return None
    try:
        return [block[begin:end].decode() for begin, end in spans.tolist()], rows
    except UnicodeDecodeError:
        return None


def _parse(
    path: str, block: bytes, begin: int, dimension: int, oddities: Counter[str]
) -> VectorChunk:
    """Parse lines ``word v_1 … v_d``; a word may contain spaces (GloVe 840B), its vector is the last d fields."""
    words: list[str] = []
    numbers: list[str] = []
    for line_number, raw in enumerate(block.removesuffix(b"\n").split(b"\n"), begin):
        line = raw.rstrip(b" \r\t")
        fields = line.rsplit(b" ", dimension)
        if len(fields) != dimension + 1 or not all(fields[1:]):
            fields = line.rsplit(None, dimension)  # tabs, or several spaces, between the numbers
        if len(fields) != dimension + 1:
            raise VectorFormatError(
                f"{path} line {line_number} holds {max(len(raw.split()) - 1, 0)} numbers; expected {dimension}"
            )
        for field in fields[1:]:
            if not is_number(field):
                raise VectorFormatError(
                    f"{path} line {line_number} holds {quoted(field.decode(errors='replace'))} "
                    "where a number was expected"
                )
        word = fields[0].rstrip(b" ")
        if b" " in word:
            # GloVe 840B holds such words; but if the word ends with a number, the row is too long
            if is_number(word.rpartition(b" ")[2]):
                raise VectorFormatError(
                    f"{path} line {line_number} holds more than a word and {dimension} numbers; expected {dimension}"
                )
            oddities["spaced"] += 1
        words.append(word_of_bytes(word, oddities))
        numbers.append(b" ".join(fields[1:]).decode())
    with np.errstate(over="ignore", invalid="ignore"):
        rows = np.loadtxt(numbers, dtype=np.float32, comments=None, delimiter=" ", ndmin=2)
    refuse_not_finite(rows, f"{path} line", begin)
    return words, rows


def is_number(field: bytes) -> bool:
    """Tell whether a field is a decimal number (or NaN or infinity, which are refused later)."""
    try:
        float(field)
    except ValueError:
        return False
    # float accepts white space too, even a line feed
    return field[0] > 32 and field[-1] > 32 and b"_" not in field


def write_text(file: IO[bytes], vectors: VectorFile, *, header: bool) -> None:
    """Write vectors as text with nine significant digits, which represent every float32 exactly."""
    line = " ".join(["%s"] + ["%.9g"] * vectors.dimension) + "\n"
    if header:
        file.write(f"{vectors.words} {vectors.dimension}\n".encode())
    for words, rows in vectors.chunks():
        for word, row in zip(words, rows.astype(np.float32).tolist(), strict=True):
            if header and " " in word:
                raise VectorFormatError(
                    f"the word {quoted(word)} holds a space, which word2vec's formats cannot hold; expected "
                    "another format: glove, folder or parquet"
                )
            file.write((line % (word, *row)).encode())
