"""The documents of a folder."""

from __future__ import annotations

import datetime
import json
import os
import stat
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path, PurePosixPath
from tempfile import TemporaryFile
from typing import Any

from gem_index.common.settings import load_settings
from gem_index.converting import ARCHIVES, ConversionError, ConverterPool, Page, kind_of
from gem_index.documents import Document
from gem_index.errors import GemIndexError, InputError, MissingExtraError, UnreadableFileError
from gem_index.errors.quoting import quoted_error, quoted_path
from gem_index.files.inputs import check_encoding, user_path
from gem_index.readers.encodings import AUTO
from gem_index.readers.walk import FoundFile, files_of

__all__ = ["FolderReader", "ReadFile"]

_NOT_GIVEN: tuple[object, ...] = (None, "", [])
_AHEAD = 4  # files per process that may be converted before their documents are needed


@dataclass(frozen=True)
class ReadFile:
    """A file after all its documents were read."""

    found: FoundFile
    sha256: str
    documents: int


@dataclass
class FolderReader:
    """Reads the files of a folder as documents.

    Each file is a document. The document's id is the path relative to the folder. The metadata are ``path``, ``title``,
    ``modified`` (UTC), ``type`` (the ending of the file name), and the fields that the file itself contains. Each entry
    of an archive (``.mbox``, ``.warc``, ``.zim``) is a document with the id ``path#entry``. Separate processes convert
    the files, with limits of time and memory.

    Parameters
    ----------
    folder : str or Path
        A folder or a single file. The id of a single file is its name.
    glob : sequence of str
        Patterns, as in ``.gitignore``. Only files that match a pattern are read. Default: all files of known kinds.
    exclude : sequence of str
        Patterns of files and folders to leave out.
    gitignore : bool, optional
        Whether to leave out files that ``.gitignore`` excludes. Default: as when this folder was last read; False for a
        new folder.
    checksum : bool
        Find changed files by their content, not by their size and time.
    encoding : str, optional
        The Python name of the encoding of text files, or ``auto`` to detect the encoding; UTF-8 by default.
    on_problem : callable, optional
        Called with each file that cannot be read; the file is then skipped. Without this function, the first such file
        raises an error.

    Attributes
    ----------
    skipped : int
        The number of unreadable files so far.
    empty : list of str
        The paths of files without text (such as scans) that were found so far.
    unseen : list of str
        The paths of folders and files, and the ids of archive entries, that could not be read so far.
    records : list of str
        The paths of files of records (JSON, CSV and others) that were found so far; this reader does not read such files.

    Raises
    ------
    InputError
        While iterating: the folder does not exist or has no file to read, or the encoding is unknown;
        UnreadableFileError if a file cannot be read.
    """

    folder: str | Path
    glob: Sequence[str] = ()
    exclude: Sequence[str] = ()
    gitignore: bool | None = None
    checksum: bool = False
    encoding: str | None = None
    on_problem: Callable[[UnreadableFileError], None] | None = None
    skipped: int = field(default=0, init=False)
    empty: list[str] = field(default_factory=list, init=False)
    unseen: list[str] = field(default_factory=list, init=False)
    records: list[str] = field(default_factory=list, init=False)

    @property
    def location(self) -> str:
        """The absolute path of the folder; a collection identifies the folder by this path."""
        return os.path.realpath(user_path(self.folder))

    @property
    def choices(self) -> dict[str, Any]:
        """The arguments that were given, as JSON values."""
        given = {
            "glob": list(self.glob),
            "exclude": list(self.exclude),
            "gitignore": self.gitignore,
            "encoding": self.encoding,
        }
        return {name: value for name, value in given.items() if value not in _NOT_GIVEN}

    def adopt(self, options: Mapping[str, Any]) -> None:
        """For options that were not given, use the options with which the folder was read last."""
        given = self.choices
        for name, value in options.items():
            if name not in given:
                setattr(self, name, value)

    def path_of(self, found: FoundFile) -> Path:
        """Return the path of a file."""
        root = Path(self.location)
        return root if root.is_file() else root / found.path

    def full_name(self, path: str) -> str:
        """Return the absolute name of a file in the folder or of an archive entry, given by its relative path."""
        root = Path(self.location)
        # not a Path: that would change // in an entry's name
        return f"{root.parent if root.is_file() else root}/{path}"

    def __iter__(self) -> Iterator[Document]:
        return self.documents(self.files(), lambda _: None)

    def files(self) -> Iterator[FoundFile]:
        """Iterate over the files."""
        if self.encoding not in (None, AUTO):
            check_encoding(str(self.encoding))
        root = Path(self.location)
        try:
            status = root.stat()
        except FileNotFoundError as error:
            raise InputError(
                f"there is no folder or file {quoted_path(self.folder)}; expected one that exists"
            ) from error
        except OSError as error:
            raise InputError(
                f"cannot read {quoted_path(self.folder)}: {quoted_error(error)}; expected a folder or a readable file"
            ) from error
        if stat.S_ISREG(status.st_mode):
            yield FoundFile(root.name, status.st_size, status.st_mtime_ns)
            return
        if not stat.S_ISDIR(status.st_mode):
            raise InputError(
                f"{quoted_path(self.folder)} is neither a folder nor a file; expected one of these"
            )
        found = False
        self.records.clear()
        options = (self.glob, self.exclude, bool(self.gitignore))
        for file in files_of(root, *options, self._on_unreadable, self.records.append):
            found = True
            yield file
        if not found and self.records:
            raise InputError(
                f"{quoted_path(self.folder)} holds no document, but {len(self.records):,} files of records, such as "
                f"{quoted_path(self.records[0])}; expected documents: name the files of records themselves as inputs"
            )
        if not found:
            matching = (
                "that matches the patterns" if self.glob or self.exclude else "of a known kind"
            )
            raise InputError(
                f"{quoted_path(self.folder)} holds no file {matching}; expected at least one"
            )

    def documents(
        self, files: Iterable[FoundFile], on_read: Callable[[ReadFile], None]
    ) -> Iterator[Document]:
        """Iterate over the documents of some files of the folder, in the order of the files.

        Parameters
        ----------
        files : iterable of FoundFile
        on_read : callable
            Called with a file after its last document.
        """
        settings = load_settings()
        size = settings.threads
        limits = (settings.file_memory, settings.file_seconds, settings.max_record_bytes)
        waiting: deque[tuple[FoundFile, Future[list[Page | str]]]] = deque()
        with ThreadPoolExecutor(size) as threads, ConverterPool(size, *limits) as pool:
            try:
                for found in files:
                    if self._kind(found) in ARCHIVES:
                        while waiting:
                            yield from self._converted(waiting, on_read)
                        pages = self._pages(pool, found)
                        # read all pages first, because an archive is stored completely or not at all
                        if self.on_problem is not None:
                            pages = _once_all_are_read(pages)
                        yield from self._taken(found, pages, on_read)
                        continue
                    future = threads.submit(lambda file: list(self._pages(pool, file)), found)
                    waiting.append((found, future))
                    if len(waiting) >= size * _AHEAD:
                        yield from self._converted(waiting, on_read)
                while waiting:
                    yield from self._converted(waiting, on_read)
            finally:
                for _, future in waiting:
                    future.cancel()

    def _converted(
        self,
        waiting: deque[tuple[FoundFile, Future[list[Page | str]]]],
        on_read: Callable[[ReadFile], None],
    ) -> Iterator[Document]:
        found, future = waiting.popleft()

        def pages() -> Iterator[Page | str]:
            yield from future.result()

        return self._taken(found, pages(), on_read)

    def _pages(self, pool: ConverterPool, found: FoundFile) -> Iterator[Page | str]:
        return pool.pages(self.path_of(found), self._kind(found), self.encoding)

    def _taken(
        self,
        found: FoundFile,
        pages: Iterator[Page | str],
        on_read: Callable[[ReadFile], None],
    ) -> Iterator[Document]:
        """Iterate over the documents of a file; report or raise a problem, with the name of the file."""
        taken = 0
        with self._reported(found.path):
            for page in pages:
                if isinstance(page, str):  # the file's SHA-256, after its last page
                    if not taken:
                        self.empty.append(found.path)
                    on_read(ReadFile(found, page, taken))
                elif page.problem:
                    self._report_entry(found, page)
                elif page.text:
                    document = _document(found, page)
                    taken += 1
                    yield document

    @contextmanager
    def _reported(self, path: str) -> Iterator[None]:
        try:
            yield
        except (ConversionError, MissingExtraError) as error:
            self._report(path, str(error), error)

    def _report(self, path: str, problem: str, cause: Exception) -> None:
        error = UnreadableFileError(self.full_name(path), problem)
        if isinstance(cause, GemIndexError):
            error.advice = cause.advice
        if self.on_problem is None:
            raise error from cause
        self.skipped += 1
        self.on_problem(error)

    def _report_entry(self, found: FoundFile, page: Page) -> None:
        entry = f"{found.path}#{page.key}"
        self.unseen.append(entry)
        self._report(entry, page.problem, ConversionError(page.problem))

    def _on_unreadable(self, path: str, error: OSError) -> None:
        self.unseen.append(path)
        self._report(path, quoted_error(error), error)

    @staticmethod
    def _kind(found: FoundFile) -> str:
        return kind_of(found.path) or "text"


def _once_all_are_read(pages: Iterator[Page | str]) -> Iterator[Page | str]:
    """Read all pages into a temporary file; then, if no error occurred, iterate over the pages."""
    with TemporaryFile("w+", encoding="utf-8") as file:
        for page in pages:
            file.write(json.dumps(page if isinstance(page, str) else asdict(page)) + "\n")
        file.seek(0)
        for line in file:
            answer = json.loads(line)
            yield answer if isinstance(answer, str) else Page(**answer)


def _document(found: FoundFile, page: Page) -> Document:
    path = PurePosixPath(found.path)
    modified = datetime.datetime.fromtimestamp(found.modified // 10**9, datetime.UTC)
    try:
        return Document(
            id=f"{found.path}#{page.key}" if page.key else found.path,
            text=page.text,
            metadata={
                **page.metadata,
                "path": found.path,
                "title": page.title or path.stem,
                "modified": modified.isoformat(),
                "type": path.suffix.lower().removeprefix("."),
            },
        )
    except InputError as error:
        raise ConversionError(str(error)) from error
