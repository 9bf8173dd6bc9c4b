"""Downloads that may take hours: with progress, resumed after an interruption, and verified before use."""

from __future__ import annotations

import hashlib
import http.client
import json
import re
import shutil
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from gem_index.common.json_input import read_json, read_json_file
from gem_index.errors import ConfigError, DownloadError, InputError
from gem_index.errors.quoting import quoted
from gem_index.vectors.catalogue import RemoteFile

__all__ = ["checked_address", "download", "expected_size_and_hash", "hub_folder", "is_address"]

ByteProgress = Callable[[int, int], None]

_BLOCK = 1 << 18
_TIMEOUT = 30.0  # seconds without a byte
_ATTEMPTS = 6  # in a row without any progress
_PAUSE = 0.5  # seconds before the second attempt, doubled for each one after it
_RANGE = re.compile(r"bytes (\d+)-\d+/(\d+|\*)")
_POINTER = re.compile(r"oid sha256:([0-9a-f]{64})\s+size (\d+)")


def is_address(text: str) -> bool:
    """Tell whether a text is the address of a web server."""
    return text.lower().startswith(("https://", "http://"))


def checked_address(text: str) -> str:
    """Return an address with all characters outside ASCII escaped, after checking it.

    Raises
    ------
    ConfigError
        If it does not name a server.
    """
    try:
        parts = urllib.parse.urlsplit(text)
        _ = parts.port
        host = (parts.hostname or "").encode("idna").decode() if parts.hostname else ""
    except (ValueError, UnicodeError):
        host = ""
    if not host:
        raise ConfigError(
            f"the address is {quoted(text, 200)}; expected one like https://example.org/vectors.vec.gz"
        )
    return urllib.parse.quote(text, safe="%/:=&?~#+!$,;'@()*[]")


class _SafeRedirects(urllib.request.HTTPRedirectHandler):
    """Handler that follows redirects, except from https to http or to other schemes."""

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: Any,
        newurl: str,
    ) -> urllib.request.Request | None:
        if not is_address(newurl) or (
            req.full_url.startswith("https:") and newurl.startswith("http:")
        ):
            fp.close()
            raise DownloadError(
                f"{req.full_url} redirects to {newurl}; expected a redirect that stays encrypted"
            )
        return super().redirect_request(req, fp, code, msg, headers, newurl)


_OPENER = urllib.request.build_opener(_SafeRedirects)


@dataclass
class _PartialFile:
    """The part of a file that has been downloaded, with the address and version that it belongs to."""

    path: Path

    @property
    def note(self) -> Path:
        return self.path.with_suffix(".json")

    def __post_init__(self) -> None:
        self.address, self.tag = "", ""
        try:
            known = read_json_file(self.note)
            self.address, self.tag = str(known["address"]), str(known["tag"])
        except (OSError, InputError, LookupError, TypeError):
            self.forget()  # a part of an unknown file cannot be used

    @property
    def size(self) -> int:
        return self.path.stat().st_size if self.path.is_file() else 0

    def begin(self, address: str, tag: str) -> None:
        self.address, self.tag = address, tag
        self.path.unlink(missing_ok=True)
        self.note.write_text(json.dumps({"address": address, "tag": tag}))

    def append(self, block: bytes) -> None:
        try:
            with self.path.open("ab") as output:
                output.write(block)
        except OSError as error:
            raise DownloadError(
                f"cannot write {self.path}: {error.strerror}; expected room for it: the received part is "
                "kept, try again to resume"
            ) from error

    def forget(self) -> None:
        self.path.unlink(missing_ok=True)
        self.note.unlink(missing_ok=True)


def download(file: RemoteFile, folder: Path, progress: ByteProgress | None = None) -> Path:
    """Download a file into a folder and return its path.

    The data are kept under a temporary name; an interrupted download, also one of an earlier process, resumes where it
    stopped if the server still has the same version.

    Parameters
    ----------
    file : RemoteFile
        Its size and hash are checked if they are known.
    folder : Path
        Created if it is missing.
    progress : callable, optional
        Called with the number of bytes received and the total (0: unknown).

    Raises
    ------
    DownloadError
        If the server sends an error or a file of another size or hash; a file with a wrong hash is removed.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    target = folder / file.name
    if target.is_file():
        return target  # complete and verified by an earlier process
    partial = _PartialFile(folder / f"{file.name}.part")
    if partial.address != file.address:
        partial.forget()
    failures, furthest = 0, partial.size
    while True:
        try:
            _fetch(file, partial, progress)
            break
        except (ValueError, http.client.InvalidURL) as error:  # a redirect to an invalid address
            raise DownloadError(
                f"{file.address} leads to an invalid address ({quoted(str(error), 120)}); expected the file: give another "
                "address or a local copy"
            ) from error
        except (OSError, http.client.HTTPException) as error:
            if (
                isinstance(error, urllib.error.HTTPError)
                and error.code not in (408, 429)
                and error.code < 500
            ):
                raise DownloadError(
                    f"{file.address} answers {error.code} {error.reason}; expected the file: give another "
                    "address or a local copy"
                ) from error
            failures = 1 if partial.size > furthest else failures + 1
            furthest = max(furthest, partial.size)
            if failures == _ATTEMPTS:
                raise DownloadError(
                    f"{file.address} stopped after {partial.size:,} bytes ({error or type(error).__name__}); "
                    "the received part is kept: try again to resume, or give a local copy"
                ) from error
            time.sleep(_PAUSE * 2 ** (failures - 1))
    if file.sha256 is not None:
        with partial.path.open("rb") as content:
            found = hashlib.file_digest(content, "sha256").hexdigest()
        if found != file.sha256:
            partial.forget()
            raise DownloadError(
                f"{file.address} has the SHA-256 {found}, expected {file.sha256}; it was removed: "
                "the address serves another file, or it was damaged in transfer"
            )
    partial.path.replace(target)
    partial.note.unlink(missing_ok=True)
    return target


def _fetch(file: RemoteFile, partial: _PartialFile, progress: ByteProgress | None) -> None:
    """Request the missing part of a file once, and append the answer."""
    if not partial.tag and file.sha256 is None:
        partial.forget()  # there is no version to request and no hash to verify the complete file with
    have = partial.size
    request = urllib.request.Request(file.address, headers={"User-Agent": "gem-index"})  # noqa: S310 - checked by is_address
    if have:
        request.add_header("Range", f"bytes={have}-")
        if partial.tag:
            request.add_header("If-Range", partial.tag)
    try:
        answer = _answer(request)
    except urllib.error.HTTPError as error:
        if error.code != 416:
            raise
        # the server has no more bytes: the file is complete, or it has changed
        if file.size == have or error.headers.get("Content-Range") == f"bytes */{have}":
            return
        partial.forget()
        raise OSError("the server's file is shorter than what had arrived") from error
    with answer:
        length = answer.headers.get("Content-Length")
        total = int(length) if length and length.isdigit() else None
        if answer.status == 206:
            # a server may send less than requested: the range holds the total length
            part = _RANGE.fullmatch(answer.headers.get("Content-Range") or "")
            if part is None or int(part[1]) != have:
                partial.forget()
                raise http.client.HTTPException(
                    "the server sent another part than the requested one"
                )
            total = None if part[2] == "*" else int(part[2])
        elif answer.status != 200:
            raise DownloadError(f"{file.address} answers {answer.status}; expected the file")
        else:
            have = 0
            # only a strong tag identifies a version reliably
            tag = answer.headers.get("ETag") or ""
            if not tag or tag.startswith("W/"):
                tag = answer.headers.get("Last-Modified") or ""
            partial.begin(file.address, tag)
        if file.size is not None and total is not None and total != file.size:
            partial.forget()
            raise DownloadError(
                f"{file.address} has {total:,} bytes; expected {file.size:,}: it is another file than the one known "
                "by this name"
            )
        _check_space(partial.path.parent, (total or 0) - have, file.address)
        while block := answer.read(_BLOCK):
            partial.append(block)
            have += len(block)
            if progress is not None:
                progress(have, total or file.size or 0)
        expected = total if total is not None else file.size
        if expected is not None and have != expected:
            raise http.client.IncompleteRead(b"", max(expected - have, 0))


def _answer(request: urllib.request.Request) -> Any:
    """Return a server's answer; one that is an error has closed its connection, wherever it is caught."""
    try:
        return _OPENER.open(request, timeout=_TIMEOUT)
    except urllib.error.HTTPError as error:
        error.close()
        raise


def _check_space(folder: Path, needed: int, address: str) -> None:
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise DownloadError(
            f"{address} needs {needed:,} bytes and {folder} has {free:,} free; expected room: free some, or "
            "choose another home"
        )


# huggingface_hub neither resumes a download in a later process nor compares hashes, and it sends a request of its own.
def expected_size_and_hash(address: str) -> tuple[int, str] | None:
    """Return the size and SHA-256 of a hub's large file from its Git LFS pointer; None for a small file, without pointer."""
    pointer = address.replace("/resolve/", "/raw/", 1)
    request = urllib.request.Request(pointer, headers={"User-Agent": "gem-index"})  # noqa: S310 - made of the hub's address
    try:
        with _answer(request) as answer:
            text = answer.read(1024).decode(errors="replace")
    except (OSError, http.client.HTTPException):
        return None  # the download itself will report the problem
    found = _POINTER.search(text)
    return (int(found[2]), found[1]) if found else None


def hub_folder(address: str) -> str:
    """Return the folder of a hub model's table according to its ``modules.json``; empty for the root folder."""
    request = urllib.request.Request(f"{address}/modules.json", headers={"User-Agent": "gem-index"})  # noqa: S310 - made of the hub's address
    try:
        with _answer(request) as answer:
            modules = read_json(answer.read(1 << 16), address)
        path = str(modules[0]["path"])
    except (OSError, http.client.HTTPException, InputError, LookupError, TypeError):
        return ""  # no such file; the download itself will report other problems
    return f"{path}/" if re.fullmatch(r"[\w-]+", path) else ""
