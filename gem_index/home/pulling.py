"""Pull texts into a collection from a table of a vector database, which a push or another program has filled."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any

from gem_index.collection.piece_rows import PLACE, piece_of
from gem_index.collection.results import UpsertReport
from gem_index.documents import Document
from gem_index.errors import ConfigError, ForeignTableError
from gem_index.gem.specification import ConfigLike
from gem_index.home.home import Home
from gem_index.progress import ProgressOption
from gem_index.readers.rows import RowReader
from gem_index.targets.protocol import RowsTarget, Target, TargetDocument, TargetTable
from gem_index.targets.registry import open_target
from gem_index.targets.url import TargetUrl

__all__ = ["pull", "table_rows"]

_KEPT = ("id_field", "text_fields", "clean")
"""The reading options that a collection remembers after a pull."""


def pull(
    home: Home,
    url: str | TargetUrl,
    name: str,
    *,
    reading: Mapping[str, Any] = MappingProxyType({}),
    vectors: str | None = None,
    config: ConfigLike | None = None,
    progress: ProgressOption = None,
) -> UpsertReport:
    """Build or update a collection from the texts and metadata in a target.

    Parameters
    ----------
    home : Home
    url : str
        As for :meth:`gem_index.Collection.push`. The table may be one that another program created.
    reading : mapping, optional
        For a table that gem-index did not create: arguments of :class:`~gem_index.readers.DocumentReader` such as
        ``id_field``, ``text_fields``, ``clean`` and ``on_problem``. The collection remembers fields and cleaning. All
        other columns, except vectors and bytes, become metadata.
    name, vectors, config, progress
        As for :meth:`gem_index.Home.build`.

    Raises
    ------
    ConfigError
        If there is no such table, if the table has no texts, or if the table is of another program and gem-index cannot
        read such tables of this engine.
    MissingFieldError
        If a table of another program lacks the text column or the named id column.
    """
    kept = home.collection(name).reading if name in home else {}
    with _opened(url) as target:
        table = _live(target)
        documents = (
            _rows(target, {each: kept[each] for each in _KEPT if each in kept} | dict(reading))
            if table is None
            else _documents(_with_texts(table, target.url, reading))
        )
        return home.build(name, documents, vectors=vectors, config=config, progress=progress)


@contextmanager
def table_rows(url: str | TargetUrl, **choices: Any) -> Iterator[RowReader]:
    """Open a reader of the rows of a table that gem-index did not create; ``choices`` are the reading options.

    Raises
    ------
    ConfigError
        If there is no such table, or gem-index cannot read tables of other programs in this engine.
    """
    with _opened(url) as target:
        if _live(target) is not None:
            raise ConfigError(
                f"gem-index created the table {target.url}, with id, text and metadata; expected one that it did not "
                "create"
            )
        yield _rows(target, choices)


@contextmanager
def _opened(url: str | TargetUrl) -> Iterator[Target]:
    target = open_target(url)
    try:
        yield target
    finally:
        target.close()


def _live(target: Target) -> TargetTable | None:
    """Return a table that gem-index created; None if another program created the table.

    Raises
    ------
    ConfigError
        If there is no table.
    """
    try:
        table = target.live()
    except ForeignTableError:
        return None
    if table is None:
        raise ConfigError(f"there is no table at {target.url}; expected an existing one")
    return table


def _rows(target: Target, choices: Mapping[str, Any]) -> RowReader:
    if not isinstance(target, RowsTarget):
        raise ConfigError(
            f"gem-index did not create the table {target.url}, and cannot read foreign tables of this engine; "
            "expected a table that push filled"
        )
    return RowReader(str(target.url), target.rows, **choices)


def _with_texts(table: TargetTable, url: TargetUrl, reading: Mapping[str, Any]) -> TargetTable:
    """Return a table of gem-index after checking that it can be pulled."""
    if not table.schema.texts:
        raise ConfigError(
            f"the target {url} has no texts; expected a table of a push that stores texts"
        )
    if not reading.keys().isdisjoint(_KEPT):
        raise ConfigError(
            f"gem-index created the table {url}, with id, text and metadata; expected no names of fields and no cleaning"
        )
    return table


def _documents(table: TargetTable) -> Iterator[Document]:
    """Iterate over the documents of a table: first undivided documents, then documents whose pieces are joined."""
    pieces: dict[str, list[TargetDocument]] = {}
    for document in table.documents():
        piece = piece_of(document.id, document.metadata)
        if piece is not None:
            pieces.setdefault(piece[0], []).append(document)
        else:
            yield Document(
                id=document.id, text=document.text or "", metadata=dict(document.metadata)
            )
    for name, parts in pieces.items():
        yield _joined(name, parts)


def _joined(name: str, parts: list[TargetDocument]) -> Document:
    """Join pieces to a document, with line breaks between them, and a form feed where a new page begins."""
    parts.sort(key=lambda part: int(part.metadata["start"]))
    in_pages = len({part.metadata.get("page") for part in parts}) > 1
    text = ""
    page = 1
    for part in parts:
        start = int(part.metadata["start"])
        gap = start - len(text)
        turned = int(part.metadata.get("page") or page) - page if in_pages else 0
        page += turned
        between = "\n" * (gap - turned) + "\f" * turned if gap > turned else "\n" * gap
        text = text[:start] + between + (part.text or "")
    added = set(PLACE) if in_pages else set(PLACE) - {"page"}
    metadata = {key: value for key, value in parts[0].metadata.items() if key not in added}
    return Document(id=name, text=text, metadata=metadata)
