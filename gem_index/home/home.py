"""A home: the collections, models and word vectors of one folder."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from gem_index.collection import Collection
from gem_index.collection.exports import import_documents, read_export
from gem_index.collection.models import open_encoder, open_vectors, record_of
from gem_index.collection.results import CollectionStatus, IngestReport, ModelInfo, Problem
from gem_index.documents import Document
from gem_index.errors import (
    ConfigError,
    FingerprintMismatchError,
    GemIndexError,
    HomeBusyError,
    InputError,
    NameTakenError,
    NotIndexedError,
    UnknownNameError,
)
from gem_index.files import user_path
from gem_index.gem.combined import CombinedEncoder, Encoder
from gem_index.gem.recommended import config_for
from gem_index.gem.specification import ConfigLike, EncoderSpec, encoder_specs, make_encoder
from gem_index.home.vector_library import VectorInfo, VectorLibrary
from gem_index.index.kinds import AUTOMATIC, check_kind
from gem_index.progress import ProgressOption, counted, reporting
from gem_index.quoting import quoted, quoted_path
from gem_index.reading import DocumentReader
from gem_index.settings import load_settings
from gem_index.store.names import CollectionRepository, ModelRepository
from gem_index.store.records import CollectionRecord, ModelRecord
from gem_index.store.workspace import Workspace, check_name, has_database, is_name
from gem_index.text import check_texts
from gem_index.vectors.base import VectorSource
from gem_index.vectors.formats import KeyedVectorsLike
from gem_index.vectors.options import SourceOptions
from gem_index.vectors.registry import DEFAULT_VECTORS
from gem_index.vectors.stored import damaged_files

__all__ = ["Home"]

Result = TypeVar("Result")


class Home:
    """The folder that holds a database, word vectors and indexes.

    Parameters
    ----------
    root : str or Path, optional
        By default the environment variable ``GEM_INDEX_HOME``, else the platform's folder for application data.
    upgrade : bool
        Bring an older database up to date on opening.
    create : bool
        Make the folder where there is none.

    Raises
    ------
    InputError
        If the folder's name is empty, or there is no home in it and none is to be made.
    HomeNotWritableError
        If the folder cannot be created or written.
    DatabaseVersionError
        If a newer gem-index wrote its database.

    Examples
    --------
    >>> home = Home("~/.local/share/gem-index")  # doctest: +SKIP
    >>> faq = home.create_collection("faq", vectors="wordllama")  # doctest: +SKIP
    """

    def __init__(
        self, root: str | Path | None = None, *, upgrade: bool = True, create: bool = True
    ) -> None:
        settings = load_settings()
        named: object = root
        if named == "" or not isinstance(named, str | Path | None):
            raise InputError(f"the home is {quoted(named)}; expected the name of a folder")
        folder = user_path(root if root is not None else settings.home)
        if not create and not has_database(folder):
            raise InputError(
                f"there is no home in {quoted_path(folder)}; expected a folder that gem-index build made"
            )
        self._workspace = Workspace(folder, settings, upgrade=upgrade)
        self._library = VectorLibrary(self._workspace)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the folder's name: another process opens it again."""
        return type(self), (self.root.absolute(),)

    def __repr__(self) -> str:
        return f"Home({str(self.root)!r})"

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
        vectors: str | None = None,
        config: ConfigLike | None = None,
        prior: float | None = None,
        index: str | None = None,
        exist_ok: bool = False,
    ) -> Collection:
        """Make an empty collection.

        Parameters
        ----------
        name : str
            1 to 64 letters, digits, dots, dashes, underscores.
        vectors : str
            A registered or bundled name, a path (which is then registered under its file name), or several joined by
            ``+``; by default bundled ones.
        config : GemConfig, mapping of its fields, or name of a preset, optional
            By default the one that suits the vectors, see :func:`~gem_index.gem.recommended.recommended_config`; some of its
            fields change that one. ``{"encoders": [{"vectors": …, "config": {…}, "weight": …}, …]}``, without ``vectors``,
            for several encoders side by side (:class:`~gem_index.gem.combined.CombinedEncoder`).
        prior : float, optional
            Pseudo-sentences of background mixed into the fit. By default the configuration's where it was given one, else
            10,000: a new collection is too small to show its own common directions (docs/algorithm.md, section 7).
        index : str
            ``auto`` (by size, the default), ``flat``, ``rabitq``, ``sq8``, ``ivf``, ``hnsw``, or a FAISS factory string.
        exist_ok : bool
            Return a collection that exists, where vectors and configuration agree with it; its index stays as it is.

        Raises
        ------
        NameTakenError
            If a collection of that name exists and ``exist_ok`` is False.
        FingerprintMismatchError, ConfigError
            If it exists with other vectors, or another configuration, than those given.
        """
        with self._workspace.write_lock():
            if self._find(name) is not None:
                if not exist_ok:
                    raise NameTakenError(
                        f"the collection {name} exists already; expected a new name: "
                        "add to it with gem-index add, or drop it first"
                    )
                collection = self.collection(name)
                self._check_agreement(collection, vectors, config, prior)
                check_kind(index or AUTOMATIC, collection.encoder.dimension)
                return collection
            with self._registered(encoder_specs(vectors, config, DEFAULT_VECTORS)) as specs:
                return self._create(name, specs, prior, index)

    def _create(
        self, name: str, specs: Sequence[EncoderSpec], prior: float | None, index: str | None
    ) -> Collection:
        check_name("collection", name)
        with self._workspace.database.writing() as connection:
            encoder = make_encoder(
                specs,
                lambda spec: open_vectors(self._workspace, spec, connection),
                lambda config: config.for_collection(prior),
            )
            check_kind(index or AUTOMATIC, encoder.dimension)
            model = record_of(encoder, [spec.vectors for spec in specs])
            model_id = ModelRepository(connection).add(model)
            CollectionRepository(connection).add(name, model_id, index or AUTOMATIC)
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

    def __contains__(self, name: object) -> bool:
        """Tell whether there is a collection of that name."""
        return is_name(name) and self._find(str(name)) is not None

    def collections(self) -> list[CollectionStatus]:
        """Return the status of every collection, by name."""
        return self._of_each(Collection.status)

    def _of_each(self, question: Callable[[Collection], Result]) -> list[Result]:
        """Ask every collection; one that is dropped meanwhile is left out."""
        with self._workspace.database.reading() as connection:
            records = CollectionRepository(connection).all()
        answers = []
        for record in records:
            try:
                answers.append(question(Collection(self._workspace, record)))
            except UnknownNameError as error:
                if error.kind != "collection":
                    raise
        return answers

    def build(
        self,
        name: str,
        documents: Iterable[Document],
        *,
        vectors: str | None = None,
        config: ConfigLike | None = None,
        prior: float | None = None,
        index: str | None = None,
        progress: ProgressOption = None,
    ) -> IngestReport:
        """Make a collection of documents, fitted on them; an existing one takes them in and is fitted again.

        When it raises, a new collection is removed and an existing one unchanged. The exception is :class:`NotIndexedError`:
        the documents are stored.

        Parameters
        ----------
        name, vectors, config, prior, index
            As for :meth:`create_collection`. For an existing collection vectors and configuration have to agree with its
            own where they are given; another index kind is taken from now on.
        documents : iterable of Document
            Read once. The choices of a :class:`~gem_index.reading.DocumentReader` are kept for what is added later
            (:attr:`Collection.reading`).
        progress : bool or callable, optional
            True for a bar on standard error; a function is called with stage, done and total.

        Raises
        ------
        FingerprintMismatchError
            If the existing collection has other vectors.
        ConfigError
            If the existing collection has another configuration.
        NotIndexedError
            If the documents are stored and searched, but fitting or indexing them failed; :meth:`Collection.refit` does
            what is missing.
        """
        check_texts(documents, "documents")
        reading = documents.choices if isinstance(documents, DocumentReader) else None
        with self._workspace.write_lock(), reporting(progress, "store") as show:
            new = self._find(name) is None
            before = {source.name for source in self._library.records()}
            documents = counted(documents, "store", show)
            if new:
                report = self._build_new(name, documents, vectors, config, prior, index)
            else:
                old = self.collection(name)
                self._check_agreement(old, vectors, config, prior)
                check_kind(index or AUTOMATIC, old.encoder.dimension)
                report = old.store(documents)
            if reading is not None:
                self.collection(name).read_as(reading)
            try:
                with _stored(name, report.documents, f"gem-index refit {name}"):
                    collection = self.collection(name)
                    changed = not new and index is not None and collection.use_index(index)
                    if changed or collection.changed_since_fit():
                        collection.refit(show)
                    return replace(report, fingerprint=collection.status().fingerprint)
            except NotIndexedError as error:
                if new and isinstance(error.__cause__, InputError):
                    # these texts cannot be fitted, so that no later refit would help: the user has to give others
                    self.drop(name)
                    for source in self._library.records():
                        if source.name not in before:
                            self._library.remove(source.name)
                    raise error.__cause__ from None
                raise

    def _build_new(
        self,
        name: str,
        documents: Iterable[Document],
        vectors: str | None,
        config: ConfigLike | None,
        prior: float | None,
        index: str | None,
    ) -> IngestReport:
        with self._registered(encoder_specs(vectors, config, DEFAULT_VECTORS)) as specs:
            collection = self._create(name, specs, prior, index)
            try:
                return collection.store(documents)
            except BaseException:
                self.drop(name)
                raise

    @contextmanager
    def _registered(self, specs: Sequence[EncoderSpec]) -> Iterator[list[EncoderSpec]]:
        """Register the paths among the vectors of some encoders; forgotten again where the body raises."""
        with ExitStack() as stack:
            yield [
                replace(spec, vectors=stack.enter_context(self._library.registered(spec.vectors)))
                for spec in specs
            ]

    def _check_agreement(
        self,
        collection: Collection,
        vectors: str | None,
        config: ConfigLike | None,
        prior: float | None,
    ) -> None:
        owner = f"the collection {collection.name}"
        own = collection.encoder
        several = isinstance(config, Mapping) and "encoders" in config
        specs = encoder_specs(vectors, config, DEFAULT_VECTORS)
        if vectors is not None or several:
            for encoder, spec in zip(own.encoders, specs, strict=False):
                found = self.open_vectors(spec.vectors).fingerprint
                if found != encoder.vectors.fingerprint:
                    raise FingerprintMismatchError(
                        owner,
                        encoder.vectors.fingerprint,
                        found,
                        f"leave out the vectors, or build a new collection with {quoted(spec.vectors)}",
                    )
        weights = own.weights if isinstance(own, CombinedEncoder) else (1.0,)
        if (vectors is not None or several) and weights != tuple(spec.weight for spec in specs):
            raise ConfigError(
                f"{owner} has {len(weights)} encoders of the weights {list(weights)}, found {len(specs)} of the weights "
                f"{[spec.weight for spec in specs]}; expected the same: leave them out, or build a new collection"
            )
        given = [spec.config for spec in specs] if several else [config] * len(weights)
        for encoder, asked in zip(own.encoders, given, strict=True):
            wanted = encoder.config if asked is None else config_for(encoder.vectors, asked)
            if prior is not None or not wanted.prior_chosen:
                wanted = replace(wanted, prior=encoder.config.prior if prior is None else prior)
            if wanted != encoder.config:
                raise ConfigError(
                    f"{owner} has the configuration {encoder.config.to_json()}, found {wanted.to_json()}; "
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

    def compact(self, name: str | None = None, progress: ProgressOption = None) -> None:
        """Drop what was deleted for good: from the indexes of one or all collections, and from the database.

        Afterwards no file of the home holds a byte of a deleted text.

        Raises
        ------
        HomeBusyError
            If readers keep the database's old state for too long; run it again.
        """
        with self._workspace.write_lock(), reporting(progress, "encode") as show:
            names = [name] if name is not None else [s.name for s in self.collections()]
            for each in names:
                self.collection(each).compact(show)
            self._workspace.database.vacuum()

    def import_collection(
        self, path: str | Path, name: str | None = None, progress: ProgressOption = None
    ) -> Collection:
        """Make a collection of an exported file, as it was: documents in order, model bit for bit.

        Parameters
        ----------
        path : str or Path
        name : str, optional
            By default the exported collection's.

        Raises
        ------
        NameTakenError
            If a collection of that name exists.
        FingerprintMismatchError
            If this home's word vectors of the model's name are others.
        InputError
            If the file is no export; nothing is kept.
        NotIndexedError
            If the documents are stored and searched, but indexing them failed.
        """
        export = read_export(user_path(path))
        name = check_name("collection", name or export.name)
        with self._workspace.write_lock():
            if self._find(name) is not None:
                raise NameTakenError(
                    f"the collection {name} exists already; expected a new name: gem-index import FILE NAME"
                )
            documents = import_documents(self._workspace, export, name)
            with _stored(name, documents, f"gem-index compact {name}"):
                collection = self.collection(name)
                collection.compact(progress)
        return collection

    def backup(self, target: str | Path, progress: ProgressOption = None) -> None:
        """Copy the home, while it is in use, to a new folder that is a home itself.

        Writers wait, readers do not.

        Raises
        ------
        InputError
            If the folder exists or cannot be written.
        """
        with self._workspace.write_lock(), reporting(progress, "backup") as show:
            self._workspace.copy_to(user_path(target), show)

    def verify(self, name: str | None = None, fix: bool = False) -> list[Problem]:
        """Check one collection, or the database, all word vectors and all collections.

        Returns
        -------
        list of Problem
            Empty when all is well. What a killed process left behind is removed and reported as fixed.
        """
        if name is not None:
            return self._leftovers() + self.collection(name).verify(fix)
        problems = [
            Problem("database", line, False)
            for line in self._workspace.database.integrity_problems()
        ]
        for source in self._library.records():
            folder = self._workspace.vectors_folder / source.location
            damaged = damaged_files(folder)
            if damaged and source not in self._library.records():
                continue  # removed meanwhile
            problems += [
                Problem(
                    "vectors",
                    f"{source.name}: {file} is not what was written; add it again from {source.origin}",
                    False,
                )
                for file in damaged
            ]
        problems += self._leftovers()
        return problems + [
            problem
            for of_one in self._of_each(lambda collection: collection.verify(fix))
            for problem in of_one
        ]

    def _leftovers(self) -> list[Problem]:
        """Remove what a killed process left; while somebody writes, that is left to them."""
        if self._workspace.database.read_only:
            return []
        try:
            with self._workspace.write_lock(timeout=0):
                removed = self._workspace.sweep()
        except HomeBusyError:
            return []
        return [
            Problem("leftover", f"{path.relative_to(self.root)} belonged to nothing", True)
            for path in removed
        ]

    def _find(self, name: str) -> CollectionRecord | None:
        if not is_name(name):
            return None  # also what no database takes, such as bytes that are not UTF-8
        with self._workspace.database.reading() as connection:
            return CollectionRepository(connection).find(name)

    # ------------------------------------------------------------------ models

    def fit_model(
        self,
        name: str,
        corpus: Iterable[str],
        *,
        vectors: str | None = None,
        config: ConfigLike | None = None,
        overwrite: bool = False,
    ) -> Encoder:
        """Fit an encoder on a corpus and keep it under a name.

        Parameters
        ----------
        name : str
            1 to 64 letters, digits, dots, dashes, underscores.
        corpus : iterable of str
            Read once.
        vectors : str
            As for :meth:`create_collection`.
        config : GemConfig, optional
            By default the one that suits the vectors, see :func:`~gem_index.gem.recommended.recommended_config`.
        overwrite : bool
            Put it in the place of a model of that name.

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
                    f"the model {name} exists already; expected a new name, or that it is to be overwritten"
                )
            with self._registered(encoder_specs(vectors, config, DEFAULT_VECTORS)) as specs:
                encoder = make_encoder(specs, self.open_vectors).fit(corpus)
                with self._workspace.database.writing() as connection:
                    models = ModelRepository(connection)
                    if old is not None and old.id is not None:
                        models.remove(old.id)
                    models.add(record_of(encoder, [spec.vectors for spec in specs], name))
        return encoder

    def model(self, name: str) -> Encoder:
        """Return the encoder of that name.

        Raises
        ------
        UnknownNameError
            If there is none; near names are suggested.
        """
        models = self._models()
        if name not in models:
            raise UnknownNameError("model", name, models, "fit one with: gem-index fit NAME FILE")
        return open_encoder(self._workspace, models[name])

    def models(self) -> list[ModelInfo]:
        """Return the named models, by name."""
        return [
            ModelInfo(
                name=name,
                fingerprint=model.fingerprint,
                vectors=model.vectors,
                sentences=model.sentences,
                dimension=model.dimension,
                config=_config_of(model),
            )
            for name, model in self._models().items()
        ]

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
        return open_vectors(self._workspace, spec)

    def vectors(self) -> list[VectorInfo]:
        """Return the bundled and the registered word vectors."""
        return self._library.all()

    def describe_vectors(self, name: str) -> VectorInfo:
        """Return what is known of bundled or registered word vectors.

        Raises
        ------
        UnknownNameError
            If there are none of that name; near names are suggested.
        """
        return self._library.describe(name)

    def add_vectors(
        self,
        name: str,
        source: str | Path | KeyedVectorsLike | None = None,
        *,
        options: SourceOptions | None = None,
        format: str | None = None,
        mirror: str | None = None,
        origin: str | None = None,
        licence: str | None = None,
        progress: ProgressOption = None,
    ) -> VectorInfo:
        """Copy word vectors into the home under a name; see :meth:`VectorLibrary.add`."""
        with reporting(progress, "words") as show:
            return self._library.add(
                name,
                source,
                options=options,
                format=format,
                mirror=mirror,
                origin=origin,
                licence=licence,
                progress=show,
            )

    def fit_vocabulary(
        self,
        name: str,
        texts: Iterable[str],
        *,
        vectors: str = DEFAULT_VECTORS,
        frequent: int = 0,
        options: SourceOptions | None = None,
        progress: ProgressOption = None,
    ) -> VectorInfo:
        """Cut vectors down to a corpus' words and their most frequent ones; see :meth:`VectorLibrary.fit_vocabulary`."""
        with reporting(progress, "words") as show:
            return self._library.fit_vocabulary(
                name, texts, vectors=vectors, frequent=frequent, options=options, progress=show
            )

    def export_vectors(self, name: str, path: str | Path, format: str | None = None) -> int:
        """Write registered or bundled vectors to a file or folder; see :meth:`VectorLibrary.export`."""
        return self._library.export(name, user_path(path), format)

    def remove_vectors(self, name: str) -> None:
        """Remove registered word vectors that no model uses; see :meth:`VectorLibrary.remove`."""
        self._library.remove(name)


def _config_of(model: ModelRecord) -> dict[str, Any]:
    """Return a model's configuration, of several encoders with their vectors and weights."""
    if not model.parts:
        config: dict[str, Any] = json.loads(model.config)
        return config
    return {
        "encoders": [
            {"vectors": part.vectors, "config": json.loads(part.config), "weight": part.weight}
            for part in model.parts
        ]
    }


@contextmanager
def _stored(name: str, documents: int, advice: str) -> Iterator[None]:
    """Say of whatever the body raises that the documents are stored, and what to run."""
    try:
        yield
    except (GemIndexError, OSError, MemoryError) as error:
        raise NotIndexedError(name, documents, error, advice) from error
    except BaseException as error:
        error.add_note(str(NotIndexedError(name, documents, error, advice)))
        raise
