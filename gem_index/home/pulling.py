"""Pull the texts of a vector database back into a collection."""

from __future__ import annotations

from collections.abc import Iterator

from gem_index.collection.results import IngestReport
from gem_index.documents import Document
from gem_index.errors import ConfigError
from gem_index.gem.specification import ConfigLike
from gem_index.home.home import Home
from gem_index.progress import ProgressOption
from gem_index.targets.protocol import TargetTable
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
) -> IngestReport:
    """Build a collection from the texts and metadata that a target holds; an existing one is updated.

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
        If there is no such table, or it holds no texts.
    """
    parsed = TargetUrl.parse(url) if isinstance(url, str) else url
    target = open_target(parsed)
    try:
        table = target.live()
        if table is None:
            raise ConfigError(f"there is no table at {parsed}; expected one that push filled")
        if not table.schema.texts:
            raise ConfigError(
                f"the target {parsed} holds no texts; expected a push that stores them"
            )
        return home.build(
            name, _documents(table), vectors=vectors, config=config, progress=progress
        )
    finally:
        target.close()


def _documents(table: TargetTable) -> Iterator[Document]:
    for document in table.documents():
        yield Document(id=document.id, text=document.text or "", metadata=dict(document.metadata))
