"""Write files and folders so that they are complete, and on the disk, or not there."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from gem_index.files.inputs import make_directory

__all__ = ["create_file", "publish_directory", "publish_file", "sync_directory", "sync_tree"]


def sync_directory(path: Path) -> None:
    """Sync the names in a directory to disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_tree(path: Path) -> None:
    """Sync all files and names below a directory to disk, readable by their owner only."""
    for child in path.iterdir():
        if child.is_dir():
            child.chmod(0o700)
            sync_tree(child)
            continue
        with child.open("rb") as file:
            os.fchmod(file.fileno(), 0o600)
            os.fsync(file.fileno())
    sync_directory(path)


def _sync(file: IO[bytes]) -> None:
    file.flush()
    os.fsync(file.fileno())


@contextmanager
def publish_file(path: Path) -> Iterator[IO[bytes]]:
    """Write a file atomically: the old file stays until the new one is complete."""
    temporary = path.with_name(f".{path.name}.partial-{os.getpid()}")
    try:
        with temporary.open("wb") as file:
            yield file
            _sync(file)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_directory(path.parent)


@contextmanager
def create_file(path: Path) -> Iterator[IO[bytes]]:
    """Write a file of a new name, which no reader knows yet: complete and synced on return, absent on error."""
    with path.open("xb") as file:
        try:
            yield file
            _sync(file)
        except BaseException:
            path.unlink(missing_ok=True)
            raise
    sync_directory(path.parent)


def publish_directory(path: Path, fill: Callable[[Path], None]) -> None:
    """Create a directory of files atomically: complete on return, absent on error.

    Parameters
    ----------
    path : Path
        The final name; it must not exist yet.
    fill : callable
        Called with a temporary directory beside ``path``, to write the files into it. If it raises, that directory is
        removed.
    """
    # imported here: shutil loads all archive formats, which commands that only read do not need
    import shutil

    make_directory(path.parent)
    temporary = path.with_name(f".{path.name}.partial-{os.getpid()}")
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(mode=0o700)
    try:
        fill(temporary)
        sync_tree(temporary)
        temporary.rename(path)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    sync_directory(path.parent)
