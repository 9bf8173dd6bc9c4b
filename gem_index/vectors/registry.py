"""Open the source of a specification of word vectors: the known names, and the source of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from weakref import WeakValueDictionary

from gem_index.common.forking import ForkSafeLock
from gem_index.errors import Action, Advice, UnknownNameError, VectorFormatError
from gem_index.errors.quoting import quoted
from gem_index.vectors.base import VectorSource
from gem_index.vectors.catalogue import CATALOGUE, find_entry
from gem_index.vectors.combined import CombinedVectors
from gem_index.vectors.specification import VectorSpec, is_path
from gem_index.vectors.stored import open_stored, open_unstored, vector_file
from gem_index.vectors.subword import open_wordllama, open_wordllama_gem

__all__ = [
    "BUNDLED",
    "DEFAULT_VECTORS",
    "ENTRY_POINTS",
    "open_source",
    "plugins",
]

BUNDLED: Mapping[str, Callable[[], VectorSource]] = {
    "wordllama-gem": open_wordllama_gem,
    "wordllama": open_wordllama,
}
"""The sources that need no file from the user."""

_OPEN: WeakValueDictionary[str, VectorSource] = WeakValueDictionary()
_OPENING = ForkSafeLock()

DEFAULT_VECTORS = "wordllama-gem"
"""The vectors of a new collection."""

ENTRY_POINTS = "gem_index.vector_sources"
"""Installed packages offer sources in this group: a name, and a callable without arguments that opens the source."""


def open_source(spec: str | VectorSpec, registered: Mapping[str, Path]) -> VectorSource:
    """Open the source that a specification describes.

    Parameters
    ----------
    spec : str or VectorSpec
        Registered, bundled or installed names and paths, looked up in this order.
    registered : mapping of str to Path
        The registered names and their mapped folders.

    Raises
    ------
    UnknownNameError
        If a part is neither a name nor a path.
    """
    spec = VectorSpec.parse(spec)
    sources = [_open_part(part.name, registered) for part in spec.parts]
    if spec.weights == (1,):
        return sources[0]
    return CombinedVectors(sources, list(spec.weights))


def plugins() -> dict[str, EntryPoint]:
    """Return the sources that installed packages offer, by name."""
    return {entry.name: entry for entry in entry_points(group=ENTRY_POINTS)}


def _open_part(part: str, registered: Mapping[str, Path]) -> VectorSource:
    if part in registered:
        return open_stored(registered[part])
    if part in BUNDLED:
        return _bundled(part)
    if is_path(part):
        return open_unstored(vector_file(part))
    entry = find_entry(part)
    if entry is not None and entry.packaged:
        return open_unstored(entry.packaged_file())
    installed = plugins()
    if part in installed:
        return _open_plugin(installed[part])
    if entry is not None:
        advice = Advice(Action.FETCH_VECTORS, {"vectors": part})
        raise UnknownNameError("vectors", part, (), advice)
    if "/" in part:
        raise UnknownNameError(
            "vectors", part, (), "expected the path of an existing file or folder"
        )
    raise UnknownNameError(
        "vectors",
        part,
        {*registered, *BUNDLED, *installed, *CATALOGUE},
        Advice(Action.REGISTER_VECTORS),
    )


def _bundled(name: str) -> VectorSource:
    """Open bundled vectors, or return them if they are open; they are freed after their last use."""
    with _OPENING:
        source = _OPEN.get(name)
        if source is None:
            source = _OPEN[name] = BUNDLED[name]()
        return source


def _open_plugin(entry: EntryPoint) -> VectorSource:
    try:
        source = entry.load()()
    except Exception as error:
        raise VectorFormatError(
            f"{entry.value}, installed for the vectors {entry.name}, cannot be opened: "
            f"{type(error).__name__} {quoted(str(error), 200)}; expected a package in "
            "order: reinstall it or tell its authors"
        ) from error
    if not isinstance(source, VectorSource):
        raise VectorFormatError(
            f"{entry.value}, installed for the vectors {entry.name}, gave a {type(source).__name__}; "
            "expected a VectorSource: dimension, fingerprint, lookup and frequent_words"
        )
    return source
