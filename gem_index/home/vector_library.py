"""The word vectors that a home keeps: adding, listing and removing them."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from gem_index.collection.models import open_vectors
from gem_index.errors import ConfigError, NameTakenError, UnknownNameError
from gem_index.files import COMPRESSED, user_path
from gem_index.progress import Progress
from gem_index.store.names import CollectionRepository, ModelRepository, SourceRepository
from gem_index.store.records import SourceRecord
from gem_index.store.workspace import Workspace, check_name
from gem_index.vectors.base import VectorSource
from gem_index.vectors.catalogue import CATALOGUE
from gem_index.vectors.cutting import cut_to_words
from gem_index.vectors.formats import KeyedVectorsLike, write_vectors
from gem_index.vectors.mapped import MappedVectors
from gem_index.vectors.options import SourceOptions
from gem_index.vectors.registry import BUNDLED, is_path, join_spec, plugins, split_spec
from gem_index.vectors.sources import FoundSource, StoredSource, find_source
from gem_index.vectors.stored import (
    ImportReport,
    findings_of,
    import_vectors,
    open_stored,
    open_unstored,
    vector_file,
)
from gem_index.vectors.subword import wordllama_file

__all__ = ["VectorInfo", "VectorLibrary"]


@dataclass(frozen=True)
class VectorInfo:
    """Registered, bundled or installed word vectors; ``words`` is None for a source that composes any word.

    ``findings`` says what reading the file tolerated and what storing it in fewer bits lost.
    """

    name: str
    words: int | None
    dimension: int
    fingerprint: str
    format: str
    origin: str
    licence: str
    options: dict[str, Any] = field(default_factory=dict)
    findings: ImportReport | None = None


class VectorLibrary:
    """Registered word vectors: a row in the database and a mapped folder each, and the bundled ones.

    Parameters
    ----------
    workspace : Workspace
    """

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def all(self) -> list[VectorInfo]:
        """Return the bundled and the registered word vectors."""
        bundled = [
            _info_of_source(name, open_bundled(), "subword", f"PyPI {name}", "MIT")
            for name, open_bundled in BUNDLED.items()
        ]
        return bundled + [_info(record) for record in self.records()]

    def describe(self, name: str) -> VectorInfo:
        """Return what is known of bundled, registered or installed word vectors.

        Raises
        ------
        UnknownNameError
            If there are none of that name; near names are suggested.
        """
        known = {info.name: info for info in self.all()}
        if name in known:
            return known[name]
        installed = plugins()
        if name in installed:
            package = installed[name].dist
            origin = installed[name].value if package is None else package.name
            source = open_vectors(self._workspace, name)
            return _info_of_source(name, source, "plugin", f"PyPI {origin}", "unknown")
        raise UnknownNameError("vectors", name, {*known, *installed}, "see: gem-index vectors list")

    def add(
        self,
        name: str,
        source: str | Path | KeyedVectorsLike | None = None,
        *,
        options: SourceOptions | None = None,
        format: str | None = None,
        mirror: str | None = None,
        origin: str | None = None,
        licence: str | None = None,
        progress: Progress | None = None,
    ) -> VectorInfo:
        """Copy word vectors into the home under a name.

        Parameters
        ----------
        name : str
        source : str, Path or gensim KeyedVectors, optional
            A file or folder of any format that is read, a web address, the name of registered, bundled or well-known
            vectors, of an installed spaCy pipeline, or ``owner/name`` of a model on the hub. By default the well-known
            vectors of that name.
        options : SourceOptions, optional
            How the vectors are used and stored.
        format : str, optional
            The file's format, instead of recognising it.
        mirror : str, optional
            A file, folder or address to read well-known vectors from, instead of where they are published.
        origin, licence : str, optional
            Where they come from and what their licence is, for the record; by default what is known of the source.
        progress : callable, optional
            Called with stage, done and total (0: not known).

        Raises
        ------
        NameTakenError
            If the name is in use.
        VectorFormatError
            If the source is of none of the formats or is damaged; nothing is kept.
        DownloadError
            If a download fails; what arrived is kept, to go on with.
        """
        self._check_free(name)
        with find_source(
            name if source is None else source,
            registered=self._registered(),
            downloads=self._workspace.root / "downloads",
            format=format,
            mirror=mirror,
            progress=progress,
        ) as found:
            found = replace(found, origin=origin or found.origin, licence=licence or found.licence)
            return self._take_in(name, found, options or SourceOptions(), progress)

    def fit_vocabulary(
        self,
        name: str,
        texts: Iterable[str],
        *,
        vectors: str,
        frequent: int,
        options: SourceOptions | None = None,
        progress: Progress | None = None,
    ) -> VectorInfo:
        """Cut vectors down to a corpus' words and their most frequent ones, under a new name.

        Parameters
        ----------
        name : str
        texts : iterable of str
            The corpus, read once.
        vectors : str
            What to cut down: any specification, also several joined by ``+``.
        frequent : int
            So many of the most frequent words are kept besides the corpus' own.
        options, progress
            As for :meth:`add`.
        """
        self._check_free(name)
        source = open_vectors(self._workspace, vectors)
        file = cut_to_words(source, vectors, texts, frequent)
        parts = {part.name for part in split_spec(vectors)}
        known = [info for info in self.all() if info.name in parts]
        licences = sorted({info.licence for info in known}) or ["unknown"]
        options = options or SourceOptions()
        if isinstance(source, MappedVectors) and options.case == "keep":
            options = replace(options, case=source.options.case)
        origin = f"{vectors} cut to {file.words} words"
        found = FoundSource(file, origin, " and ".join(licences))
        return self._take_in(name, found, options, progress)

    def export(self, name: str, path: Path, format: str | None = None) -> int:
        """Write registered or bundled vectors to a file or folder, and return how many words or pieces it holds.

        Raises
        ------
        UnknownNameError
            If there are none of that name.
        VectorFormatError
            If they do not fit into the format.
        """
        registered = self._registered()
        if name in registered:
            stored = registered[name]
            file = open_stored(stored.folder).as_file(name, stored.format)
        elif name in BUNDLED:
            file = wordllama_file()
        else:
            if name in plugins():
                raise ConfigError(
                    f"{name} is offered by an installed package; expected registered vectors: cut it to words with "
                    "gem-index vectors fit-vocabulary first"
                )
            raise UnknownNameError(
                "vectors", name, {*registered, *BUNDLED}, "see: gem-index vectors list"
            )
        write_vectors(file, path, format)
        return file.words or 0

    def _check_free(self, name: str) -> None:
        check_name("vectors", name)
        if name in BUNDLED or name in {record.name for record in self.records()}:
            raise NameTakenError(
                f"the vectors {name} exist already; expected a new name, or remove them first"
            )

    def _take_in(
        self, name: str, found: FoundSource, options: SourceOptions, progress: Progress | None
    ) -> VectorInfo:
        total = found.file.words or 0
        with self._workspace.write_lock():
            self._check_free(name)
            location = f"{name}-{uuid.uuid4().hex[:8]}"
            folder = self._workspace.vectors_folder / location
            vectors = import_vectors(
                found.file,
                folder,
                None if progress is None else lambda done: progress("words", done, total),
                options,
            )
            record = SourceRecord(
                name=name,
                fingerprint=vectors.fingerprint,
                words=len(vectors.vocabulary) if isinstance(vectors, MappedVectors) else None,
                dimension=vectors.dimension,
                format=found.file.format,
                origin=found.origin,
                licence=found.licence,
                options=vectors.options.to_json(),
                findings=json.dumps(asdict(findings_of(folder))),
                location=location,
            )
            with self._workspace.database.writing() as connection:
                SourceRepository(connection).add(record)
        return _info(record)

    def remove(self, name: str) -> None:
        """Remove registered word vectors that no model uses.

        Raises
        ------
        UnknownNameError
            If there are none of that name.
        NameTakenError
            If a model or collection uses them.
        """
        with self._workspace.write_lock():
            records = {record.name: record for record in self.records()}
            if name not in records:
                raise UnknownNameError(
                    "registered vectors", name, records, "see: gem-index vectors list"
                )
            users = self._users(name)
            if users:
                raise NameTakenError(
                    f"the vectors {name} are used by {', '.join(users)}; expected unused ones: drop these first"
                )
            with self._workspace.database.writing() as connection:
                SourceRepository(connection).remove(name)

    @contextmanager
    def registered(self, spec: str) -> Iterator[str]:
        """Yield a specification of names alone: what is a path is registered under its file name.

        A collection or model must not depend on a file outside the home. If the body raises, what was registered is
        removed again.
        """
        added: list[str] = []
        try:
            yield join_spec(
                [
                    replace(part, name=self._register_part(part.name, added))
                    for part in split_spec(spec)
                ]
            )
        except BaseException:
            for name in added:
                self.remove(name)
            raise

    def _register_part(self, part: str, added: list[str]) -> str:
        records = {record.name: record for record in self.records()}
        if part in records:
            return part
        if not is_path(part):
            if part in CATALOGUE and CATALOGUE[part].packaged:
                self.add(part)
                added.append(part)
            return part  # an unknown name is reported when it is opened
        name = user_path(part).absolute().name
        for ending in (*COMPRESSED, ".txt", ".vec", ".bin", ".npy", ".safetensors", ".parquet"):
            name = name.removesuffix(ending)
        name = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-._")
        if name in records or name in BUNDLED:
            found = open_unstored(vector_file(part)).fingerprint
            if name in records and found == records[name].fingerprint:
                return name
            raise NameTakenError(
                f"other vectors than {part} are registered as {name}; expected a free name: "
                f"gem-index vectors add NAME {part}"
            )
        self.add(name, part)
        added.append(name)
        return name

    def records(self) -> list[SourceRecord]:
        """Return the registered sources, by name."""
        with self._workspace.database.reading() as connection:
            return SourceRepository(connection).all()

    def _folder(self, record: SourceRecord) -> Path:
        return self._workspace.vectors_folder / record.location

    def _registered(self) -> dict[str, StoredSource]:
        return {
            record.name: StoredSource(
                self._folder(record), record.format, record.origin, record.licence
            )
            for record in self.records()
        }

    def _users(self, name: str) -> list[str]:
        with self._workspace.database.reading() as connection:
            models = {
                model.id: model
                for model in ModelRepository(connection).all()
                if any(name in _names(encoder.vectors) for encoder in model.encoders)
            }
            collections = [
                f"collection {record.name}"
                for record in CollectionRepository(connection).all()
                if record.model_id in models
            ]
        return collections + [f"model {model.name}" for model in models.values() if model.name]


def _names(spec: str) -> set[str]:
    return {part.name for part in split_spec(spec)}


def _info(record: SourceRecord) -> VectorInfo:
    return VectorInfo(
        record.name,
        record.words,
        record.dimension,
        record.fingerprint,
        record.format,
        record.origin,
        record.licence,
        SourceOptions.from_json(record.options).given(),
        ImportReport(**json.loads(record.findings)),
    )


def _info_of_source(
    name: str, source: VectorSource, format: str, origin: str, licence: str
) -> VectorInfo:
    words = len(source.vocabulary) if isinstance(source, MappedVectors) else None
    return VectorInfo(name, words, source.dimension, source.fingerprint, format, origin, licence)
