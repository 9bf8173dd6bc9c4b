"""Divide inputs into partitions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from gem_index.common.checks import check_whole_number
from gem_index.distributed.partitions import FilePartition, Reading
from gem_index.distributed.places import InputFile, StorageOptions, find_files
from gem_index.errors import InputError
from gem_index.errors.quoting import quoted_error, quoted_path
from gem_index.files.arrow import load_pyarrow
from gem_index.files.inputs import COMPRESSED
from gem_index.readers import DocumentReader
from gem_index.readers.parts import WHOLE, Part

__all__ = ["PARTITION_BYTES", "plan"]

PARTITION_BYTES = 16 << 20
"""Size of a partition of a file that can be divided: some seconds of work."""

_SMALLEST = 1 << 10
_BLOCK = 1 << 20
_LINES = ("jsonl", "txt")
_UTF8 = (None, "utf-8", "utf8", "utf_8")

Run = Callable[[Callable[..., Any], Sequence[tuple[Any, ...]]], Iterable[Any]]
"""Call a function with several tuples of arguments, and return the results in their order."""


def run_here(function: Callable[..., Any], calls: Sequence[tuple[Any, ...]]) -> Iterable[Any]:
    """Call a function with several tuples of arguments in this process."""
    return [function(*call) for call in calls]


def plan(
    reader: DocumentReader,
    *,
    skip: bool = False,
    partition_bytes: int = PARTITION_BYTES,
    storage_options: StorageOptions | None = None,
    run: Run = run_here,
) -> tuple[FilePartition, ...]:
    """Divide the inputs of a reader into partitions, in their order.

    Files that are larger than a partition are divided: files of lines (JSON lines, text) between lines, Parquet between row
    groups; CSV, TSV, compressed files and files of another encoding than UTF-8 are a partition each.

    Parameters
    ----------
    reader : DocumentReader
        Its names are paths, patterns or URLs.
    skip : bool
        Leave out bad records and list them.
    partition_bytes : int
    storage_options : mapping, optional
        Of the fsspec file system.
    run : callable
        Runs the functions that read the files.

    Raises
    ------
    InputError
        If a file is missing, empty or of unknown format, or a pattern matches none.
    ConfigError
        If an option is not possible on a cluster.
    """
    size = check_whole_number(partition_bytes, "partition_bytes", _SMALLEST)
    reading = Reading.of(reader, skip)
    files = find_files(reader.names, storage_options or {})
    formats = [reader.format_of(file.name) for file in files]
    large = [place for place, file in enumerate(files) if file.size > size]
    kinds = dict(
        zip(
            large,
            run(_cut, [(files[i], formats[i], _plain(reader), size) for i in large]),
            strict=True,
        )
    )
    ranges = [
        (place, begin, end)
        for place, cuts in kinds.items()
        if isinstance(cuts, _Ranges)
        for begin, end in cuts.ranges
    ]
    counted = run(count_lines, [(files[place], begin, end) for place, begin, end in ranges])
    lines: dict[int, list[_Lines]] = {}
    for (place, _, _), found in zip(ranges, counted, strict=True):
        lines.setdefault(place, []).append(found)
    partitions: list[FilePartition] = []
    for place, file in enumerate(files):
        cuts = kinds.get(place, [WHOLE])
        parts = _line_parts(lines[place], file.size) if isinstance(cuts, _Ranges) else cuts
        partitions += [
            FilePartition(len(partitions) + i, file, reading, part) for i, part in enumerate(parts)
        ]
    return tuple(partitions)


def _plain(reader: DocumentReader) -> bool:
    """Tell whether text files are UTF-8, in which one byte marks the end of a line."""
    encoding = reader.encoding
    return encoding is None or encoding.lower() in _UTF8


@dataclass(frozen=True)
class _Ranges:
    """Ranges of bytes of a file of lines; a range may begin inside a line."""

    ranges: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class _Lines:
    """The beginning of the first line that begins in a range of bytes, and the number of such lines."""

    first: int
    count: int


def _cut(file: InputFile, kind: str | None, plain: bool, size: int) -> _Ranges | list[Part]:
    """Return the division of a file that is larger than a partition."""
    if kind == "parquet":
        return _row_groups(file, size)
    if kind not in _LINES or not plain or _is_compressed(file):
        return [WHOLE]
    edges = [*range(0, file.size, size), file.size]
    return _Ranges(tuple(pairwise(edges)))


def _is_compressed(file: InputFile) -> bool:
    if file.name.lower().endswith(COMPRESSED):
        return True
    with file.opened(unpack=False) as packed, file.opened() as unpacked:
        # the first bytes show whether the file is compressed; reading then returns other bytes
        return packed.read(6) != unpacked.read(6)


def _row_groups(file: InputFile, size: int) -> list[Part]:
    """Return consecutive row groups of about the size of a partition."""
    pa, pq = load_pyarrow("reading Parquet")
    with file.opened() as opened:
        if not opened.seekable():
            return [WHOLE]
        try:
            table = pq.ParquetFile(opened).metadata
            groups = [table.row_group(i) for i in range(table.num_row_groups)]
            sizes = [
                (
                    group.num_rows,
                    sum(group.column(i).total_compressed_size for i in range(group.num_columns)),
                )
                for group in groups
            ]
        except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
            raise InputError(
                f"{quoted_path(file.name)} is not Parquet: {quoted_error(error)}; expected an undamaged Parquet file"
            ) from error
    parts: list[Part] = []
    begin = before = rows = held = 0
    for number, (count, length) in enumerate(sizes):
        if number > begin and held + length > size:
            parts.append(Part(begin, number, before))
            begin, before, rows, held = number, before + rows, 0, 0
        rows += count
        held += length
    parts.append(Part(begin, len(sizes), before))
    return parts if len(parts) > 1 else [WHOLE]


def count_lines(file: InputFile, begin: int, end: int) -> _Lines:
    """Count the lines that begin in a range of bytes of a file, which is not compressed."""
    first, count = (0, 1) if begin == 0 else (-1, 0)
    place = max(begin - 1, 0)  # a line begins after a line feed
    with file.opened(unpack=False) as opened:
        opened.seek(place)
        while place < end - 1 and (block := opened.read(min(_BLOCK, end - 1 - place))):
            if first < 0 and (found := block.find(b"\n")) >= 0:
                first = place + found + 1
            count += block.count(b"\n")
            place += len(block)
    return _Lines(first, count)


def _line_parts(ranges: Sequence[_Lines], size: int) -> Iterator[Part]:
    """Iterate over the parts of a file: each begins at the first line of a range of bytes, and ends before the next part."""
    part: Part | None = None
    before = 0
    for found in ranges:
        if found.count == 0:
            continue  # a line longer than the range
        if part is not None:
            yield replace(part, end=found.first)
        part = Part(found.first, None, before)
        before += found.count
    assert part is not None
    yield part if part.begin == 0 else replace(part, end=size)
