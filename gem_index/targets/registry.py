"""From the scheme of a URL to the package that knows the engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint, PackageNotFoundError, entry_points, version
from types import MappingProxyType
from typing import cast

from gem_index.errors import MissingTargetError, UnknownNameError
from gem_index.targets.protocol import Target
from gem_index.targets.url import TargetUrl

__all__ = ["ENTRY_POINTS", "TargetInfo", "list_targets", "open_target"]

ENTRY_POINTS = "gem_index.targets"
"""Installed packages offer engines in this group: a scheme, and a callable from a TargetUrl to a Target."""

PACKAGES: Mapping[str, str] = MappingProxyType(
    {
        "chroma": "gem-index-chroma",
        "chroma+http": "gem-index-chroma",
        "chroma+https": "gem-index-chroma",
        "duckdb": "gem-index-duckdb",
        "elasticsearch": "gem-index-elasticsearch",
        "elasticsearch+http": "gem-index-elasticsearch",
        "elasticsearch+https": "gem-index-elasticsearch",
        "faiss": "gem-index[parquet]",
        "lancedb": "gem-index-lancedb",
        "milvus": "gem-index-milvus",
        "milvus+http": "gem-index-milvus",
        "milvus+https": "gem-index-milvus",
        "opensearch": "gem-index-elasticsearch",
        "opensearch+http": "gem-index-elasticsearch[opensearch]",
        "opensearch+https": "gem-index-elasticsearch[opensearch]",
        "parquet": "gem-index[parquet]",
        "postgresql": "gem-index-postgresql",
        "qdrant": "gem-index-qdrant",
        "qdrant+http": "gem-index-qdrant",
        "qdrant+https": "gem-index-qdrant",
        "sqlite-vec": "gem-index-sqlite-vec",
    }
)
"""The packages that offer the known schemes."""


@dataclass(frozen=True)
class TargetInfo:
    """An engine: its scheme, whether it is installed, the version of its package, and how to install it."""

    scheme: str
    installed: bool
    version: str | None
    install: str


def list_targets() -> list[TargetInfo]:
    """Return the known engines and those that other packages offer, by scheme."""
    found = _installed()
    return [
        TargetInfo(
            scheme,
            scheme in found,
            _version(found.get(scheme)),
            f"pip install '{PACKAGES[scheme]}'" if scheme in PACKAGES else "",
        )
        for scheme in sorted({*PACKAGES, *found})
    ]


def open_target(url: str | TargetUrl) -> Target:
    """Open a target.

    Raises
    ------
    UnknownNameError
        If no engine has the URL's scheme; near ones are named.
    MissingTargetError
        If the engine's package is not installed.
    """
    parsed = TargetUrl.parse(url) if isinstance(url, str) else url
    found = _installed()
    if parsed.scheme not in found:
        if parsed.scheme in PACKAGES:
            raise MissingTargetError(parsed.scheme, PACKAGES[parsed.scheme])
        raise UnknownNameError(
            "vector database",
            parsed.scheme,
            {*PACKAGES, *found},
            f"expected one of {', '.join(sorted({*PACKAGES, *found}))}",
        )
    make = cast(Callable[[TargetUrl], Target], found[parsed.scheme].load())
    return make(parsed)


def _installed() -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=ENTRY_POINTS)}


def _version(entry: EntryPoint | None) -> str | None:
    if entry is None or entry.dist is None:
        return None
    try:
        return version(entry.dist.name)
    except PackageNotFoundError:
        return None
