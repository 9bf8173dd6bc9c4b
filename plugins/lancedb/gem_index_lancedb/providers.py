"""Find an encoder by its fingerprint alone, as a pushed table records it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gem_index import Home, NamedProvider, open_provider
from gem_index.errors import ConfigError

__all__ = ["find_provider"]


def find_provider(fingerprint: str, home: Home | str | Path | None = None) -> NamedProvider:
    """Return the provider with a fingerprint: of a collection or model of the home, or of the bundled vectors.

    Parameters
    ----------
    fingerprint : str
    home : Home, str or Path, optional
        By default the default home.

    Raises
    ------
    ConfigError
        If there is none.
    """
    place = home if isinstance(home, Home) else Home(home, create=home is None)
    choices: list[tuple[str, dict[str, Any]]] = [
        (status.fingerprint, {"collection": status.name}) for status in place.collections()
    ]
    choices += [(model.fingerprint, {"model": model.name}) for model in place.models.list()]
    for found, choice in choices:
        if found == fingerprint:
            return open_provider(**choice, home=home, fingerprint=fingerprint)
    bundled = open_provider()
    if bundled.fingerprint == fingerprint:
        return bundled
    names = [f"{next(iter(choice.values()))} {found[:12]}" for found, choice in choices][:5]
    raise ConfigError(
        f"found no encoder {fingerprint[:12]} in the home {place.root}, but {', '.join(names) or 'none at all'}; "
        "expected the one that the vectors were made with; push the collection again, or name another home: "
        "get_registry().set_var('gem_home', FOLDER)"
    )
