"""Read the queries of a file: one text per line, JSON lines, or a table."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from gem_index.common.settings import load_settings
from gem_index.errors import EmptyTextError, RecordError
from gem_index.errors.quoting import quoted
from gem_index.readers.formats import format_of_name, read_json_lines, read_lines
from gem_index.readers.records import DocumentReader
from gem_index.text.tokens import check_text, tokenize

__all__ = ["Question", "read_questions"]

_TABLES = ("csv", "tsv", "json", "xlsx", "parquet")  # formats
_KEYS = ("query", "question", "text")
_HEADER = re.compile(
    r"(?:[\w .-]+[,;\t|])*(?:query|queries|question|questions|text)(?:[,;\t|][\w .-]+)*",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Question:
    """A query of a file.

    Attributes
    ----------
    line : int
    query : str
    id : dict
        The record's id under its key, empty without one.
    """

    line: int
    query: str
    id: dict[str, Any] = field(default_factory=dict)


def read_questions(source: str) -> Iterator[Question]:
    """Iterate over the queries of a file; ``-`` is standard input, blank lines are left out.

    Parameters
    ----------
    source : str
        In a file that ends in ``.jsonl`` a line is a text, or an object with the text in ``query``, ``question`` or
        ``text``, and perhaps an ``id``. A table (``.csv``, ``.tsv``, ``.xlsx``, ``.parquet``) or ``.json`` file has such
        records. In any other file a line is a text.

    Raises
    ------
    RecordError
        If a line has another form, or has no words, or if the first line of a file of texts looks like the header of a
        table.
    InputError
        If the file cannot be read.
    """
    for line, value in _records(source):
        fields = value if isinstance(value, dict) else {"query": value}
        text = next((fields[key] for key in _KEYS if key in fields), None)
        if not isinstance(text, str):
            raise RecordError(
                source,
                line,
                f'found {quoted(value)}; expected a text, or a record such as {{"id": 1, "query": text}}',
            )
        if not tokenize(check_text(text, "query")):
            raise RecordError(source, line, str(EmptyTextError(text)))
        yield Question(line, text, {"id": fields["id"]} if "id" in fields else {})


def _records(source: str) -> Iterator[tuple[int, Any]]:
    limit = load_settings().max_record_bytes
    kind = None if source == "-" else format_of_name(source)
    if kind == "jsonl":
        yield from read_json_lines(source, limit)
    elif kind in _TABLES:
        yield from DocumentReader([source], text_fields=_KEYS, max_record_bytes=limit).records()
    else:
        for place, (line, text) in enumerate(read_lines(source, limit)):
            if place == 0 and _HEADER.fullmatch(text):
                raise RecordError(
                    source,
                    line,
                    f"the first line {quoted(text)} looks like the header of a table; expected one query per line: remove "
                    "it, or give the file a name that ends with .csv or .tsv",
                )
            yield line, text
