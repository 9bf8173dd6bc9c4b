"""A home: the collections, models and word vectors of one folder."""

from __future__ import annotations

import re
import shutil
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from gem_index.collection import Collection
from gem_index.collection.publish import Progress
from gem_index.collection.results import CollectionStatus, IngestReport, Problem
from gem_index.config import NEW_COLLECTION_PRIOR, GemConfig
from gem_index.documents import Document
from gem_index.errors import (
    ConfigError,
    FingerprintMismatchError,
    NameTakenError,
    UnknownNameError,
)
from gem_index.gem.encoder import GemEncoder
from gem_index.settings import load_settings
from gem_index.store.names import CollectionRepository, ModelRepository, SourceRepository
from gem_index.store.records import CollectionRecord, ModelRecord, SourceRecord
from gem_index.vectors.base import VectorSource
from gem_index.vectors.formats import read_vectors
from gem_index.vectors.mapped import MappedVectors, damaged_files, import_vectors
from gem_index.vectors.registry import BUNDLED, DEFAULT_VECTORS, is_path, open_source, split_spec
from gem_index.workspace import Workspace, check_name

__all__ = ["Home", "VectorInfo", "open_vectors"]


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


class Home:
    """The folder that holds a database, word vectors and indexes.

    Parameters
    ----------
    root : str or Path, optional
        By default the environment variable ``GEM_INDEX_HOME``, else the platform's folder for application data.
    upgrade : bool
        Bring an older database up to date on opening.

    Raises
    ------
    HomeNotWritableError
        If the folder cannot be created or written.
    DatabaseVersionError
        If a newer gem-index wrote its database.

    Examples
    --------
    >>> home = Home("~/.local/share/gem-index")  # doctest: +SKIP
    >>> faq = home.create_collection("faq", vectors="wordllama")  # doctest: +SKIP
    """

    def __init__(self, root: str | Path | None = None, *, upgrade: bool = True) -> None:
        settings = load_settings()
        folder = Path(root) if root is not None else settings.home
        self._workspace = Workspace(folder.expanduser(), settings, upgrade=upgrade)

    @property
    def root(self) -> Path:
        """The folder."""
        return self._workspace.root

    @property
    def database_revision(self) -> str | None:
        """The revision of the database's schema."""
        return self._workspace.database.revision

    def upgrade_database(self) -> None:
        """Run the missing migrations."""
        with self._workspace.write_lock():
            self._workspace.database.upgrade()

    # ------------------------------------------------------------- collections

    def create_collection(
        self,
        name: str,
        *,
        vectors: str = DEFAULT_VECTORS,
        config: GemConfig | None = None,
        prior: float | None = None,
    ) -> Collection:
        """Make an empty collection.

        Parameters
        ----------
        name : str
            1 to 64 letters, digits, dots, dashes, underscores.
        vectors : str
            A registered or bundled name, a path (which is then registered under its file name), or several joined by
            ``+``.
        config : GemConfig, optional
            The paper's settings for semantic similarity unless given.
        prior : float, optional
            Pseudo-sentences of background mixed into the fit. By default the configuration's where it is above 0, else
            1000: a new collection is too small to show its own common directions (spec section 7).

        Raises
        ------
        NameTakenError
            If a collection of that name exists.
        """
        check_name("collection", name)
        config = config or GemConfig()
        if prior is None:
            prior = config.prior or NEW_COLLECTION_PRIOR
        with self._workspace.write_lock():
            if self._find(name) is not None:
                raise NameTakenError(
                    f"the collection {name} exists already; expected a new name: "
                    "add to it with gem-index add, or drop it first"
                )
            with (
                self._registered(vectors) as spec,
                self._workspace.database.writing() as connection,
            ):
                encoder = GemEncoder(
                    self._workspace.open_vectors(spec, connection), replace(config, prior=prior)
                )
                record = self._workspace.model_record(encoder, spec)
                model_id = ModelRepository(connection).add(record)
                CollectionRepository(connection).add(name, model_id, "flat")
        return self.collection(name)

    def collection(self, name: str) -> Collection:
        """Return an existing collection.

        Raises
        ------
        UnknownNameError
            If there is none of that name; near names are suggested.
        """
        record = self._find(name)
        if record is None:
            raise UnknownNameError(
                "collection",
                name,
                [status.name for status in self.collections()],
                "make one with: gem-index build NAME FILE",
            )
        return Collection(self._workspace, record)

    def collections(self) -> list[CollectionStatus]:
        """Return the status of every collection, by name."""
        with self._workspace.database.reading() as connection:
            records = CollectionRepository(connection).all()
        return [Collection(self._workspace, record).status() for record in records]

    def build(
        self,
        name: str,
        documents: Iterable[Document],
        *,
        vectors: str | None = None,
        config: GemConfig | None = None,
        prior: float | None = None,
        progress: Progress | None = None,
    ) -> IngestReport:
        """Make a collection of documents, fitted on them; an existing one takes them in and is fitted anew.

        When it raises, a new collection is gone again and an existing one is as before.

        Parameters
        ----------
        name, vectors, config, prior
            As for :meth:`create_collection`. For an existing collection vectors and configuration have to agree with its
            own where they are given.
        documents : iterable of Document
            Read once.
        progress : callable, optional
            Called with stage, done and total.

        Raises
        ------
        FingerprintMismatchError
            If the existing collection has other vectors.
        ConfigError
            If the existing collection has another configuration.
        """
        with self._workspace.write_lock():
            if self._find(name) is None:
                report = self._build_new(name, documents, vectors or DEFAULT_VECTORS, config, prior)
            else:
                self._check_agreement(self.collection(name), vectors, config, prior)
                report = self.collection(name).store(documents)
            collection = self.collection(name)
            if collection.changed_since_fit():
                collection.refit(progress)
        return replace(report, fingerprint=collection.status().fingerprint)

    def _build_new(
        self,
        name: str,
        documents: Iterable[Document],
        vectors: str,
        config: GemConfig | None,
        prior: float | None,
    ) -> IngestReport:
        with self._registered(vectors) as spec:
            collection = self.create_collection(name, vectors=spec, config=config, prior=prior)
            try:
                return collection.store(documents)
            except BaseException:
                self.drop(name)
                raise

    def _check_agreement(
        self,
        collection: Collection,
        vectors: str | None,
        config: GemConfig | None,
        prior: float | None,
    ) -> None:
        encoder = collection.encoder
        if vectors is not None:
            found = self.open_vectors(vectors).fingerprint
            if found != encoder.vectors.fingerprint:
                raise FingerprintMismatchError(
                    f"the collection {collection.name}",
                    encoder.vectors.fingerprint,
                    found,
                    f"leave out --vectors, or build a new collection with {vectors}",
                )
        own = encoder.config
        wanted = replace(config or own, prior=own.prior if prior is None else prior)
        if wanted != own:
            raise ConfigError(
                f"the collection {collection.name} has the configuration {own.to_json()}, found {wanted.to_json()}; "
                "expected the same: leave it out, or build a new collection"
            )

    def drop(self, name: str) -> None:
        """Remove a collection with its documents, model and files.

        Raises
        ------
        UnknownNameError
            If there is none of that name.
        """
        with self._workspace.write_lock():
            self.collection(name)
            with self._workspace.database.writing() as connection:
                record = CollectionRepository(connection).find(name)
                assert record is not None  # under the write lock
                CollectionRepository(connection).remove(record.id)
                ModelRepository(connection).remove(record.model_id)
            folder = self._workspace.collection_folder(record.id)
            if folder.is_dir():
                shutil.rmtree(folder)

    def verify(self, name: str | None = None, fix: bool = False) -> list[Problem]:
        """Check one collection, or the database, all word vectors and all collections.

        Returns
        -------
        list of Problem
            Empty when all is well.
        """
        if name is not None:
            return self.collection(name).verify(fix)
        problems = [
            Problem("database", line, False)
            for line in self._workspace.database.integrity_problems()
        ]
        for source in self._sources():
            folder = self._workspace.vectors_folder / source.location
            problems += [
                Problem(
                    "vectors",
                    f"{source.name}: {file} is not what was written; add it again from {source.origin}",
                    False,
                )
                for file in damaged_files(folder)
            ]
        with self._workspace.database.reading() as connection:
            records = CollectionRepository(connection).all()
        for record in records:
            problems += Collection(self._workspace, record).verify(fix)
        return problems

    def _find(self, name: str) -> CollectionRecord | None:
        with self._workspace.database.reading() as connection:
            return CollectionRepository(connection).find(name)

    # ------------------------------------------------------------------ models

    def fit_model(
        self,
        name: str,
        corpus: Iterable[str],
        *,
        vectors: str = DEFAULT_VECTORS,
        config: GemConfig | None = None,
        overwrite: bool = False,
    ) -> GemEncoder:
        """Fit an encoder on a corpus and keep it under a name.

        Raises
        ------
        NameTakenError
            If a model of that name exists and is not to be overwritten.
        """
        check_name("model", name)
        with self._workspace.write_lock():
            old = self._models().get(name)
            if old is not None and not overwrite:
                raise NameTakenError(
                    f"the model {name} exists already; expected a new name, or --overwrite"
                )
            with self._registered(vectors) as spec:
                encoder = GemEncoder(self.open_vectors(spec), config).fit(corpus)
                with self._workspace.database.writing() as connection:
                    models = ModelRepository(connection)
                    if old is not None and old.id is not None:
                        models.remove(old.id)
                    models.add(self._workspace.model_record(encoder, spec, name))
        return encoder

    def model(self, name: str) -> GemEncoder:
        """Return the encoder of that name.

        Raises
        ------
        UnknownNameError
            If there is none; near names are suggested.
        """
        models = self._models()
        if name not in models:
            raise UnknownNameError("model", name, models, "fit one with: gem-index fit NAME FILE")
        return self._workspace.encoder(models[name])

    def models(self) -> list[ModelRecord]:
        """Return the named models, by name."""
        return list(self._models().values())

    def remove_model(self, name: str) -> None:
        """Forget a named model.

        Raises
        ------
        UnknownNameError
            If there is none of that name.
        """
        self.model(name)
        with self._workspace.write_lock(), self._workspace.database.writing() as connection:
            models = ModelRepository(connection)
            model_id = models.named()[name].id
            assert model_id is not None
            models.remove(model_id)

    def _models(self) -> dict[str, ModelRecord]:
        with self._workspace.database.reading() as connection:
            return ModelRepository(connection).named()

    # ------------------------------------------------------------ word vectors

    def open_vectors(self, spec: str) -> VectorSource:
        """Open word vectors: a registered or bundled name, a path, or several joined by ``+``.

        Raises
        ------
        UnknownNameError
            If a part is neither; near names are suggested.
        """
        return self._workspace.open_vectors(spec)

    def add_vectors(
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
            if name in BUNDLED or name in {record.name for record in self._sources()}:
                raise NameTakenError(
                    f"the vectors {name} exist already; expected a new name, or remove them first"
                )
            self._remove_unnamed_vectors()
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

    def vectors(self) -> list[VectorInfo]:
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
        return bundled + [_info(record) for record in self._sources()]

    def describe_vectors(self, name: str) -> VectorInfo:
        """Return what is known of bundled or registered word vectors.

        Raises
        ------
        UnknownNameError
            If there are none of that name; near names are suggested.
        """
        known = {info.name: info for info in self.vectors()}
        if name not in known:
            raise UnknownNameError("vectors", name, known, "see: gem-index vectors list")
        return known[name]

    def remove_vectors(self, name: str) -> None:
        """Remove registered word vectors that no model uses.

        Raises
        ------
        UnknownNameError
            If there are none of that name.
        NameTakenError
            If a model or collection uses them.
        """
        with self._workspace.write_lock():
            records = {record.name: record for record in self._sources()}
            if name not in records:
                raise UnknownNameError(
                    "registered vectors", name, records, "see: gem-index vectors list"
                )
            users = self._users_of_vectors(name)
            if users:
                raise NameTakenError(
                    f"the vectors {name} are used by {', '.join(users)}; expected unused ones: drop these first"
                )
            with self._workspace.database.writing() as connection:
                SourceRepository(connection).remove(name)
            shutil.rmtree(
                self._workspace.vectors_folder / records[name].location, ignore_errors=True
            )

    def _remove_unnamed_vectors(self) -> None:
        """Remove what an import left that was killed; the caller holds the write lock."""
        named = {record.location for record in self._sources()}
        if self._workspace.vectors_folder.is_dir():
            for folder in self._workspace.vectors_folder.iterdir():
                if folder.name not in named:
                    shutil.rmtree(folder)

    def _users_of_vectors(self, name: str) -> list[str]:
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

    def _sources(self) -> list[SourceRecord]:
        with self._workspace.database.reading() as connection:
            return SourceRepository(connection).all()

    @contextmanager
    def _registered(self, spec: str) -> Iterator[str]:
        """Yield a specification of names alone: what is a path is registered under its file name.

        A collection or model must not depend on a file outside the home. If the body raises, what was registered is
        removed again.
        """
        added: list[str] = []
        try:
            yield "+".join(self._register_part(part, added) for part in split_spec(spec))
        except BaseException:
            for name in added:
                self.remove_vectors(name)
            raise

    def _register_part(self, part: str, added: list[str]) -> str:
        records = {record.name: record for record in self._sources()}
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
        self.add_vectors(name, part)
        added.append(name)
        return name


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


def open_vectors(spec: str, home: Home | None = None) -> VectorSource:
    """Open word vectors.

    Parameters
    ----------
    spec : str
        A bundled name (``wordllama``), a name registered in the home, the path of a GloVe or word2vec text file or of a
        folder with ``words.txt`` and ``matrix.npy``, or several of these joined by ``+``.
    home : Home, optional
        Where registered names are looked up; the default home unless given. Not touched for bundled names and paths.

    Raises
    ------
    UnknownNameError
        If a part is neither a name nor a path.
    """
    if home is None and all(part in BUNDLED or is_path(part) for part in split_spec(spec)):
        return open_source(spec, {})
    return (home or Home()).open_vectors(spec)
