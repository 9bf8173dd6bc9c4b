"""Pull the texts of a vector database back into a collection."""

from __future__ import annotations

from collections.abc import Iterator

from gem_index.collection.piece_rows import PLACE, piece_of
from gem_index.collection.results import UpsertReport
from gem_index.documents import Document
from gem_index.errors import ConfigError
from gem_index.gem.specification import ConfigLike
from gem_index.home.home import Home
from gem_index.progress import ProgressOption
from gem_index.targets.protocol import TargetDocument, TargetTable
from gem_index.targets.registry import open_target
from gem_index.targets.url import TargetUrl

__all__ = ["pull"]


def pull(
    home: Home,
    url: str | TargetUrl,
    name: str,
    *,
    vectors: str | None = None,
    config: ConfigLike | None = None,
    progress: ProgressOption = None,
) -> UpsertReport:
    """Build a collection from the texts and metadata in a target, or update an existing one.

    Parameters
    ----------
    home : Home
    url : str
        As for :meth:`gem_index.Collection.push`.
    name, vectors, config, progress
        As for :meth:`gem_index.Home.build`.

    Raises
    ------
    ConfigError
        If there is no such table, or it has no texts.
    """
    parsed = TargetUrl.parse(url) if isinstance(url, str) else url
    target = open_target(parsed)
    try:
        table = target.live()
        if table is None:
            raise ConfigError(f"there is no table at {parsed}; expected one that push filled")
        if not table.schema.texts:
            raise ConfigError(
                f"the target {parsed} has no texts; expected a table of a push that stores texts"
            )
        return home.build(
            name, _documents(table), vectors=vectors, config=config, progress=progress
        )
    finally:
        target.close()


def _documents(table: TargetTable) -> Iterator[Document]:
    """Iterate over the documents of a table; documents in pieces come last, joined again."""
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
    """Join pieces to a document: with line ends between them, and a form feed at each new page."""
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
