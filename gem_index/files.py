"""File handling that must not lose data: sync to disk, write under a temporary name, hash, open compressed input."""

from __future__ import annotations

import bz2
import codecs
import errno
import gzip
import hashlib
import io
import lzma
import os
import struct
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, cast

from gem_index.errors import InputError
from gem_index.quoting import quoted, quoted_error, quoted_path

__all__ = [
    "COMPRESSED",
    "UNPACKING_ERRORS",
    "is_compressed",
    "make_directory",
    "open_input",
    "publish_directory",
    "publish_file",
    "recoded",
    "sha256_of_file",
    "split_member",
    "sync_directory",
    "sync_tree",
    "user_path",
]

COMPRESSED = (".gz", ".bz2", ".xz", ".zip")
"""The endings of compressed files that are read."""

UNPACKING_ERRORS = (EOFError, OSError, zlib.error, lzma.LZMAError, zipfile.BadZipFile)
"""What reading a damaged compressed file raises."""

# zipfile raises nearly anything for a damaged header
_DAMAGE = (*UNPACKING_ERRORS, ValueError, LookupError, RuntimeError, ArithmeticError, struct.error)

_BUFFER = 1 << 18
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
        packed = cast("io.BufferedReader", io.BufferedReader(_CheckedFile(path, name), _BUFFER))
    except (OSError, ValueError) as error:  # ValueError: a name that no file can have
        raise _unreadable(name, error) from error
    with packed, _unpacked(packed, name, member) as file:
        yield file


class _CheckedFile(io.FileIO):
    """A file whose disk may fail: that is an InputError that names it, whoever reads."""

    def __init__(self, path: Path, name: str) -> None:
        super().__init__(path, "rb")
        self._input = name

    def readinto(self, buffer: Any) -> int | None:
        try:
            return super().readinto(buffer)
        except OSError as error:
            raise _unreadable(self._input, error) from error


class _CheckedStream(io.RawIOBase):
    """What is unpacked of a file: damage is an InputError that names it, whoever reads."""

    def __init__(self, unpacked: IO[bytes], name: str) -> None:
        self._unpacked = unpacked
        self._input = name

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return self._unpacked.seekable()

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._unpacked.seek(offset, whence)

    def tell(self) -> int:
        return self._unpacked.tell()

    def readinto(self, buffer: Any) -> int:
        try:
            block = self._unpacked.read(len(buffer))
        except _DAMAGE as error:
            raise InputError(
                f"{quoted_path(self._input)} cannot be read to its end: {quoted_error(error)}; expected an undamaged file"
            ) from error
        buffer[: len(block)] = block
        return len(block)


def _unreadable(name: str, error: Exception) -> InputError:
    return InputError(
        f"cannot read {quoted_path(name)}: {quoted_error(error)}; expected a readable file"
    )


def user_path(name: str | Path) -> Path:
    """Return the path that a user named; ``~`` is their home folder.

    Raises
    ------
    InputError
        If it begins with the home folder of somebody who is not known, or no file can have that name.
    """
    try:
        path = Path(name).expanduser()
    except RuntimeError as error:
        raise InputError(
            f"the path is {quoted(str(name))}, and there is no such home folder; expected a known user's name after ~"
        ) from error
    if "\0" in str(path):
        raise InputError(f"the path is {quoted(str(name))}; expected one without a zero byte")
    return path


def make_directory(path: Path) -> None:
    """Create a private directory and those it lies in, however deep; one that exists stays.

    Raises
    ------
    OSError
        If one cannot be created.
    """
    if path.is_dir():  # a name that is too long is refused here, before anything is created
        return
    for folder in (*reversed(path.parents), path):
        if not folder.exists():
            folder.mkdir(mode=0o700, exist_ok=True)
    if not path.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path))


def recoded(file: io.BufferedReader, encoding: str, name: str) -> io.BufferedReader:
    """Return text in another encoding as UTF-8; what it does not hold becomes bytes that are not UTF-8.

    Raises
    ------
    InputError
        If there is no such encoding of text; while reading if the file, called ``name``, cannot be in it.
    """
    try:
        "".encode(encoding)  # tells text from other codecs
        decoder = codecs.getincrementaldecoder(encoding)(errors=_LONE)
        decoder.decode(b"x")  # some take no handler of errors
        decoder.reset()
    except (LookupError, TypeError, ValueError, AssertionError) as error:
        raise InputError(
            f"the encoding is {quoted(encoding)}; expected one that Python knows, such as cp1252, latin-1 or utf-16"
        ) from error
    return io.BufferedReader(
        _Recoded(file, decoder, f"{quoted_path(name)} is not {encoding}"), _BUFFER
    )


class _Recoded(io.RawIOBase):
    def __init__(
        self, file: io.BufferedReader, decoder: codecs.IncrementalDecoder, problem: str
    ) -> None:
        self._file = file
        self._decoder = decoder
        self._problem = problem
        self._rest = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._rest:
            block = self._file.read1(_BUFFER)
            try:
                text = self._decoder.decode(block, final=not block)
            except UnicodeError as error:
                raise InputError(
                    f"{self._problem}: {quoted_error(error)}; expected text in that encoding"
                ) from error
            self._rest = text.encode("utf-8", "surrogatepass")
            if not block:
                break
        block, self._rest = self._rest[: len(buffer)], self._rest[len(buffer) :]
        buffer[: len(block)] = block
        return len(block)


def _lone_surrogate(error: UnicodeError) -> tuple[str, int]:
    """Decode what is no character to half of a surrogate pair, which no UTF-8 holds."""
    assert isinstance(error, UnicodeDecodeError)  # the handler is given to decoders alone
    return "\udcff", error.end


_LONE = "gem_index.lone_surrogate"
codecs.register_error(_LONE, _lone_surrogate)


def split_member(name: str) -> tuple[Path, str | None]:
    """Split ``FILE.zip/MEMBER`` into the file and the member's name; a plain path has no member."""
    path = user_path(name)
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


def _compression(begin: bytes) -> str | None:
    return next((kind for magic, kind in _MAGICS.items() if begin.startswith(magic)), None)


@contextmanager
def _unpacked(
    file: io.BufferedReader, name: str, member: str | None
) -> Iterator[io.BufferedReader]:
    kind = _compression(file.peek(6)[:6])
    if member is not None and kind != "zip":
        packed = name.removesuffix(f"/{member}")
        raise InputError(
            f"cannot read {quoted_path(name)}: {quoted_path(packed)} is not a zip file; expected an existing file"
        )
    unpacked: IO[bytes]
    if kind is None:
        yield file
        return
    if kind == "zip":
        with _zip_member(file, name, member) as unpacked:
            yield _buffered(unpacked, name)
        return
    if kind == "gzip":
        unpacked = cast("IO[bytes]", gzip.GzipFile(fileobj=file))
    elif kind == "bz2":
        unpacked = bz2.BZ2File(file)
    else:
        unpacked = lzma.LZMAFile(file)  # noqa: SIM115 - closed below
    with unpacked:
        yield _buffered(unpacked, name)


@contextmanager
def _zip_member(file: io.BufferedReader, name: str, member: str | None) -> Iterator[IO[bytes]]:
    if not file.seekable():
        raise InputError(f"{name} is a zip file and cannot be read as a stream; expected a file")
    try:
        archive = zipfile.ZipFile(file)
    except _DAMAGE as error:
        raise InputError(
            f"{quoted_path(name)} is not a whole zip file: {quoted_error(error)}; expected an undamaged file"
        ) from error
    with archive:
        members = [
            info.filename for info in archive.infolist() if info.filename[-1:] not in ("", "/")
        ]
        # macOS packs notes about the files beside them
        plain = [name for name in members if not name.startswith("__MACOSX/")]
        if member is None and len(plain) == 1:
            member = plain[0]
        if member is None or member not in members:
            held = ", ".join(quoted_path(name) for name in members[:8]) or "nothing"
            raise InputError(
                f"{name} {'holds' if member is None else 'is not there: the zip file holds'} {held}; "
                "expected one of them: name it as FILE.zip/MEMBER"
            )
        try:
            unpacked = archive.open(member)
        except _DAMAGE as error:
            raise InputError(
                f"{quoted_path(name)} cannot be unpacked: {quoted_error(error)}; expected an undamaged zip file without "
                "password, in a common compression"
            ) from error
        with unpacked:
            yield unpacked


def _buffered(file: IO[bytes], name: str) -> io.BufferedReader:
    return io.BufferedReader(_CheckedStream(file, name), _BUFFER)


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
