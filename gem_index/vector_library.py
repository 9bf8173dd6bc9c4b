"""The word vectors that a home keeps: adding, listing and removing them."""

from __future__ import annotations

import re
import shutil
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from gem_index.errors import NameTakenError, UnknownNameError
from gem_index.store.names import CollectionRepository, ModelRepository, SourceRepository
from gem_index.store.records import SourceRecord
from gem_index.vectors.formats import read_vectors
from gem_index.vectors.mapped import MappedVectors, import_vectors
from gem_index.vectors.registry import BUNDLED, is_path, split_spec
from gem_index.workspace import Workspace, check_name

__all__ = ["VectorInfo", "VectorLibrary"]


@dataclass(frozen=True)
class VectorInfo:
    """Registered or bundled word vectors; ``words`` is None for a source that composes any word."""

    name: str
    words: int | None
    dimension: int
    fingerprint: str
    format: str
    origin: str
    licence: str


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
        bundled = []
        for name, open_bundled in BUNDLED.items():
            source = open_bundled()
            bundled.append(
                VectorInfo(
                    name,
                    None,
                    source.dimension,
                    source.fingerprint,
                    "subword",
                    f"PyPI {name}",
                    "MIT",
                )
            )
        return bundled + [_info(record) for record in self.records()]

    def describe(self, name: str) -> VectorInfo:
        """Return what is known of bundled or registered word vectors.

        Raises
        ------
        UnknownNameError
            If there are none of that name; near names are suggested.
        """
        known = {info.name: info for info in self.all()}
        if name not in known:
            raise UnknownNameError("vectors", name, known, "see: gem-index vectors list")
        return known[name]

    def add(
        self,
        name: str,
        source: str | Path,
        *,
        origin: str | None = None,
        licence: str = "unknown",
        progress: Callable[[int], None] | None = None,
    ) -> VectorInfo:
        """Copy word vectors into the home under a name.

        Parameters
        ----------
        name : str
        source : str or Path
            A file of GloVe or word2vec text, or a folder with ``words.txt`` and ``matrix.npy``.
        origin, licence : str, optional
            Where they come from and what their licence is, for the record.
        progress : callable, optional
            Called with the number of words read so far.

        Raises
        ------
        NameTakenError
            If the name is in use.
        VectorFormatError
            If the source is not of these formats or is damaged; nothing is kept.
        """
        check_name("vectors", name)
        with self._workspace.write_lock():
            if name in BUNDLED or name in {record.name for record in self.records()}:
                raise NameTakenError(
                    f"the vectors {name} exist already; expected a new name, or remove them first"
                )
            self._sweep()
            file = read_vectors(source)
            location = f"{name}-{uuid.uuid4().hex[:8]}"
            folder = self._workspace.vectors_folder / location
            vectors = import_vectors(file, folder, progress)
            record = SourceRecord(
                name=name,
                fingerprint=vectors.fingerprint,
                words=len(vectors.vocabulary),
                dimension=vectors.dimension,
                format=file.format,
                origin=origin or str(file.path.absolute()),
                licence=licence,
                location=location,
            )
            try:
                with self._workspace.database.writing() as connection:
                    SourceRepository(connection).add(record)
            except BaseException:
                shutil.rmtree(folder)
                raise
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
            shutil.rmtree(
                self._workspace.vectors_folder / records[name].location, ignore_errors=True
            )

    @contextmanager
    def registered(self, spec: str) -> Iterator[str]:
        """Yield a specification of names alone: what is a path is registered under its file name.

        A collection or model must not depend on a file outside the home. If the body raises, what was registered is
        removed again.
        """
        added: list[str] = []
        try:
            yield "+".join(self._register_part(part, added) for part in split_spec(spec))
        except BaseException:
            for name in added:
                self.remove(name)
            raise

    def _register_part(self, part: str, added: list[str]) -> str:
        records = {record.name: record for record in self.records()}
        if part in records or not is_path(part):
            return part  # an unknown name is reported when it is opened
        stem = Path(part).expanduser().absolute().name
        name = re.sub(
            r"[^A-Za-z0-9._-]+", "-", stem.removesuffix(".gz").removesuffix(".txt")
        ).strip("-._")
        if name in records or name in BUNDLED:
            found = MappedVectors.read(read_vectors(part)).fingerprint
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

    def _sweep(self) -> None:
        """Remove what an import left that was killed; the caller holds the write lock."""
        named = {record.location for record in self.records()}
        if self._workspace.vectors_folder.is_dir():
            for folder in self._workspace.vectors_folder.iterdir():
                if folder.name not in named:
                    shutil.rmtree(folder)

    def _users(self, name: str) -> list[str]:
        with self._workspace.database.reading() as connection:
            models = {
                model.id: model
                for model in ModelRepository(connection).all()
                if name in model.vectors.split("+")
            }
            collections = [
                f"collection {record.name}"
                for record in CollectionRepository(connection).all()
                if record.model_id in models
            ]
        return collections + [f"model {model.name}" for model in models.values() if model.name]


def _info(record: SourceRecord) -> VectorInfo:
    return VectorInfo(
        record.name,
        record.words,
        record.dimension,
        record.fingerprint,
        record.format,
        record.origin,
        record.licence,
    )
