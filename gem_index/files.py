"""File handling that must not lose data: sync to disk, write under a temporary name, hash, open compressed input."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

from gem_index.errors import InputError

__all__ = ["open_input", "publish_directory", "sha256_of_file", "sync_directory", "sync_tree"]

_GZIP_MAGIC = b"\x1f\x8b"


@contextmanager
def open_input(name: str) -> Iterator[io.BufferedReader]:
    """Open a user's file for reading bytes; ``-`` is standard input, gzip is unpacked on the way.

    Parameters
    ----------
    name : str
        The path as the user gave it.

    Raises
    ------
    InputError
        If the file is missing, is a directory or cannot be read.
    """
    if name == "-":
        yield _unpacked(cast("io.BufferedReader", sys.stdin.buffer))
        return
    try:
        file = Path(name).expanduser().open("rb")
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InputError(f"cannot read {name}: {reason}; expected a readable file") from error
    with file:
        yield _unpacked(file)


def _unpacked(file: io.BufferedReader) -> io.BufferedReader:
    if file.peek(2)[:2] != _GZIP_MAGIC:
        return file
    return io.BufferedReader(cast("io.RawIOBase", gzip.GzipFile(fileobj=file)))


def sha256_of_file(path: Path) -> str:
    """Return the SHA-256 of a file's bytes in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sync_directory(path: Path) -> None:
    """Make the names in a directory durable."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_tree(path: Path) -> None:
    """Make every file directly in a directory, and the directory's names, durable."""
    for child in path.iterdir():
        with child.open("rb") as file:
            os.fsync(file.fileno())
    sync_directory(path)


def publish_directory(path: Path, fill: Callable[[Path], None]) -> None:
    """Create a directory of files that is either wholly there or not at all.

    Parameters
    ----------
    path : Path
        The final name; it must not exist yet.
    fill : callable
        Writes the files into the temporary directory that it is given, which lies beside ``path``. If it raises, the
        temporary directory is removed.
    """
    # imported here: shutil pulls in every archive format, which a command that writes nothing should not pay for
    import shutil

    path.parent.mkdir(parents=True, exist_ok=True)
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
