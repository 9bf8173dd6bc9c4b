"""A folder as a target: the table is the folder ``<folder>/live`` with a manifest, the staged one is ``<folder>/staged``.

A manifest names the files that count, and is replaced atomically: who reads by it sees the state after some batch, never
half of one.
"""

from __future__ import annotations

import json
import shutil
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Generic, TypeVar

from gem_index.errors import ConfigError
from gem_index.files import publish_file, user_path
from gem_index.json_input import read_json_file
from gem_index.quoting import quoted_path
from gem_index.targets.protocol import TargetSchema, TargetTable
from gem_index.targets.url import TargetUrl

__all__ = ["FolderTarget", "read_manifest", "write_manifest"]

_MANIFEST = "_table.json"  # readers of folders pass over names that begin with an underscore
_MAGIC = "gem-index vectors"
_STATES = ("live", "staged", "old")

Table = TypeVar("Table", bound=TargetTable)


class FolderTarget(ABC, Generic[Table]):
    """A live folder and perhaps a staged one.

    Parameters
    ----------
    url : TargetUrl
        ``scheme:///folder``.
    *options : str
        Those of the URL that the engine knows.

    Raises
    ------
    ConfigError
        If the URL names a host, or has another option.
    """

    def __init__(self, url: TargetUrl, *options: str) -> None:
        url.check_options(*options)
        if url.host:
            raise ConfigError(f"the target {url} names a host; expected {url.scheme}:///FOLDER")
        self.url = url
        self._folder = user_path(url.path)

    @abstractmethod
    def open_table(self, folder: Path) -> Table:
        """Return the table in a folder with a manifest."""

    @abstractmethod
    def create_table(self, folder: Path, schema: TargetSchema) -> Table:
        """Create an empty table in a folder that does not exist."""

    def live(self) -> Table | None:
        """Return the present table."""
        return self._table("live")

    def staged(self) -> Table | None:
        """Return the staged table."""
        return self._table("staged")

    def create(self, schema: TargetSchema) -> Table:
        """Create an empty live table."""
        if self._folder.exists() and any(
            path.name not in _STATES for path in self._folder.iterdir()
        ):
            raise ConfigError(
                f"the folder {quoted_path(self._folder)} holds other files; expected a new or empty folder"
            )
        return self.create_table(self._folder / "live", schema)

    def stage(self, schema: TargetSchema) -> Table:
        """Create an empty staged table."""
        shutil.rmtree(self._folder / "staged", ignore_errors=True)
        return self.create_table(self._folder / "staged", schema)

    def switch(self) -> None:
        """Put the staged folder in the place of the live one."""
        live, staged, old = (self._folder / name for name in _STATES)
        shutil.rmtree(old, ignore_errors=True)
        if live.exists():
            live.rename(old)
        staged.rename(live)
        shutil.rmtree(old, ignore_errors=True)

    def drop(self) -> None:
        """Remove both tables."""
        for name in _STATES:
            shutil.rmtree(self._folder / name, ignore_errors=True)

    def close(self) -> None:
        """Do nothing: no file stays open."""

    def _table(self, name: str) -> Table | None:
        if self._folder.exists() and not self._folder.is_dir():
            raise ConfigError(
                f"{quoted_path(self._folder)} is a file; expected a new or empty folder"
            )
        folder = self._folder / name
        return self.open_table(folder) if (folder / _MANIFEST).exists() else None


def read_manifest(folder: Path) -> tuple[TargetSchema, dict[str, Any]]:
    """Return what :func:`write_manifest` wrote.

    Raises
    ------
    ConfigError
        If the folder is not a table of gem-index.
    """
    content = read_json_file(folder / _MANIFEST, error=ConfigError)
    if not isinstance(content, dict) or content.get("format") != _MAGIC:
        raise ConfigError(
            f"{quoted_path(folder)} is not a table of gem-index; expected a new or empty folder"
        )
    return TargetSchema(**content["schema"]), content


def write_manifest(folder: Path, schema: TargetSchema, content: Mapping[str, Any]) -> None:
    """Replace the manifest of a folder, which is created if it is missing."""
    folder.mkdir(parents=True, exist_ok=True)
    with publish_file(folder / _MANIFEST) as file:
        file.write(json.dumps({"format": _MAGIC, "schema": asdict(schema), **content}).encode())
