"""Leftovers of killed processes in a home: gem-index folders that no database row names."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from sqlalchemy import Connection

from gem_index.store.names import CollectionRepository, WordVectorRepository
from gem_index.store.records import CollectionRecord

__all__ = ["find_leftovers", "remove_leftovers"]

# Only folders with names that gem-index generates are removed; files, links and other folders stay.
_PARTIAL = r"\..+\.partial-\d+"
_SOURCE = re.compile(rf"[A-Za-z0-9][A-Za-z0-9._-]*-[0-9a-f]{{8}}|{_PARTIAL}")
_COLLECTION = re.compile(r"[1-9]\d*")
_SNAPSHOT = re.compile(rf"[0-9a-f]{{12}}|{_PARTIAL}")
_MAP = re.compile(r"map-\d+-\d+")
_ALL_UNFINISHED = re.compile("unfinished")
_UNFINISHED = re.compile(rf"\d+-\d+-[0-9a-f]{{32}}|{_PARTIAL}")


def find_leftovers(connection: Connection, root: Path) -> list[Path]:
    """Return the unused folders of a home; the caller holds the write lock.

    These are word vectors and collections that were removed or never stored, replaced snapshots, partial folders of killed
    processes, maps of an earlier fit, and checkpoints of an unfinished refit whose documents have changed since.
    """
    sources = {record.location for record in WordVectorRepository(connection).all()}
    found = [path for path in _folders(root / "vectors", _SOURCE) if path.name not in sources]
    collections = {str(record.id): record for record in CollectionRepository(connection).all()}
    for folder in _folders(root / "collections", _COLLECTION):
        record = collections.get(folder.name)
        if record is None:
            ours = [
                path
                for names in (_SNAPSHOT, _MAP, _ALL_UNFINISHED)
                for path in _folders(folder, names)
            ]
            # a folder that also holds other files stays, with those files
            found += ours if set(folder.iterdir()) - set(ours) else [folder]
        else:
            found += _unused(folder, record)
    return found


def _unused(folder: Path, record: CollectionRecord) -> Iterator[Path]:
    for path in _folders(folder, _SNAPSHOT):
        if path.name != record.directory:
            yield path
    for path in _folders(folder, _MAP):
        if path.name != record.map_directory:
            yield path
    state = f"{record.last_seq}-{record.last_change}-"
    for path in _folders(folder / "unfinished", _UNFINISHED):
        if not path.name.startswith(state):
            yield path


def _folders(parent: Path, names: re.Pattern[str]) -> list[Path]:
    """Return the subfolders of a folder whose name matches a pattern, sorted, without links."""
    if not parent.is_dir() or parent.is_symlink():
        return []
    return sorted(
        path
        for path in parent.iterdir()
        if names.fullmatch(path.name) and path.is_dir() and not path.is_symlink()
    )


def remove_leftovers(connection: Connection, root: Path) -> list[Path]:
    """Remove the unused folders of a home and return them; the caller holds the write lock."""
    found = find_leftovers(connection, root)
    for path in found:
        shutil.rmtree(path)
        parent = path.parent
        if parent.name == "unfinished" and not any(parent.iterdir()):
            parent.rmdir()
    return found
