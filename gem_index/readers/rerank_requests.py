"""Read re-rank requests from a file: queries with their candidates."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from gem_index.common.settings import load_settings
from gem_index.errors import RecordError
from gem_index.errors.quoting import quoted
from gem_index.readers.formats import read_json_lines

__all__ = ["RerankRequest", "read_rerank_requests"]


@dataclass(frozen=True)
class RerankRequest:
    """A query with its candidates, for :func:`gem_index.rerank`.

    Attributes
    ----------
    line : int
        The line of its file on which it begins.
    query : str
    candidates : list
    id : dict
        The record's id under its key, empty without one.
    """

    line: int
    query: str
    candidates: list[Any]
    id: dict[str, Any] = field(default_factory=dict)


def read_rerank_requests(source: str, query: str | None = None) -> Iterator[RerankRequest]:
    """Iterate over the requests of a file of JSON lines; ``-`` is standard input.

    Parameters
    ----------
    source : str
        A line is ``{"query": …, "candidates": […], "id": …}``, or search results: a list of results, or one result, each
        with its ``text`` and ``query``. Consecutive results of one query are one request.
    query : str, optional
        The query for records without one.

    Raises
    ------
    RecordError
        If a line has neither form.
    InputError
        If the file cannot be read.
    """
    hits: list[Any] = []
    first, asked = 0, query or ""
    for line, value in read_json_lines(source, load_settings().max_record_bytes):
        if isinstance(value, dict) and "candidates" in value:
            wanted, candidates = value.get("query", query), value["candidates"]
            if not isinstance(wanted, str) or not isinstance(candidates, list):
                raise _not_a_request(source, line, value)
            identity = {"id": value["id"]} if "id" in value else {}
            if hits:
                yield RerankRequest(first, asked, hits)
                hits = []
            yield RerankRequest(line, wanted, candidates, identity)
            continue
        for hit in value if isinstance(value, list) else [value]:
            named = query or (hit.get("query") if isinstance(hit, dict) else None)
            if not isinstance(named, str) or not isinstance(hit, dict) or "text" not in hit:
                raise _not_a_request(source, line, hit)
            if hits and named != asked:
                yield RerankRequest(first, asked, hits)
                hits = []
            first, asked = (first if hits else line), named
            hits.append(hit)
    if hits:
        yield RerankRequest(first, asked, hits)


def _not_a_request(source: str, line: int, found: object) -> RecordError:
    return RecordError(
        source,
        line,
        f'found {quoted(found)}; expected {{"query": text, "candidates": [texts]}}, or search results as JSON',
    )
