"""Files: open compressed input, hash, sync to disk, and publish files and folders atomically."""

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
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, cast

from gem_index.errors import InputError
from gem_index.errors.quoting import quoted, quoted_error, quoted_path
from gem_index.text.written_forms import found_in_any_form, written_forms

__all__ = [
    "COMPRESSED",
    "UNPACKING_ERRORS",
    "check_encoding",
    "is_compressed",
    "make_directory",
    "open_input",
    "open_stream",
    "recoded",
    "sha256_of_file",
    "split_member",
    "unpacked_name",
    "user_path",
]

COMPRESSED = (".gz", ".bz2", ".xz", ".zip")
"""File name endings of the supported compression formats."""

UNPACKING_ERRORS = (EOFError, OSError, zlib.error, lzma.LZMAError, zipfile.BadZipFile)
"""Exceptions from reading a damaged compressed file."""

# zipfile raises almost any exception for a damaged header
_DAMAGE = (*UNPACKING_ERRORS, ValueError, LookupError, RuntimeError, ArithmeticError, struct.error)

_BUFFER = 1 << 18
_MAGICS = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\xfd7zXZ\x00": "xz", b"PK\x03\x04": "zip"}


@contextmanager
def open_input(name: str) -> Iterator[io.BufferedReader]:
    """Open a user's file for reading bytes; gzip, bzip2, xz and zip, detected by their first bytes, are decompressed.

    A zip file that is one document of Office Open XML (``.xlsx``) is not.

    Parameters
    ----------
    name : str
        The path as the user gave it; ``-`` is standard input, ``FILE.zip/MEMBER`` is one file inside a zip file.

    Raises
    ------
    InputError
        If the file is missing, is a directory or cannot be read, or if a zip file holds several files and none is named.
    """
    if name == "-":
        with _decompress(
            cast("io.BufferedReader", sys.stdin.buffer), "standard input", None
        ) as file:
            yield file
        return
    path, member = split_member(name)
    try:
        packed = cast("io.BufferedReader", io.BufferedReader(_ReportingFile(path, name), _BUFFER))
    except (OSError, ValueError) as error:  # ValueError: a name that no file can have
        raise _read_error(name, error) from error
    with packed, _decompress(packed, name, member) as file:
        yield file


@contextmanager
def open_stream(stream: IO[bytes], name: str) -> Iterator[io.BufferedReader]:
    """Read a seekable stream of bytes from elsewhere as :func:`open_input` reads a file; ``name`` is for messages."""
    with _buffer(stream, name) as packed, _decompress(packed, name, None) as file:
        yield file


class _ReportingFile(io.FileIO):
    """A file that reports disk errors as InputError with its name, to every reader."""

    def __init__(self, path: Path, name: str) -> None:
        super().__init__(path, "rb")
        self._input = name

    def readinto(self, buffer: Any) -> int | None:
        try:
            return super().readinto(buffer)
        except OSError as error:
            raise _read_error(self._input, error) from error


class _ReportingStream(io.RawIOBase):
    """A decompressed stream that reports damage as InputError with the file's name, to every reader."""

    def __init__(self, unpacked: IO[bytes], name: str) -> None:
        self._decompress = unpacked
        self._input = name

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return self._decompress.seekable()

    def seek(self, offset: int, whence: int = 0) -> int:
        with self._reported():
            return self._decompress.seek(offset, whence)  # forward by unpacking

    def tell(self) -> int:
        return self._decompress.tell()

    def readinto(self, buffer: Any) -> int:
        with self._reported():
            block = self._decompress.read(len(buffer))
        buffer[: len(block)] = block
        return len(block)

    @contextmanager
    def _reported(self) -> Iterator[None]:
        try:
            yield
        except _DAMAGE as error:
            raise InputError(
                f"{quoted_path(self._input)} cannot be read to its end: {quoted_error(error)}; expected an undamaged file"
            ) from error


def _read_error(name: str, error: Exception) -> InputError:
    return InputError(
        f"cannot read {quoted_path(name)}: {quoted_error(error)}; expected a readable file"
    )


def user_path(name: str | Path) -> Path:
    """Return the path that a user named; ``~`` is their home folder.

    A file whose name is written in another form of Unicode, as macOS does, is found too.

    Raises
    ------
    InputError
        If it begins with the home folder of an unknown user, or contains a zero byte.
    """
    try:
        path = Path(name).expanduser()
    except RuntimeError as error:
        raise InputError(
            f"the path is {quoted(str(name))}, but no user has this name; expected a known user's name after ~"
        ) from error
    if "\0" in str(path):
        raise InputError(f"the path is {quoted(str(name))}; expected one without a zero byte")
    for form in written_forms(str(path)):
        if _exists(form):
            return Path(form)
    return path


def _exists(path: str | Path) -> bool:
    try:
        return os.path.lexists(path)
    except ValueError:
        return False  # half of a surrogate pair, which no file name holds


def make_directory(path: Path) -> None:
    """Create a private directory and its missing parents; existing ones stay unchanged.

    Raises
    ------
    OSError
        If one cannot be created.
    """
    if path.is_dir():  # raises if a name is too long, before anything is created
        return
    for folder in (*reversed(path.parents), path):
        if not folder.exists():
            folder.mkdir(mode=0o700, exist_ok=True)
    if not path.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path))


def check_encoding(encoding: str) -> codecs.IncrementalDecoder:
    """Return the decoder of a text encoding; undecodable bytes become lone surrogates.

    Raises
    ------
    InputError
        If Python has no such text encoding.
    """
    try:
        "".encode(encoding)  # raises for codecs that are not text encodings
        decoder = codecs.getincrementaldecoder(encoding)(errors=_LONE)
        decoder.decode(b"x")  # raises for codecs without error handlers
        decoder.reset()
    except (LookupError, TypeError, ValueError, AssertionError) as error:
        raise InputError(
            f"the encoding is {quoted(encoding)}; expected one that Python knows, such as cp1252, latin-1 or utf-16"
        ) from error
    return decoder


def recoded(file: io.BufferedReader, encoding: str, name: str) -> io.BufferedReader:
    """Return text in another encoding as UTF-8; undecodable bytes become bytes that are not UTF-8.

    Raises
    ------
    InputError
        If Python has no such text encoding; while reading, if the file ``name`` cannot be in that encoding.
    """
    decoder = check_encoding(encoding)
    return io.BufferedReader(
        _Recoder(file, decoder, f"{quoted_path(name)} is not {encoding}"), _BUFFER
    )


class _Recoder(io.RawIOBase):
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
    """Decode invalid bytes to half of a surrogate pair, which valid UTF-8 cannot hold."""
    assert isinstance(error, UnicodeDecodeError)  # only decoders use this handler
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
        pass  # the name is too long or a folder is not readable: opening the file reports it
    return path, None


def unpacked_name(name: str) -> str:
    """Return the name of the one file in a zip file; for any other input its own name."""
    path = split_member(name)[0]
    try:
        with zipfile.ZipFile(path) as archive:
            members = _without_metadata(_members_of(archive))
    except _DAMAGE:  # a file that is not a zip file raises one of these too
        return name
    return members[0] if len(members) == 1 else name


def _members_of(archive: zipfile.ZipFile) -> list[str]:
    """Return the names of the files in a zip file."""
    return [info.filename for info in archive.infolist() if info.filename[-1:] not in ("", "/")]


def _without_metadata(members: list[str]) -> list[str]:
    """Leave out the folder of metadata that macOS adds."""
    return [name for name in members if not name.startswith("__MACOSX/")]


def is_compressed(path: Path) -> bool:
    """Tell whether a file is compressed, by its first bytes."""
    with path.open("rb") as file:
        return _compression(file.read(6)) is not None


def _compression(begin: bytes) -> str | None:
    return next((kind for magic, kind in _MAGICS.items() if begin.startswith(magic)), None)


@contextmanager
def _decompress(
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
    if kind == "zip" and member is None and _is_office_file(file):
        yield file
        return
    if kind == "zip":
        with _zip_member(file, name, member) as unpacked:
            yield _buffer(unpacked, name)
        return
    if kind == "gzip":
        unpacked = cast("IO[bytes]", gzip.GzipFile(fileobj=file))
    elif kind == "bz2":
        unpacked = bz2.BZ2File(file)
    else:
        unpacked = lzma.LZMAFile(file)  # noqa: SIM115 - closed below
    with unpacked:
        yield _buffer(unpacked, name)


def _is_office_file(file: io.BufferedReader) -> bool:
    """Tell whether a zip file is one document of Office Open XML, such as a spreadsheet."""
    if not file.seekable():
        return False
    try:
        with zipfile.ZipFile(file) as archive:
            return "[Content_Types].xml" in archive.namelist()
    except _DAMAGE:
        return False  # opening it reports that
    finally:
        file.seek(0)


@contextmanager
def _zip_member(file: io.BufferedReader, name: str, member: str | None) -> Iterator[IO[bytes]]:
    if not file.seekable():
        raise InputError(f"{name} is a zip file and cannot be read as a stream; expected a file")
    try:
        archive = zipfile.ZipFile(file)
    except _DAMAGE as error:
        raise InputError(
            f"{quoted_path(name)} is not a complete zip file: {quoted_error(error)}; expected an undamaged file"
        ) from error
    with archive:
        members = _members_of(archive)
        plain = _without_metadata(members)
        if member is None and len(plain) == 1:
            member = plain[0]
        found = found_in_any_form([member or ""], {name: name for name in members}).get(
            member or ""
        )
        if found is None:
            held = ", ".join(quoted_path(name) for name in members[:8]) or "nothing"
            raise InputError(
                f"{name} {'holds' if member is None else 'is not there: the zip file holds'} {held}; "
                "expected one of them: name it as FILE.zip/MEMBER"
            )
        try:
            unpacked = archive.open(found)
        except _DAMAGE as error:
            raise InputError(
                f"{quoted_path(name)} cannot be unpacked: {quoted_error(error)}; expected an undamaged zip file without "
                "password, in a common compression"
            ) from error
        with unpacked:
            yield unpacked


def _buffer(file: IO[bytes], name: str) -> io.BufferedReader:
    return io.BufferedReader(_ReportingStream(file, name), _BUFFER)


def sha256_of_file(path: Path) -> str:
    """Return the SHA-256 of a file's bytes in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
