"""Files that every worker can read: local paths, and URLs of storage that fsspec supports."""

from __future__ import annotations

import glob
import io
import os
import tempfile
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gem_index.errors import InputError, MissingExtraError
from gem_index.errors.quoting import quoted, quoted_error, quoted_path
from gem_index.files.inputs import make_directory, open_input, open_stream, split_member, user_path

__all__ = ["InputFile", "OutputFolder", "StorageOptions", "find_files", "is_url"]

StorageOptions = Mapping[str, Any]
"""Arguments of the fsspec file system, such as ``endpoint_url``; by default they come from the environment."""

_MAGIC = "*?["
# One upload makes the whole object visible; other storage is written under another name and renamed.
_OBJECT_STORES = {"s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "adl", "oss", "memory"}
# Bytes that s3fs reads ahead; its default of 50 MiB would read three more partitions for each partition.
_READ_AHEAD = 2 << 20
_VERSIONS = ("ETag", "etag", "LastModified", "last_modified", "updated", "mtime", "modified")


def is_url(name: str) -> bool:
    """Tell whether a name is a URL rather than a local path."""
    return "://" in name


def filesystem(url: str, options: StorageOptions) -> tuple[Any, str]:
    """Return the fsspec file system of a URL, and the path in it.

    Raises
    ------
    InputError
        If fsspec does not know the protocol, or its package is not installed.
    """
    try:
        import fsspec
    except ImportError as error:
        raise MissingExtraError("reading URLs", "dask") from error
    try:
        return fsspec.core.url_to_fs(url, **options)  # type: ignore[no-any-return]
    except ImportError as error:
        raise InputError(
            f"{quoted_path(url)} needs a package: {quoted_error(error)}; expected it to be installed"
        ) from error
    except (ValueError, OSError, TypeError) as error:
        raise InputError(
            f"{quoted_path(url)} cannot be opened: {quoted_error(error)}; expected the URL of storage that fsspec knows"
        ) from error


def _ahead(url: str, options: StorageOptions) -> dict[str, Any]:
    """Return the arguments, beside the options, with which a file of a URL is opened."""
    if not url.startswith(("s3://", "s3a://")):
        return {}
    return {"block_size": options.get("default_block_size", _READ_AHEAD)}


@dataclass(frozen=True)
class InputFile:
    """A file among the inputs, as it was when the work was planned.

    Attributes
    ----------
    name : str
        As the user named it, or as a pattern found it: for ids and messages.
    place : str
        An absolute path or a URL, which every worker can open.
    size : int
        Bytes.
    version : str
        A value that differs after a change of the file: its time of change, or the tag of the storage.
    options : mapping
        Of the storage.
    """

    name: str
    place: str
    size: int
    version: str
    options: StorageOptions = field(default_factory=dict, repr=False)

    def __str__(self) -> str:
        return self.name

    @contextmanager
    def opened(self, unpack: bool = True) -> Iterator[io.BufferedReader]:
        """Open the file for reading bytes; a compressed file is decompressed.

        Raises
        ------
        InputError
            If the file cannot be read, or has changed since the work was planned.
        """
        self._check()
        if not is_url(self.place):
            if unpack:
                with open_input(self.place) as file:
                    yield file
            else:
                with open(self.place, "rb") as plain:  # noqa: PTH123 - as BufferedReader
                    yield plain
        else:
            system, path = filesystem(self.place, self.options)
            try:
                stream = system.open(path, "rb", **_ahead(self.place, self.options))
            except OSError as error:
                raise _unreadable(self.name, error) from error
            with stream:
                if unpack:
                    with open_stream(stream, self.name) as file:
                        yield file
                else:
                    yield io.BufferedReader(stream, 1 << 20)
        self._check()

    def _check(self) -> None:
        now = _state(self.name, self.place, self.options)
        if (now.size, now.version) != (self.size, self.version):
            raise InputError(
                f"{quoted_path(self.name)} changed while it was read; expected a file that nobody writes meanwhile: "
                "run it again"
            )


def find_files(names: Sequence[str], options: StorageOptions) -> list[InputFile]:
    """Return the files of names and patterns, each once; the files of a pattern are in the order of their names.

    Raises
    ------
    InputError
        If a name is not a file, a pattern matches no file, or a file is empty.
    """
    found: dict[str, InputFile] = {}
    for name in names:
        for file in _found(name, options):
            found.setdefault(file.place, file)
    if not found:
        raise InputError("found no input; expected at least one file")
    for file in found.values():
        if not file.size:
            raise InputError(f"{file.name} is empty; expected at least one text")
    return list(found.values())


def _found(name: str, options: StorageOptions) -> Iterator[InputFile]:
    if name in ("", "-") or name.startswith("sql:"):
        raise InputError(
            f"the input is {quoted(name)}; expected files that every worker can read: paths or URLs"
        )
    if is_url(name):
        system, path = filesystem(name, options)
        names = [name]
        if any(letter in name for letter in _MAGIC):
            try:
                names = [system.unstrip_protocol(match) for match in sorted(system.glob(path))]
            except OSError as error:
                raise _unreadable(name, error) from error
        files = [_state(each, each, options) for each in names]
    else:
        place = os.path.abspath(user_path(name))  # noqa: PTH100 - keeps links, as the path was given
        places = {name: place}
        if any(letter in name for letter in _MAGIC) and not os.path.lexists(place):
            matches = sorted(glob.glob(str(user_path(name)), recursive=True))  # noqa: PTH207 - relative names stay so
            places = {each: os.path.abspath(each) for each in matches if not os.path.isdir(each)}  # noqa: PTH100, PTH112
        files = [_state(each, there, options) for each, there in places.items()]
    if not files:
        raise InputError(f"found no file like {quoted_path(name)}; expected at least one")
    yield from files


def _state(name: str, place: str, options: StorageOptions) -> InputFile:
    """Return a file as it is now."""
    if is_url(place):
        system, path = filesystem(place, options)
        try:
            system.invalidate_cache(path)
            info = system.info(path)
        except OSError as error:
            raise _unreadable(name, error) from error
        if info.get("type") == "directory":
            raise _folder(name)
        version = next((str(info[key]) for key in _VERSIONS if info.get(key)), "")
        return InputFile(name, place, int(info.get("size") or 0), version, options)
    local, _ = split_member(place)
    if local.is_dir():
        raise _folder(name)
    try:
        found = local.stat()
    except OSError as error:
        raise _unreadable(name, error) from error
    return InputFile(name, place, found.st_size, str(found.st_mtime_ns))


def _folder(name: str) -> InputError:
    return InputError(
        f"{quoted_path(name)} is a folder; expected files of records, such as "
        f"{quoted_path(name.rstrip('/'))}/*.jsonl"
    )


def _unreadable(name: str, error: OSError) -> InputError:
    return InputError(
        f"cannot read {quoted_path(name)}: {quoted_error(error)}; expected a readable file"
    )


@dataclass(frozen=True)
class OutputFolder:
    """A folder into which workers write files; a file becomes visible when it is complete.

    Attributes
    ----------
    place : str
        An absolute path or a URL.
    options : mapping
        Of the storage.
    """

    place: str
    options: StorageOptions = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, name: str | Path, options: StorageOptions) -> OutputFolder:
        """Return the folder of a path or a URL."""
        named = str(name)
        if is_url(named):
            return cls(named.rstrip("/"), options)
        return cls(os.path.abspath(user_path(named)), options)  # noqa: PTH100 - keeps links

    def make(self) -> None:
        """Create the folder, and check that files can be written into it.

        Raises
        ------
        InputError
            If they cannot.
        """
        probe = f".gem-index-{uuid.uuid4().hex}.partial"
        try:
            if not is_url(self.place):
                make_directory(Path(self.place))
            with self.writing(probe) as path:
                path.write_bytes(b"gem-index\n")
            self.remove(probe)
        except OSError as error:
            raise InputError(
                f"cannot write to {quoted_path(self.place)}: {quoted_error(error)}; expected a writable folder"
            ) from error

    def names(self) -> list[str]:
        """Return the names of the files in the folder; none if the folder does not exist."""
        if not is_url(self.place):
            try:
                return sorted(os.listdir(self.place))  # noqa: PTH208 - their names
            except FileNotFoundError:
                return []
            except OSError as error:
                raise InputError(
                    f"{quoted_path(self.place)} cannot be used: {quoted_error(error)}; expected a folder"
                ) from error
        system, path = filesystem(self.place, self.options)
        try:
            system.invalidate_cache(path)
            found = system.ls(path, detail=False)
        except FileNotFoundError:
            return []
        except OSError as error:
            raise InputError(
                f"{quoted_path(self.place)} cannot be read: {quoted_error(error)}; expected a readable folder"
            ) from error
        return sorted(each.rstrip("/").rpartition("/")[2] for each in found if each != path)

    def read(self, name: str) -> bytes:
        """Return the content of a file.

        Raises
        ------
        OSError
            If it cannot be read.
        """
        if not is_url(self.place):
            return Path(self.place, name).read_bytes()
        system, path = filesystem(self.place, self.options)
        system.invalidate_cache(path)
        return bytes(system.cat_file(f"{path}/{name}"))

    @contextmanager
    def opened(self, name: str) -> Iterator[Any]:
        """Open a file of the folder for random access; OSError if it does not exist."""
        if not is_url(self.place):
            with Path(self.place, name).open("rb") as file:
                yield file
            return
        system, path = filesystem(self.place, self.options)
        system.invalidate_cache(path)
        with system.open(f"{path}/{name}", "rb", **_ahead(self.place, self.options)) as file:
            yield file

    @contextmanager
    def writing(self, name: str) -> Iterator[Path]:
        """Yield a local path for a file; after the block, it is in the folder, perhaps instead of one with the same name."""
        if not is_url(self.place):
            partial = Path(self.place, f".{name}.{uuid.uuid4().hex}.partial")
            try:
                yield partial
                with partial.open("rb") as file:
                    os.fsync(file.fileno())
                partial.replace(Path(self.place, name))
            finally:
                partial.unlink(missing_ok=True)
            return
        system, path = filesystem(self.place, self.options)
        with tempfile.TemporaryDirectory(prefix="gem-index-") as folder:
            local = Path(folder, "file")
            yield local
            protocols = {system.protocol} if isinstance(system.protocol, str) else system.protocol
            if _OBJECT_STORES.intersection(protocols):
                system.put_file(str(local), f"{path}/{name}")
                return
            partial_name = f"{path}/.{name}.{uuid.uuid4().hex}.partial"
            system.makedirs(path, exist_ok=True)
            system.put_file(str(local), partial_name)
            system.mv(partial_name, f"{path}/{name}")

    def remove(self, name: str) -> None:
        """Remove a file, if it exists."""
        if not is_url(self.place):
            Path(self.place, name).unlink(missing_ok=True)
            return
        system, path = filesystem(self.place, self.options)
        with suppress(FileNotFoundError):
            system.rm_file(f"{path}/{name}")

    def remove_leftovers(self) -> None:
        """Remove unfinished files of killed workers; no worker may be writing."""
        for name in self.names():
            if name.startswith(".") and name.endswith(".partial"):
                self.remove(name)
