"""Bring a collection up to date with the folders and queries that it is filled from."""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from gem_index.advice import Action, Advice
from gem_index.collection.access import CollectionRows
from gem_index.converting import ARCHIVES, READING_VERSION, kind_of
from gem_index.documents import Document
from gem_index.errors import ConfigError, InputError
from gem_index.files import sha256_of_file
from gem_index.quoting import quoted, quoted_path
from gem_index.reading import FolderReader, Inputs, QueryReader, documents_from
from gem_index.reading.folders import ReadFile
from gem_index.reading.walk import FoundFile
from gem_index.store.sources import FileRecord, StoredSource
from gem_index.store.upsert import ForeignDocumentError, Upsert

__all__ = ["Part", "Watched", "check_any", "parts_of", "take_in"]

Part: TypeAlias = FolderReader | QueryReader | Iterable[Document]
"""One thing that documents are taken from."""

Watched: TypeAlias = Callable[[Iterable[Document]], Iterable[Document]]
"""Wraps an iterable to show progress."""


def parts_of(documents: Any, **names: Any) -> list[Part]:
    """Return what documents are taken from; the arguments are those of :func:`gem_index.reading.documents_from`."""
    return [
        reader
        if isinstance(reader, FolderReader | QueryReader)
        else documents_from(reader, **names)
        for reader in Inputs.of(documents)
    ]


def check_any(parts: Sequence[Part]) -> None:
    """Name the files without text, or the query without rows, after no document was found in any part.

    Raises
    ------
    InputError
        If there are such files or queries.
    """
    readers = [part for part in parts if isinstance(part, FolderReader)]
    empty = [quoted_path(reader.full_name(path)) for reader in readers for path in reader.empty]
    if empty:
        more = f" and {len(empty) - 3} more" if len(empty) > 3 else ""
        raise InputError(
            f"found no text in {', '.join(empty[:3])}{more}; expected at least one file with text"
        )
    for part in parts:
        if isinstance(part, QueryReader):
            raise InputError(
                f"found no document in {quoted_path(part.location)}; expected a query with rows"
            )


def take_in(
    rows: CollectionRows, parts: Sequence[Part], upsert: Upsert, prune: bool, watched: Watched
) -> int:
    """Write the documents of all parts, and return how many others were deleted.

    Of a folder only files are read that are new or have changed; of a query with a column that grows, only rows that are not
    below its highest value so far.

    Parameters
    ----------
    rows : CollectionRows
        In a transaction that is rolled back if this raises.
    parts : sequence
    upsert : Upsert
    prune : bool
        Delete documents that came from a folder or a query in which they are no longer.
    watched : callable

    Raises
    ------
    ConfigError
        If ``prune`` is asked for something that is not a folder or a query.
    InputError
        If a document would replace one of another folder or query.
    """
    deleted = 0
    for part in parts:
        if isinstance(part, FolderReader):
            deleted += _take_folder(rows, part, upsert, prune, watched)
        elif isinstance(part, QueryReader):
            deleted += _take_query(rows, part, upsert, prune, watched)
        elif prune:
            raise ConfigError(
                "found prune with an input that is neither a folder nor a database; expected one of these: "
                "a file of records does not say which documents came from it"
            )
        else:
            upsert.take(watched(part))
    return deleted


def _take_folder(
    rows: CollectionRows, reader: FolderReader, upsert: Upsert, prune: bool, watched: Watched
) -> int:
    source = rows.sources.find(reader.location) or rows.sources.add(reader.location)
    reader.adopt(source.options)
    if source.options != reader.choices:
        rows.sources.keep(source.id, reader.choices)
    known = rows.sources.files(source.id)
    present = _Present(rows.documents.ids_from(source.id), known)
    seen: set[str] = set()
    read: list[ReadFile] = []
    fresh: set[str] = set()

    same = partial(_unchanged, reader)

    def changed() -> Iterator[FoundFile]:
        for found in reader.files():
            seen.add(found.path)
            record = known.get(found.path)
            here = present.of(found.path)
            if record is None or record.documents != len(here) or not same(found, record):
                yield found
                continue
            upsert.counts.unchanged += record.documents
            if found.modified != record.modified:
                read.append(ReadFile(found, record.sha256, record.documents))
                fresh.update(here)

    def documents() -> Iterator[Document]:
        for document in reader.documents(changed(), read.append):
            fresh.add(document.id)
            yield document

    _take(rows, upsert, watched(documents()), source)
    kept = fresh.union(reader.unseen)
    stale = [name for file in read for name in present.of(file.found.path) if name not in kept]
    if prune:
        gone = [path for path in known if path not in seen and not _below(path, reader.unseen)]
        stale += [name for path in gone for name in present.of(path)]
        rows.sources.forget_files(source.id, gone)
    rows.sources.keep_files(source.id, map(_record, read))
    rows.documents.delete(stale)
    return len(set(stale))


def _unchanged(reader: FolderReader, found: FoundFile, record: FileRecord) -> bool:
    if record.version != READING_VERSION:
        return False
    if reader.checksum:
        return record.sha256 == sha256_of_file(reader.path_of(found))
    return (record.size, record.modified) == (found.size, found.modified)


def _record(file: ReadFile) -> FileRecord:
    return FileRecord(
        file.found.path,
        file.found.size,
        file.found.modified,
        file.sha256,
        file.documents,
        READING_VERSION,
    )


def _below(path: str, folders: Sequence[str]) -> bool:
    return any(not each or path == each or path.startswith(f"{each}/") for each in folders)


class _Present:
    """The ids of the documents that a folder has in the collection, by file; ``files`` are the paths that it knows."""

    def __init__(self, ids: Sequence[str], files: Container[str]) -> None:
        self._ids = ids
        self._files = files

    def of(self, path: str) -> list[str]:
        """Return those of a file: its path, or ``path#entry`` for each entry of an archive."""
        if kind_of(path) in ARCHIVES:
            begin = bisect_left(self._ids, f"{path}#")
            end = bisect_left(self._ids, f"{path}$", begin)  # the character after #
            return [name for name in self._ids[begin:end] if name not in self._files]
        begin = bisect_left(self._ids, path)
        return [path] if self._ids[begin : begin + 1] == [path] else []


def _take_query(
    rows: CollectionRows, reader: QueryReader, upsert: Upsert, prune: bool, watched: Watched
) -> int:
    if reader.query is None:
        reader.adopt(_only_query(rows, reader))
    source = rows.sources.find(reader.location)
    if source is None:
        source = rows.sources.add(reader.location)
    else:
        reader.adopt(source.options)
    same = source.options.get("since") == reader.since
    _take(rows, upsert, watched(reader.documents(source.since if same else None)), source)
    highest = source.since if same and reader.highest is None else reader.highest
    rows.sources.keep(source.id, reader.choices, highest)
    if not prune:
        return 0
    there = set(reader.ids())
    gone = [name for name in rows.documents.ids_from(source.id) if name not in there]
    rows.documents.delete(gone)
    return len(gone)


def _only_query(rows: CollectionRows, reader: QueryReader) -> dict[str, Any]:
    """Return how the one query of a database was read."""
    known = [s for s in rows.sources.all() if s.location.startswith(f"{reader.database} ")]
    if len(known) != 1:
        found = f"{len(known)} queries of" if known else "no query of"
        raise ConfigError(
            f"the collection knows {found} {reader.database}; expected a SELECT statement",
            Advice(Action.GIVE_QUERY),
        )
    return dict(known[0].options)


def _take(
    rows: CollectionRows, upsert: Upsert, documents: Iterable[Document], source: StoredSource
) -> None:
    """Write the documents of a source.

    Those of a folder that is gone may be replaced, and those of a file that was named itself by its folder, and conversely:
    it is the same file.
    """
    others = [other for other in rows.sources.all() if other.id != source.id]
    replaceable = [
        other.id
        for other in others
        if other.location.startswith("/")
        and (
            _is_gone(other.location)
            or _is_file_of(other.location, source.location)
            or _is_file_of(source.location, other.location)
        )
    ]
    try:
        upsert.take(documents, source.id, replaceable)
    except ForeignDocumentError as error:
        known = {other.id: other.location for other in others}
        advice = "add the folder that holds both" if source.location[0] == "/" else "select others"
        raise InputError(
            f"the id {quoted(error.document_id)} of {source.location} is that of a document of "
            f"{known.get(error.source_id, 'another source')}; expected different ids: {advice}"
        ) from error


def _is_file_of(path: str, folder: str) -> bool:
    """Tell whether a path is a file directly in a folder: both then give it the same id."""
    return str(Path(path).parent) == folder and os.path.isfile(path)  # noqa: PTH113 - False for what cannot be looked at


def _is_gone(location: str) -> bool:
    """Tell whether nothing is at a path; a path that cannot be looked at is not gone."""
    try:
        Path(location).stat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        pass
    return False
