"""A folder as a target: the table is the folder ``<folder>/live`` with a manifest, the staged one is ``<folder>/staged``.

A manifest names the present files, and is replaced atomically: a reader that uses it sees the state after a batch, never
half a batch. A table replaces the manifest that it has read, under a lock. If two programs write at once, one of them gets
an error.
"""

from __future__ import annotations

import json
import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from filelock import FileLock, Timeout

from gem_index.common.json_input import read_json_file
from gem_index.errors import ConfigError, ForeignTableError, InputError, UnreadableFileError
from gem_index.errors.quoting import quoted_error, quoted_path
from gem_index.files.inputs import user_path
from gem_index.files.publishing import disk_errors, publish_file
from gem_index.targets.protocol import TargetSchema, TargetTable
from gem_index.targets.tables import missing_staged_table
from gem_index.targets.url import TargetUrl

__all__ = ["FolderTable", "FolderTarget", "create_manifest", "read_manifest", "table_errors"]

_MANIFEST = "_table.json"  # readers of folders ignore names that begin with an underscore
_MAGIC = "gem-index vectors"
_STATES = ("live", "staged", "old")
_LOCK = "_lock"
_QUERY = "query"  # the folder of the second table, which has the query record
_WAIT = 10.0  # seconds; the lock is held while a manifest is replaced

Table = TypeVar("Table", bound=TargetTable)


class FolderTable:
    """The table in a folder, as its manifest describes it.

    Parameters
    ----------
    folder : Path

    Raises
    ------
    ConfigError
        If the folder is not a table of gem-index.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.schema, self._manifest = read_manifest(folder)

    def commit(
        self,
        content: Mapping[str, Any],
        files: Mapping[str, bytes] = MappingProxyType({}),
        replaced: Callable[[str], bool] = lambda _: False,
    ) -> None:
        """Replace the content of the manifest.

        Parameters
        ----------
        content : mapping
        files : mapping of str to bytes, optional
            Files of the folder that are written before.
        replaced : callable, optional
            Tells by its name whether a file is no longer needed. Such files are removed before another program may write.

        Raises
        ------
        ConfigError
            If another program has replaced it since this one read it.
        """
        with _locked(self._folder.parent):
            if not (self._folder / _MANIFEST).exists() or (
                read_manifest(self._folder)[1] != self._manifest
            ):
                raise self.damage("", "")
            _write_files(self._folder, files)
            self._manifest = _write(self._folder, self.schema, content)
            for path in self._folder.iterdir():
                if replaced(path.name):
                    path.unlink()

    def damage(self, name: str, problem: str) -> ConfigError:
        """Return the error of a file that cannot be read: another program has replaced it, or it is damaged."""
        folder = quoted_path(self._folder)
        try:
            changed = read_manifest(self._folder)[1] != self._manifest
        except InputError:
            changed = True
        if changed:
            return ConfigError(
                f"another program has written to {folder}; expected one at a time; run it again when it is done"
            )
        return ConfigError(
            f"the file {name} of {folder} is damaged or missing: {problem}; expected what a push wrote; push in full again"
        )


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

    @property
    def query_table(self) -> TargetUrl:
        """The second table is a folder inside the folder."""
        return replace(self.url, path=f"{self.url.path.rstrip('/')}/{_QUERY}")

    @abstractmethod
    def open_table(self, folder: Path) -> Table:
        """Return the table in a folder with a manifest."""

    @abstractmethod
    def create_table(self, folder: Path, schema: TargetSchema) -> Table:
        """Create an empty table in a folder that does not exist."""

    def unsupported(self, metadata: Mapping[str, Any]) -> list[str]:  # noqa: ARG002 - of the protocol
        """Return nothing: metadata is stored as JSON."""
        return []

    def live(self) -> Table | None:
        """Return the present table."""
        return self._table("live")

    def staged(self) -> Table | None:
        """Return the staged table."""
        return self._table("staged")

    def create(self, schema: TargetSchema) -> Table:
        """Create an empty live table."""
        self._ours()
        return self.create_table(self._folder / "live", schema)

    def stage(self, schema: TargetSchema) -> Table:
        """Create an empty staged table."""
        self._ours()
        with _locked(self._folder):
            shutil.rmtree(self._folder / "staged", ignore_errors=True)
        return self.create_table(self._folder / "staged", schema)

    def switch(self) -> None:
        """Put the staged folder in the place of the live one."""
        if "staged" not in self._ours():
            raise missing_staged_table("live", self.url)
        live, staged, old = (self._folder / name for name in _STATES)
        with _locked(self._folder):
            shutil.rmtree(old, ignore_errors=True)
            if live.exists():
                live.rename(old)
            staged.rename(live)
            shutil.rmtree(old, ignore_errors=True)

    def drop(self) -> None:
        """Remove both tables."""
        self._ours()
        if self._folder.is_dir():
            with _locked(self._folder):
                for name in _STATES:
                    shutil.rmtree(self._folder / name, ignore_errors=True)

    def close(self) -> None:
        """Do nothing: no file stays open."""

    def _table(self, name: str) -> Table | None:
        return self.open_table(self._folder / name) if name in self._ours() else None

    def _ours(self) -> list[str]:
        """Return the states that have a table. Raise ConfigError if the folder belongs to another program."""
        if self._folder.exists() and not self._folder.is_dir():
            raise ForeignTableError(
                f"{quoted_path(self._folder)} is a file; expected a new or empty folder"
            )
        ours = [state for state in _STATES if (self._folder / state / _MANIFEST).exists()]
        # Other files beside our tables do no harm.
        if not ours and self._folder.exists() and self._holds_other_files():
            raise ForeignTableError(
                f"the folder {quoted_path(self._folder)} holds other files, which gem-index did not create; "
                "expected a new or empty folder"
            )
        return ours

    def _holds_other_files(self) -> bool:
        """Tell whether the folder, which has no table, has files of another program.

        A folder without our lock has none only if it holds nothing but empty folders, which a killed push can leave.
        """
        names = {path.name for path in self._folder.iterdir()}
        if not names <= {*_STATES, _LOCK, _QUERY}:
            return True
        return _LOCK not in names and any(
            path.is_symlink() or not path.is_dir() for path in self._folder.rglob("*")
        )


def create_manifest(
    folder: Path,
    schema: TargetSchema,
    content: Mapping[str, Any],
    files: Mapping[str, bytes] = MappingProxyType({}),
) -> None:
    """Write the first manifest of a folder, which is created if it is missing.

    Parameters
    ----------
    folder : Path
    schema : TargetSchema
    content : mapping
    files : mapping of str to bytes, optional
        The contents of files to write into the folder before the manifest, by their names.

    Raises
    ------
    ConfigError
        If the folder has a manifest already.
    DiskError
        If the folder or a file cannot be written.
    """
    with table_errors(folder.parent):
        folder.parent.mkdir(parents=True, exist_ok=True)
    with _locked(folder.parent):
        folder.mkdir(exist_ok=True)
        if (folder / _MANIFEST).exists():
            raise ConfigError(
                f"another program has created {quoted_path(folder)}; expected one at a time; "
                "run it again when it is done"
            )
        _write_files(folder, files)
        _write(folder, schema, content)


def read_manifest(folder: Path) -> tuple[TargetSchema, dict[str, Any]]:
    """Return the schema and the whole content of a folder's manifest.

    Raises
    ------
    ConfigError
        If the folder is not a table of gem-index.
    UnreadableFileError
        If the manifest cannot be opened or read.
    """
    try:
        content = read_json_file(folder / _MANIFEST, error=ConfigError)
    except OSError as error:
        raise UnreadableFileError(str(folder / _MANIFEST), quoted_error(error)) from error
    if not isinstance(content, dict) or content.get("format") != _MAGIC:
        raise ConfigError(
            f"{quoted_path(folder)} is not a table of gem-index; expected a new or empty folder"
        )
    try:
        schema, _ = TargetSchema(**content["schema"]), content["files"]
    except (KeyError, TypeError) as error:
        raise ConfigError(
            f"{quoted_path(folder / _MANIFEST)} is damaged; expected what a push wrote; push in full again, "
            "or remove the folder"
        ) from error
    return schema, content


def _write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    for name, data in files.items():
        with publish_file(folder / name) as file:
            file.write(data)


def _write(folder: Path, schema: TargetSchema, content: Mapping[str, Any]) -> dict[str, Any]:
    whole = {"format": _MAGIC, "schema": asdict(schema), **content}
    with publish_file(folder / _MANIFEST) as file:
        file.write(json.dumps(whole).encode())
    return whole


def table_errors(folder: Path) -> AbstractContextManager[None]:
    """Turn an OSError of a block that writes to a table into a DiskError."""
    kept = "what was sent before stays, and the next push continues"
    return disk_errors(f"the table {quoted_path(folder)}", kept)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold the lock of a target's folder."""
    try:
        with table_errors(folder), FileLock(folder / _LOCK, timeout=_WAIT):
            yield
    except Timeout as error:
        raise ConfigError(
            f"another program writes to {quoted_path(folder)}; expected one at a time; "
            "run it again when it is done"
        ) from error
