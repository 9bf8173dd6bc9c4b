"""Update a collection from its document sources: folders and queries."""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Container, Iterable, Iterator, Sequence, Sized
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, get_args

from gem_index.collection.state.access import CollectionRows
from gem_index.common.checks import check_choice
from gem_index.converting import ARCHIVES, READING_VERSION, kind_of
from gem_index.documents import Document
from gem_index.errors import Action, Advice, ConfigError, InputError
from gem_index.errors.quoting import quoted, quoted_path
from gem_index.files.inputs import sha256_of_file
from gem_index.progress import Progress, counted
from gem_index.readers import DocumentReader, FolderReader, QueryReader, documents_from
from gem_index.readers.fields import LINE
from gem_index.readers.folders import ReadFile
from gem_index.readers.inputs import Inputs
from gem_index.readers.walk import FoundFile
from gem_index.store.sources import FileRecord, StoredSource
from gem_index.store.upsert import ForeignDocumentError, OnExisting, Upsert

__all__ = ["DocumentInput", "Intake", "reading_to_keep", "take_in"]

DocumentInput: TypeAlias = FolderReader | QueryReader | Iterable[Document]
"""An input of an upsert: a folder, a query, or documents of the caller."""


@dataclass(frozen=True)
class Intake:
    """Documents to store, and the options of the upsert.

    Attributes
    ----------
    parts : sequence of DocumentInput
        The inputs, which are read once, one after the other.
    on_existing : {"replace", "keep", "refuse"}
        What happens to a document whose id is stored already.
    prune : bool
        In a folder or query, delete each stored document whose file or row no longer exists.
    total : int, optional
        The number of documents, if it is known before the documents are read.
    """

    parts: Sequence[DocumentInput]
    on_existing: OnExisting = "replace"
    prune: bool = False
    total: int | None = None

    @classmethod
    def of(
        cls,
        documents: Any,
        *,
        id: str | None,
        text: str | Sequence[str] | None,
        metadata: Sequence[str] | None,
        clean: Sequence[str] = (),
        on_existing: OnExisting = "replace",
        prune: bool = False,
    ) -> Intake:
        """Return the intake of an input; the input and the parameters are as for :func:`gem_index.readers.documents_from`.

        Raises
        ------
        ConfigError
            If ``on_existing`` has another value.
        """
        check_choice(on_existing, "on_existing", get_args(OnExisting))
        parts = [
            reader
            if isinstance(reader, FolderReader | QueryReader)
            else documents_from(reader, id=id, text=text, metadata=metadata, clean=clean)
            for reader in Inputs.of(documents)
        ]
        total = len(documents) if isinstance(documents, Sized) else None
        return cls(parts, on_existing, prune, total)

    def check_any(self) -> None:
        """Explain why the inputs have no document: raise an error that names files without text or queries without rows.

        Call this only if no document was found in any input.

        Raises
        ------
        InputError
            If there are such files or queries.
        """
        readers = [part for part in self.parts if isinstance(part, FolderReader)]
        empty = [quoted_path(reader.full_name(path)) for reader in readers for path in reader.empty]
        if empty:
            more = f" and {len(empty) - 3} more" if len(empty) > 3 else ""
            raise InputError(
                f"found no text in {', '.join(empty[:3])}{more}; expected at least one file with text"
            )
        for part in self.parts:
            if isinstance(part, QueryReader):
                raise InputError(
                    f"found no document in {quoted_path(part.location)}; expected a query with rows"
                )


def take_in(
    rows: CollectionRows, intake: Intake, writing: Upsert, progress: Progress | None
) -> int:
    """Write the documents of all inputs, and return the number of documents that were deleted without replacement.

    In a folder, only new and changed files are read. In a query with ``since COLUMN``, a row is read if its value in
    this column is at least the highest value of earlier reads.

    Parameters
    ----------
    rows : CollectionRows
        The rows in a transaction, which is rolled back if this function raises.
    intake : Intake
    writing : Upsert
    progress : callable, optional

    Raises
    ------
    ConfigError
        If ``prune`` is set and an input is neither a folder nor a query.
    InputError
        If a document would replace a document from another folder or query.
    """
    taking = _Taking(rows, writing, intake, progress)
    return sum(map(taking.part, intake.parts))


@dataclass(frozen=True)
class _Taking:
    """Writes inputs in one transaction; :meth:`part` returns the number of documents deleted without replacement."""

    rows: CollectionRows
    writing: Upsert
    intake: Intake
    progress: Progress | None

    def part(self, part: DocumentInput) -> int:
        if isinstance(part, FolderReader):
            return self._folder(part)
        if isinstance(part, QueryReader):
            return self._query(part)
        if self.intake.prune:
            raise ConfigError(
                "found prune with an input that is neither a folder nor a database; expected one of these: "
                "a file of records does not say which documents came from it"
            )
        self.writing.take(self._counted(part))
        return 0

    def _counted(self, documents: Iterable[Document]) -> Iterable[Document]:
        return counted(documents, "store", self.progress, self.intake.total)

    def _folder(self, reader: FolderReader) -> int:
        sources = self.rows.sources
        source = sources.find(reader.location) or sources.add(reader.location)
        reader.adopt(source.options)
        if source.options != reader.choices:
            sources.keep(source.id, reader.choices)
        known = sources.files(source.id)
        present = _Present(self.rows.documents.ids_from(source.id), known)
        seen: set[str] = set()
        read: list[ReadFile] = []
        fresh: set[str] = set()

        def changed() -> Iterator[FoundFile]:
            for found in reader.files():
                seen.add(found.path)
                record = known.get(found.path)
                here = present.of(found.path)
                if (
                    record is None
                    or record.documents != len(here)
                    or not _unchanged(reader, found, record)
                ):
                    yield found
                    continue
                self.writing.counts.unchanged += record.documents
                if found.modified != record.modified:
                    read.append(ReadFile(found, record.sha256, record.documents))
                    fresh.update(here)

        def documents() -> Iterator[Document]:
            for document in reader.documents(changed(), read.append):
                fresh.add(document.id)
                yield document

        self._take(documents(), source)
        kept = fresh.union(reader.unseen)
        stale = [name for file in read for name in present.of(file.found.path) if name not in kept]
        if self.intake.prune:
            gone = [path for path in known if path not in seen and not _below(path, reader.unseen)]
            stale += [name for path in gone for name in present.of(path)]
            sources.forget_files(source.id, gone)
        sources.keep_files(source.id, map(_record, read))
        self.rows.documents.delete(stale)
        return len(set(stale))

    def _query(self, reader: QueryReader) -> int:
        sources, documents = self.rows.sources, self.rows.documents
        if reader.query is None:
            reader.adopt(_only_query(self.rows, reader))
        source = sources.find(reader.location)
        if source is None:
            source = sources.add(reader.location)
        else:
            reader.adopt(source.options)
        same = source.options.get("since") == reader.since
        self._take(reader.documents(source.since if same else None), source)
        highest = source.since if same and reader.highest is None else reader.highest
        sources.keep(source.id, reader.choices, highest)
        if not self.intake.prune:
            return 0
        there = set(reader.ids())
        gone = [name for name in documents.ids_from(source.id) if name not in there]
        documents.delete(gone)
        return len(gone)

    def _take(self, documents: Iterable[Document], source: StoredSource) -> None:
        """Write the documents of a document source.

        They may replace documents of a source whose folder no longer exists. They may also replace the document of a file
        that was given alone before, if now its folder is given; and the reverse.
        """
        others = [other for other in self.rows.sources.all() if other.id != source.id]
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
            self.writing.take(self._counted(documents), source.id, replaceable)
        except ForeignDocumentError as error:
            known = {other.id: other.location for other in others}
            advice = (
                "add the folder that holds both" if source.location[0] == "/" else "select others"
            )
            raise InputError(
                f"the id {quoted(error.document_id)} of {source.location} is also the id of a document of "
                f"{known.get(error.source_id, 'another source')}; expected different ids: {advice}"
            ) from error


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
    """Finds the stored ids of a file's documents; ``ids`` has all ids of the folder, ``files`` all known paths."""

    def __init__(self, ids: Sequence[str], files: Container[str]) -> None:
        self._ids = ids
        self._files = files

    def of(self, path: str) -> list[str]:
        """Return the ids of a file's documents: the path, or ``path#entry`` for each entry of an archive."""
        if kind_of(path) in ARCHIVES:
            begin = bisect_left(self._ids, f"{path}#")
            end = bisect_left(self._ids, f"{path}$", begin)  # the character after #
            return [name for name in self._ids[begin:end] if name not in self._files]
        begin = bisect_left(self._ids, path)
        return [path] if self._ids[begin : begin + 1] == [path] else []


def _only_query(rows: CollectionRows, reader: QueryReader) -> dict[str, Any]:
    """Return the stored options of the only query of a database; ConfigError if there is no query, or more than one."""
    known = [s for s in rows.sources.all() if s.location.startswith(f"{reader.database} ")]
    if len(known) != 1:
        found = f"{len(known)} queries of" if known else "no query of"
        raise ConfigError(
            f"the collection knows {found} {reader.database}; expected a SELECT statement",
            Advice(Action.GIVE_QUERY),
        )
    return dict(known[0].options)


def _is_file_of(path: str, folder: str) -> bool:
    """Tell whether a path is a file directly in a folder; then its document has the same id in both sources."""
    return str(Path(path).parent) == folder and os.path.isfile(path)  # noqa: PTH113 - False without permission to look


def _is_gone(location: str) -> bool:
    """Tell whether a path no longer exists; a path that cannot be read counts as existing."""
    try:
        Path(location).stat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        pass
    return False


def reading_to_keep(
    documents: Any,
    id: str | None,
    text: str | Sequence[str] | None,
    clean: Sequence[str] | None,
) -> DocumentReader | None:
    """Return a reader whose options are stored for later files: the last given reader, or one with the named fields."""
    readers = [each for each in Inputs.of(documents) if isinstance(each, DocumentReader)]
    if readers:
        return readers[-1]
    if id is None and text is None and clean is None:
        return None
    texts = (LINE,) if text is None else (text,) if isinstance(text, str) else tuple(text)
    return DocumentReader([], id_field=id, text_fields=texts, clean=clean or ())
