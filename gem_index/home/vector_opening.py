"""Open word vectors by name, path or specification, with or without a home."""

from __future__ import annotations

from pathlib import Path

from gem_index.common.settings import load_settings
from gem_index.files.inputs import user_path
from gem_index.home.home import Home
from gem_index.store.workspace import has_database
from gem_index.vectors.base import VectorSource
from gem_index.vectors.formats.registry import KeyedVectorsLike, read_vectors
from gem_index.vectors.registry import BUNDLED, open_source
from gem_index.vectors.specification import VectorSpec, is_path
from gem_index.vectors.stored import open_unstored

__all__ = ["open_home", "open_named", "open_vectors"]


def open_home(home: Home | str | Path | None) -> Home:
    """Return the given home, or open the home of a given folder."""
    if isinstance(home, Home):
        return home
    return Home(home, create=home is None)


def open_named(named: str | VectorSpec, home: Home | str | Path | None) -> VectorSource:
    """Open word vectors by names; open a home only if it exists, or if the names require a home."""
    vectors = VectorSpec.parse(named)
    if isinstance(home, str | Path):
        needed = has_database(Path(home)) or not _without_home(vectors)
        return _open(vectors, open_home(home) if needed else None)
    return _open(vectors, home)


def _without_home(spec: VectorSpec) -> bool:
    """Tell whether a specification needs no home, because all its parts are bundled names or existing paths."""
    return all(name in BUNDLED or is_path(name) for name in spec.names)


def _unregistered(spec: VectorSpec) -> bool:
    """Tell whether no part of a specification can be a registered name, because all are bundled or have a slash."""
    return all(name in BUNDLED or "/" in name for name in spec.names)


def open_vectors(spec: str | KeyedVectorsLike, home: Home | None = None) -> VectorSource:
    """Open word vectors.

    Parameters
    ----------
    spec : str or gensim KeyedVectors
        A bundled name (``wordllama``), a name registered in the home, or the path of a file or folder of a known
        format. ``+`` joins several of these, each with an optional weight (``a*0.7+b``). A KeyedVectors object is used
        directly.
    home : Home, optional
        The home in which registered names are looked up. Default: the default home, if it exists; it is not created.
        A part is looked up first as a registered name, then as a bundled name, then as a path. So a file in the working
        directory does not change the meaning of a name.

    Raises
    ------
    UnknownNameError
        If a part is neither a name nor a path.
    """
    if not isinstance(spec, str):
        return open_unstored(read_vectors(spec))
    return _open(VectorSpec.parse(spec), home)


def _open(spec: VectorSpec, home: Home | None) -> VectorSource:
    if home is None:
        if _unregistered(spec) or not has_database(user_path(load_settings().home)):
            return open_source(spec, {})
        home = Home()
    return home.vectors.open(str(spec))
