"""From what a user writes for ``--vectors`` to a source: a name, a file, a folder, or several joined by ``+``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from gem_index.errors import ConfigError, UnknownNameError
from gem_index.vectors.base import VectorSource
from gem_index.vectors.combined import CombinedVectors
from gem_index.vectors.formats import read_vectors
from gem_index.vectors.mapped import MappedVectors
from gem_index.vectors.subword import open_wordllama

__all__ = ["BUNDLED", "DEFAULT_VECTORS", "open_source", "split_spec"]

BUNDLED: Mapping[str, Callable[[], VectorSource]] = {"wordllama": open_wordllama}
"""The sources that need no file of the user's."""

DEFAULT_VECTORS = "wordllama"


def split_spec(spec: str) -> list[str]:
    """Split ``a+b`` into its parts; a part that exists as a path may itself hold a ``+``.

    Raises
    ------
    ConfigError
        If a part is empty.
    """
    if is_path(spec):
        return [spec]
    parts = [part.strip() for part in spec.split("+")]
    if not all(parts):
        raise ConfigError(f"the vectors are {spec!r}; expected names or paths joined by '+'")
    return parts


def is_path(part: str) -> bool:
    """Tell whether a part of a specification names an existing file or folder."""
    return part not in BUNDLED and Path(part).expanduser().exists()


def open_source(spec: str, registered: Mapping[str, Path]) -> VectorSource:
    """Open the source that a specification describes.

    Parameters
    ----------
    spec : str
        A bundled or registered name, a path, or several joined by ``+``.
    registered : mapping of str to Path
        The registered names and their mapped folders.

    Raises
    ------
    UnknownNameError
        If a part is neither a name nor a path.
    """
    sources = [_open_part(part, registered) for part in split_spec(spec)]
    return sources[0] if len(sources) == 1 else CombinedVectors(sources)


def _open_part(part: str, registered: Mapping[str, Path]) -> VectorSource:
    if part in registered:
        return MappedVectors.open(registered[part])
    if part in BUNDLED:
        return BUNDLED[part]()
    if is_path(part):
        return MappedVectors.read(read_vectors(part))
    raise UnknownNameError(
        "vectors",
        part,
        {*registered, *BUNDLED},
        "register a file with: gem-index vectors add NAME FILE, or name an existing file",
    )
