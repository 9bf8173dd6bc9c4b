"""Open a source from a specification of vectors: a name, a file, a folder, or several joined by ``+``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from weakref import WeakValueDictionary

from gem_index.errors import ConfigError, UnknownNameError, VectorFormatError
from gem_index.files import split_member
from gem_index.forking import ForkSafeLock
from gem_index.quoting import quoted
from gem_index.vectors.base import VectorSource
from gem_index.vectors.catalogue import CATALOGUE
from gem_index.vectors.combined import CombinedVectors
from gem_index.vectors.stored import open_stored, open_unstored, vector_file
from gem_index.vectors.subword import open_wordllama, open_wordllama_gem

__all__ = [
    "BUNDLED",
    "DEFAULT_VECTORS",
    "ENTRY_POINTS",
    "SpecPart",
    "is_path",
    "join_spec",
    "open_source",
    "plugins",
    "split_spec",
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


@dataclass(frozen=True)
class SpecPart:
    """One part of a specification: a name or path, and its weight in the concatenation."""

    name: str
    weight: float = 1.0

    def __str__(self) -> str:
        return self.name if self.weight == 1 else f"{self.name}*{self.weight!r}"


def split_spec(spec: str) -> list[SpecPart]:
    """Split ``a*0.7+b`` into its parts; a part that exists as a path may itself hold a ``+`` or ``*``.

    Raises
    ------
    ConfigError
        If a part is empty or its weight is not a number from 1e-9 to 1e9.
    """
    if is_path(spec):
        return [SpecPart(spec)]
    return [_part(text.strip(), spec) for text in spec.split("+")]


def join_spec(parts: list[SpecPart]) -> str:
    """Return the specification for parts."""
    return "+".join(map(str, parts))


def _part(text: str, spec: str) -> SpecPart:
    if is_path(text):
        return SpecPart(text)
    name, star, factor = text.rpartition("*")
    if not star:
        name, factor = text, "1"
    try:
        weight = float(factor)
    except ValueError:
        weight = 0.0
    if not name or not 1e-9 <= weight <= 1e9:
        raise ConfigError(
            f"the vectors are {quoted(spec, 200)}; expected names or paths joined by '+', each with an optional "
            "weight from 1e-9 to 1e9: lexvec*1.0+fasttext*0.7+psl"
        )
    return SpecPart(name.strip(), weight)


def is_path(part: str) -> bool:
    """Tell whether a part of a specification names an existing file or folder, or a file inside a zip file."""
    if not part or part in BUNDLED:
        return False
    path, _ = split_member(part)
    try:
        return path.exists()
    except OSError:
        return False  # the name is too long for a file


def open_source(spec: str, registered: Mapping[str, Path]) -> VectorSource:
    """Open the source that a specification describes.

    Parameters
    ----------
    spec : str
        A bundled, registered or installed name, a path, or several joined by ``+``, each with an optional weight.
    registered : mapping of str to Path
        The registered names and their mapped folders.

    Raises
    ------
    UnknownNameError
        If a part is neither a name nor a path.
    """
    parts = split_spec(spec)
    sources = [_open_part(part.name, registered) for part in parts]
    weights = [part.weight for part in parts]
    if len(sources) == 1 and weights == [1]:
        return sources[0]
    return CombinedVectors(sources, weights)


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
    installed = plugins()
    if part in installed:
        return _open_plugin(installed[part])
    if part in CATALOGUE:
        if CATALOGUE[part].packaged:
            return open_unstored(CATALOGUE[part].packaged_file())
        raise UnknownNameError(
            "vectors", part, (), f"fetch them with: gem-index vectors add {part}"
        )
    if "/" in part:
        raise UnknownNameError(
            "vectors", part, (), "expected the path of an existing file or folder"
        )
    raise UnknownNameError(
        "vectors",
        part,
        {*registered, *BUNDLED, *installed, *CATALOGUE},
        "register a file with: gem-index vectors add NAME FILE, or name an existing file",
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
