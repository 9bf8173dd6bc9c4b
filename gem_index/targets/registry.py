"""Find the engine for the scheme of a URL."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from importlib.metadata import (
    EntryPoint,
    PackageNotFoundError,
    distribution,
    entry_points,
    version,
)
from types import MappingProxyType
from typing import cast

from gem_index.errors import ConfigError, MissingTargetError, UnknownNameError
from gem_index.errors.installing import install_line
from gem_index.targets.protocol import Target
from gem_index.targets.url import TargetUrl

__all__ = [
    "ENTRY_POINTS",
    "TargetInfo",
    "check_many_writers",
    "check_target",
    "exact_search",
    "list_targets",
    "open_target",
]

ENTRY_POINTS = "gem_index.targets"
"""Installed packages offer engines in this group: a scheme, and a callable from a TargetUrl to a Target."""

_EXACT, _FILES = "exact", "files"
_JSON, _JSON_64 = "any JSON", "64-bit JSON"
_MANY = "many"
_AT_ONCE, _RENAMED = "one step", "two renames"


@dataclass(frozen=True)
class _Engine:
    """The package that offers a scheme, and what the engine can do, as :class:`TargetInfo` says."""

    package: str
    search: str
    metadata: str
    replacement: str = _AT_ONCE
    writers: str = "one"


def _known() -> Mapping[str, _Engine]:
    chroma = _Engine(
        "gem-index-chroma",
        "HNSW",
        "flat values",
        _RENAMED,
    )
    chroma_server = replace(chroma, writers=_MANY)
    elastic = "gem-index-elasticsearch"
    opensearch = f"{elastic}[opensearch]"
    server = _Engine("", "HNSW", _JSON_64, writers=_MANY)
    files = _Engine("", "bulk files", _JSON_64, _RENAMED)
    engines = {
        "chroma": chroma,
        "chroma+http": chroma_server,
        "duckdb": _Engine("gem-index-duckdb", _EXACT, _JSON),
        "elasticsearch": replace(files, package=elastic),
        "elasticsearch+http": replace(server, package=elastic),
        "faiss": _Engine("gem-index[parquet]", "exact or factory", _JSON, _RENAMED),
        "lancedb": _Engine("gem-index-lancedb", _EXACT, _JSON_64),
        "milvus": _Engine("gem-index-milvus", _EXACT, "64 KiB of JSON"),
        "milvus+http": _Engine("gem-index-milvus", "approximate", "64 KiB of JSON", writers=_MANY),
        "opensearch": replace(files, package=elastic),
        "opensearch+http": replace(server, package=opensearch),
        "parquet": _Engine("gem-index[parquet]", _FILES, _JSON, _RENAMED),
        "postgresql": _Engine(
            "gem-index-postgresql",
            "HNSW or exact",
            "floats < 1e16",
            writers=_MANY,
        ),
        "qdrant": _Engine("gem-index-qdrant", _EXACT, _JSON_64),
        "qdrant+http": replace(server, package="gem-index-qdrant"),
        "sqlite-vec": _Engine("gem-index-sqlite-vec", _EXACT, _JSON),
    }
    secure = {f"{name}s": engine for name, engine in engines.items() if name.endswith("+http")}
    return MappingProxyType(engines | secure)


ENGINES: Mapping[str, _Engine] = _known()
"""The known schemes."""


@dataclass(frozen=True)
class TargetInfo:
    """The description of an engine.

    Attributes
    ----------
    scheme : str
    installed : bool
    version : str or None
        Of its package.
    install : str
        The command that installs it.
    search : str
        The engine's own: "exact", "HNSW" or "approximate"; "files" where other tools search.
    metadata : str
        What it stores without a change: "any JSON", "64-bit JSON" (no larger integers), "flat values" (strings, numbers,
        booleans, and lists of one of them), or what else limits it.
    replacement : str
        How readers get from old vectors to new ones after a refit: "one step", or "two renames", between which there
        is no table for a moment.
    writers : str
        "many" where processes of several machines may write to a table at once, else "one".

    The last five are empty for engines of other packages.
    """

    scheme: str
    installed: bool
    version: str | None
    install: str
    search: str = ""
    metadata: str = ""
    replacement: str = ""
    writers: str = ""


def list_targets() -> list[TargetInfo]:
    """Return the known engines and those that other packages offer, by scheme."""
    found = _installed()
    listed = []
    for scheme in sorted({*ENGINES, *found}):
        engine = ENGINES.get(scheme, _Engine("", "", "", "", ""))
        listed.append(
            TargetInfo(
                scheme,
                scheme in found,
                _version(found.get(scheme)),
                install_line(engine.package) if engine.package else "",
                engine.search,
                engine.metadata,
                engine.replacement,
                engine.writers,
            )
        )
    return listed


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
    make = cast(Callable[[TargetUrl], Target], _engine_of(parsed).load())
    return make(parsed)


def check_target(url: str) -> None:
    """Raise an error if no installed engine has the scheme of a URL; nothing is opened.

    Raises
    ------
    ConfigError
        If it is malformed.
    UnknownNameError, MissingTargetError
        As of :func:`open_target`.
    """
    _engine_of(TargetUrl.parse(url))


def check_many_writers(url: TargetUrl) -> None:
    """Raise an error if an engine accepts one writer; an engine of another package has ``many_writers = True`` for many.

    Raises
    ------
    ConfigError
        If it takes one.
    UnknownNameError, MissingTargetError
        As of :func:`open_target`.
    """
    entry = _engine_of(url)
    known = ENGINES.get(url.scheme)
    if known.writers == _MANY if known else getattr(entry.load(), "many_writers", False):
        return
    many = ", ".join(
        sorted(scheme for scheme, engine in ENGINES.items() if engine.writers == _MANY)
    )
    raise ConfigError(
        f"the target {url} takes one writer; expected one that the workers of a cluster write to at once: {many}"
    )


def exact_search(url: TargetUrl) -> bool:
    """Tell whether the engine of a URL finds the nearest vectors without exception; False if it is not known."""
    known = ENGINES.get(url.scheme)
    return known is not None and known.search in (_EXACT, _FILES)


def _engine_of(parsed: TargetUrl) -> EntryPoint:
    known = ENGINES.get(parsed.scheme)
    entry = None if known is None else _of_package(known.package, parsed.scheme)
    if entry is not None:
        return entry
    found = _installed()
    if parsed.scheme not in found:
        if parsed.scheme in ENGINES:
            raise MissingTargetError(parsed.scheme, ENGINES[parsed.scheme].package)
        raise UnknownNameError(
            "vector database",
            parsed.scheme,
            {*ENGINES, *found},
            f"expected one of {', '.join(sorted({*ENGINES, *found}))}",
        )
    return found[parsed.scheme]


def _of_package(package: str, scheme: str) -> EntryPoint | None:
    """Return the entry point of a known package; reading the entry points of all packages takes tens of milliseconds."""
    try:
        offered = distribution(package.partition("[")[0]).entry_points
    except PackageNotFoundError:
        return None
    return next(iter(offered.select(group=ENTRY_POINTS, name=scheme)), None)


def _installed() -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=ENTRY_POINTS)}


def _version(entry: EntryPoint | None) -> str | None:
    if entry is None or entry.dist is None:
        return None
    try:
        return version(entry.dist.name)
    except PackageNotFoundError:
        return None
