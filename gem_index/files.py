"""File handling that must not lose data: sync to disk, write under a temporary name, hash, open compressed input."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import lzma
import os
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

from gem_index.errors import InputError

__all__ = [
    "COMPRESSED",
    "UNPACKING_ERRORS",
    "is_compressed",
    "open_input",
    "plain_file",
    "publish_directory",
    "publish_file",
    "sha256_of_file",
    "split_member",
    "sync_directory",
    "sync_tree",
]

COMPRESSED = (".gz", ".bz2", ".xz", ".zip")
"""The endings of compressed files that are read."""

UNPACKING_ERRORS = (EOFError, OSError, zlib.error, lzma.LZMAError, zipfile.BadZipFile)
"""What reading a damaged compressed file raises."""

_MAGICS = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\xfd7zXZ\x00": "xz", b"PK\x03\x04": "zip"}


@contextmanager
def open_input(name: str) -> Iterator[io.BufferedReader]:
    """Open a user's file for reading bytes; gzip, bzip2, xz and zip, known by their first bytes, are unpacked on the way.

    Parameters
    ----------
    name : str
        The path as the user gave it; ``-`` is standard input, ``FILE.zip/MEMBER`` one of the files in a zip file.

    Raises
    ------
    InputError
        If the file is missing, is a directory or cannot be read, or a zip file holds several files and none was named.
    """
    if name == "-":
        with _unpacked(cast("io.BufferedReader", sys.stdin.buffer), "standard input", None) as file:
            yield file
        return
    path, member = split_member(name)
    try:
        packed = path.open("rb")
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InputError(f"cannot read {name}: {reason}; expected a readable file") from error
    with packed, _unpacked(packed, name, member) as file:
        yield file


def split_member(name: str) -> tuple[Path, str | None]:
    """Split ``FILE.zip/MEMBER`` into the file and the member's name; a plain path has no member."""
    path = Path(name).expanduser()
    try:
        if not path.exists():
            for parent in path.parents:
                if parent.is_file():
                    return parent, path.relative_to(parent).as_posix()
    except OSError:
        pass  # a name too long, a folder that may not be read: opening it tells
    return path, None


def is_compressed(path: Path) -> bool:
    """Tell whether a file is compressed, by its first bytes."""
    with path.open("rb") as file:
        return _compression(file.read(6)) is not None


@contextmanager
def plain_file(name: str) -> Iterator[Path]:
    """Yield the path of a file that can be mapped: a compressed one is unpacked into a temporary file first.

    The temporary file is gone after the block; what is mapped of it stays.
    """
    path, member = split_member(name)
    if member is None and path.is_file() and not is_compressed(path):
        yield path
        return
    # imported here: few formats need it
    import shutil
    import tempfile

    with open_input(name) as packed, tempfile.NamedTemporaryFile(prefix="gem-index-") as unpacked:
        shutil.copyfileobj(packed, unpacked, 1 << 20)
        unpacked.flush()
        yield Path(unpacked.name)


def _compression(begin: bytes) -> str | None:
    return next((kind for magic, kind in _MAGICS.items() if begin.startswith(magic)), None)


@contextmanager
def _unpacked(
    file: io.BufferedReader, name: str, member: str | None
) -> Iterator[io.BufferedReader]:
    kind = _compression(file.peek(6)[:6])
    if member is not None and kind != "zip":
        raise InputError(f"cannot read {name}: {Path(name).parent} is no zip file")
    unpacked: IO[bytes]
    if kind is None:
        yield file
        return
    if kind == "zip":
        with _zip_member(file, name, member) as unpacked:
            yield _buffered(unpacked)
        return
    if kind == "gzip":
        unpacked = cast("IO[bytes]", gzip.GzipFile(fileobj=file))
    elif kind == "bz2":
        unpacked = bz2.BZ2File(file)
    else:
        unpacked = lzma.LZMAFile(file)  # noqa: SIM115 - closed below
    with unpacked:
        yield _buffered(unpacked)


@contextmanager
def _zip_member(file: io.BufferedReader, name: str, member: str | None) -> Iterator[IO[bytes]]:
    if not file.seekable():
        raise InputError(f"{name} is a zip file and cannot be read as a stream; expected a file")
    try:
        archive = zipfile.ZipFile(file)
    except zipfile.BadZipFile as error:
        raise InputError(f"{name} is not a whole zip file: {error}") from error
    with archive:
        members = [info.filename for info in archive.infolist() if not info.is_dir()]
        if member is None and len(members) == 1:
            member = members[0]
        if member is None or member not in members:
            held = ", ".join(members[:8]) or "nothing"
            raise InputError(
                f"{name} {'holds' if member is None else 'is not there: the zip file holds'} {held}; "
                "expected one of them: name it as FILE.zip/MEMBER"
            )
        try:
            unpacked = archive.open(member)
        except (RuntimeError, NotImplementedError) as error:
            raise InputError(
                f"{name} cannot be unpacked: {error}; expected a zip file without password, in a common compression"
            ) from error
        with unpacked:
            yield unpacked


def _buffered(file: IO[bytes]) -> io.BufferedReader:
    return io.BufferedReader(cast("io.RawIOBase", file), 1 << 18)


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
    """Make every file below a directory, and all names, durable, for their owner alone."""
    for child in path.iterdir():
        if child.is_dir():
            child.chmod(0o700)
            sync_tree(child)
            continue
        with child.open("rb") as file:
            os.fchmod(file.fileno(), 0o600)
            os.fsync(file.fileno())
    sync_directory(path)


@contextmanager
def publish_file(path: Path) -> Iterator[IO[bytes]]:
    """Write a file that is either wholly there or not at all: the old one stays until the new one is complete."""
    temporary = path.with_name(f".{path.name}.partial-{os.getpid()}")
    try:
        with temporary.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_directory(path.parent)


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

    for parent in reversed(path.parents):
        if not parent.exists():
            parent.mkdir(mode=0o700, exist_ok=True)
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
