"""What a killed process left in a home: folders of ours that no row of the database names."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from sqlalchemy import Connection

from gem_index.store.names import CollectionRepository, SourceRepository
from gem_index.store.records import CollectionRecord

__all__ = ["find_leftovers", "remove_leftovers"]

# Only names that we give are ours: a file, a link or a folder of another name is somebody else's and stays.
_PARTIAL = r"\..+\.partial-\d+"
_SOURCE = re.compile(rf"[A-Za-z0-9][A-Za-z0-9._-]*-[0-9a-f]{{8}}|{_PARTIAL}")
_COLLECTION = re.compile(r"[1-9]\d*")
_SNAPSHOT = re.compile(rf"[0-9a-f]{{12}}|{_PARTIAL}")
_ALL_UNFINISHED = re.compile("unfinished")
_UNFINISHED = re.compile(rf"\d+-\d+-[0-9a-f]{{32}}|{_PARTIAL}")


def find_leftovers(connection: Connection, root: Path) -> list[Path]:
    """Return the folders of a home that belong to nothing; the caller holds the write lock.

    They are word vectors and collections that were removed or never stored, snapshots that another one has replaced, what
    was being written when its process was killed, and the unfinished work of a refit on documents that have changed since.
    """
    sources = {record.location for record in SourceRepository(connection).all()}
    found = [path for path in _folders(root / "vectors", _SOURCE) if path.name not in sources]
    collections = {str(record.id): record for record in CollectionRepository(connection).all()}
    for folder in _folders(root / "collections", _COLLECTION):
        record = collections.get(folder.name)
        if record is None:
            ours = [*_folders(folder, _SNAPSHOT), *_folders(folder, _ALL_UNFINISHED)]
            # a folder that holds something else too stays, and that with it
            found += ours if set(folder.iterdir()) - set(ours) else [folder]
        else:
            found += _unused(folder, record)
    return found


def _unused(folder: Path, record: CollectionRecord) -> Iterator[Path]:
    for path in _folders(folder, _SNAPSHOT):
        if path.name != record.directory:
            yield path
    state = f"{record.last_seq}-{record.last_change}-"
    for path in _folders(folder / "unfinished", _UNFINISHED):
        if not path.name.startswith(state):
            yield path


def _folders(parent: Path, names: re.Pattern[str]) -> list[Path]:
    """Return the folders in a folder whose name is one of ours, in order; no links."""
    if not parent.is_dir() or parent.is_symlink():
        return []
    return sorted(
        path
        for path in parent.iterdir()
        if names.fullmatch(path.name) and path.is_dir() and not path.is_symlink()
    )


def remove_leftovers(connection: Connection, root: Path) -> list[Path]:
    """Remove them, and return what was removed; the caller holds the write lock."""
    found = find_leftovers(connection, root)
    for path in found:
        shutil.rmtree(path)
        parent = path.parent
        if parent.name == "unfinished" and not any(parent.iterdir()):
            parent.rmdir()
    return found
