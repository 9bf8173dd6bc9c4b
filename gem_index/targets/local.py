"""Databases on this machine: the path in their URL, and whether a folder contains one."""

from __future__ import annotations

from pathlib import Path

from gem_index.errors import ConfigError
from gem_index.errors.quoting import quoted_path
from gem_index.targets.url import TargetUrl

__all__ = ["has_database", "local_path"]


def local_path(url: TargetUrl, form: str, *, server: str = "") -> Path:
    """Return the path of a database on this machine, in a folder that exists.

    Parameters
    ----------
    url : TargetUrl
    form : str
        How such a URL reads, for messages: ``duckdb:///FOLDER/FILE?table=NAME``.
    server : str, optional
        How the URL of a server begins, if the engine has servers: ``qdrant+http://``.

    Raises
    ------
    ConfigError
        If the URL names a host or a user, or the folder around the database does not exist.
    """
    if url.host or url.user:
        or_server = f", or {server} for a server" if server else ""
        raise ConfigError(
            f"found a host in the target {url}; expected {form}; write three slashes and the full path{or_server}"
        )
    path = Path(url.path)
    if not path.parent.is_dir():
        raise ConfigError(
            f"found no folder {quoted_path(path.parent)}; expected the folder of the database; check the path, "
            "or create it"
        )
    return path


def has_database(folder: Path, mark: str, engine: str) -> bool:
    """Tell whether a folder contains a database. In a missing or empty folder a database can be created.

    Parameters
    ----------
    folder : Path
    mark : str
        A file or folder that every database of the engine holds.
    engine : str
        What messages call the engine.

    Raises
    ------
    ConfigError
        If it is a file, or holds other files.
    """
    if folder.exists() and not folder.is_dir():
        raise ConfigError(
            f"found the file {quoted_path(folder)}; expected a folder of {engine}; name another path"
        )
    if (folder / mark).exists():
        return True
    if folder.exists() and any(folder.iterdir()):
        raise ConfigError(
            f"found the folder {quoted_path(folder)} with other files; expected an empty or missing one, or one of "
            f"{engine}; name another folder"
        )
    return False
