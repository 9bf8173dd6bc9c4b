"""Read the queries of a file: a text a line, or JSON lines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from gem_index.errors import EmptyTextError, RecordError
from gem_index.quoting import quoted
from gem_index.readers.formats import read_json_lines, read_lines
from gem_index.settings import load_settings
from gem_index.text.tokens import check_text, tokenize

__all__ = ["Question", "read_questions"]

_JSON = (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz")
_KEYS = ("query", "text")


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
        In a file that ends in ``.jsonl`` a line is a text, or an object with the text in ``query`` or ``text``, and perhaps
        an ``id``; in any other file a line is a text.

    Raises
    ------
    RecordError
        If a line is of no such form, or holds no word.
    InputError
        If the file cannot be read.
    """
    limit = load_settings().max_record_bytes
    read = read_json_lines if source.lower().endswith(_JSON) else read_lines
    for line, value in read(source, limit):
        fields = value if isinstance(value, dict) else {"query": value}
        text = next((fields[key] for key in _KEYS if key in fields), None)
        if not isinstance(text, str):
            raise RecordError(
                source,
                line,
                f'found {quoted(value)}; expected a text, or an object such as {{"id": 1, "query": text}}',
            )
        if not tokenize(check_text(text, "query")):
            raise RecordError(source, line, str(EmptyTextError(text)))
        yield Question(line, text, {"id": fields["id"]} if "id" in fields else {})
