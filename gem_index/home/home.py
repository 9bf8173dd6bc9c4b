"""A home: the collections, models and word vectors of one folder."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence, Sized
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from gem_index.advice import Action, Advice
from gem_index.collection import Collection
from gem_index.collection.access import CollectionAccess
from gem_index.collection.collection import Documents
from gem_index.collection.results import CollectionStatus, IngestReport, Problem
from gem_index.cutting import Cutting
from gem_index.errors import (
    GemIndexError,
    HomeBusyError,
    InputError,
    NameTakenError,
    NotIndexedError,
    UnknownNameError,
)
from gem_index.files import user_path
from gem_index.gem.specification import ConfigLike
from gem_index.home.key_library import KeyLibrary
from gem_index.home.model_library import ModelLibrary
from gem_index.home.vector_library import VectorLibrary
from gem_index.progress import Progress, ProgressOption, counted, reporting
from gem_index.quoting import quoted, quoted_path
from gem_index.settings import load_settings
from gem_index.store.names import CollectionRepository, ModelRepository
from gem_index.store.records import CollectionRecord
from gem_index.store.workspace import Workspace, check_name, has_database, is_name

if TYPE_CHECKING:
    from gem_index.collection.building import CollectionChoice
    from gem_index.collection.sources import Part
    from gem_index.reading import DocumentReader

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
        If the folder's name is empty, or it holds no home and ``create`` is False.
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
                f"there is no home in {quoted_path(folder)}; expected the folder of a home",
                Advice(Action.MAKE_HOME),
            )
        self._workspace = Workspace(folder, settings, upgrade=upgrade)
        self._vectors = VectorLibrary(self._workspace)
        self._models = ModelLibrary(self._workspace, self._vectors)
        self._keys = KeyLibrary(self._workspace)

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
    def vectors(self) -> VectorLibrary:
        """The word vectors: ``home.vectors.add(...)``, ``list``, ``open``, ``remove``, ...; see :class:`VectorLibrary`."""
        return self._vectors

    @property
    def keys(self) -> KeyLibrary:
        """The keys of the HTTP server: ``home.keys.add(...)``, ``list``, ``remove``; see :class:`KeyLibrary`."""
        return self._keys

    @property
    def models(self) -> ModelLibrary:
        """The named models: ``home.models.fit(...)``, ``list``, ``open``, ``remove``; see :class:`ModelLibrary`."""
        return self._models

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
        cutting: Cutting | None = None,
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
            ``auto`` (by size, the default), ``flat``, ``pq``, ``rabitq``, ``sq8``, ``ivf``, ``hnsw``, or a factory string of
            FAISS.
        cutting : Cutting, optional
            How long texts are cut into pieces, each with a vector of its own; see :class:`gem_index.reading.Cutting`.
        exist_ok : bool
            Return an existing collection if vectors, configuration and pieces agree with it; its index is not changed.

        Raises
        ------
        NameTakenError
            If a collection of that name exists and ``exist_ok`` is False.
        FingerprintMismatchError, ConfigError
            If it exists with other vectors, another configuration, or other pieces, than those given.
        """
        from gem_index.collection import building
        from gem_index.home.registration import register_paths

        choice = building.CollectionChoice(
            vectors=vectors, config=config, prior=prior, index=index, cutting=cutting
        )
        with self._workspace.write_lock():
            if self._find(name) is not None:
                if not exist_ok:
                    raise NameTakenError(
                        f"the collection {name} exists already; expected a new name",
                        Advice(Action.ADD_OR_DROP, {"collection": name}),
                    )
                access = self._access(name)
                building.check_agreement(access, choice)
                building.check_cutting(name, Collection(access).cutting, cutting)
            else:
                with register_paths(self._workspace, self.vectors, choice.specs) as specs:
                    access = building.create(self._workspace, name, specs, choice)
        return Collection(access)

    def collection(self, name: str) -> Collection:
        """Return an existing collection.

        Raises
        ------
        UnknownNameError
            If there is none of that name; near names are suggested.
        """
        return Collection(self._access(name))

    def _access(self, name: str) -> CollectionAccess:
        record = self._find(name)
        if record is None:
            raise UnknownNameError(
                "collection",
                name,
                [status.name for status in self.collections()],
                Advice(Action.MAKE_COLLECTION),
            )
        return CollectionAccess(self._workspace, record)

    def __contains__(self, name: object) -> bool:
        """Tell whether there is a collection of that name."""
        return is_name(name) and self._find(str(name)) is not None

    @property
    def replaced(self) -> bool:
        """Whether the folder was removed or replaced since it was opened: what holds it open is to be started again."""
        return self._workspace.database.replaced

    def collections(self) -> list[CollectionStatus]:
        """Return the status of every collection, by name."""
        return self._of_each(Collection.status)

    def _of_each(self, question: Callable[[Collection], Result]) -> list[Result]:
        """Ask every collection; one that is dropped in the meantime is left out."""
        with self._workspace.database.reading() as connection:
            records = CollectionRepository(connection).all()
        answers = []
        for record in records:
            try:
                answers.append(question(Collection(CollectionAccess(self._workspace, record))))
            except UnknownNameError as error:
                if error.kind != "collection":
                    raise
        return answers

    def build(
        self,
        name: str,
        documents: Documents,
        *,
        id: str | None = None,
        text: str | Sequence[str] | None = None,
        metadata: Sequence[str] | None = None,
        vectors: str | None = None,
        config: ConfigLike | None = None,
        prior: float | None = None,
        index: str | None = None,
        cutting: Cutting | None = None,
        prune: bool = False,
        progress: ProgressOption = None,
    ) -> IngestReport:
        """Build a collection from documents and fit it on them; an existing one is updated and refitted.

        On error a new collection is removed and an existing one unchanged, except after :class:`NotIndexedError`: then the
        documents are stored.

        Parameters
        ----------
        name, vectors, config, prior, index, cutting
            As for :meth:`create_collection`. For an existing collection vectors and configuration have to agree with its
            own where they are given; another index kind, or other pieces, are taken from now on.
        documents, id, text, metadata, prune
            As for :meth:`Collection.ingest`. Named fields, and the choices of a
            :class:`~gem_index.reading.DocumentReader`, are kept for what is added later (:attr:`Collection.reading`).
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
        from gem_index.collection import building
        from gem_index.collection.sources import parts_of
        from gem_index.collection.writing import upsert
        from gem_index.reading import LINE, DocumentReader, Inputs

        parts = parts_of(documents, id=id, text=text, metadata=metadata)
        choice = building.CollectionChoice(
            vectors=vectors, config=config, prior=prior, index=index, cutting=cutting
        )
        reading = None
        for reader in Inputs.of(documents):
            if isinstance(reader, DocumentReader):
                reading = reader
        if reading is None and (id is not None or text is not None):
            texts = (LINE,) if text is None else (text,) if isinstance(text, str) else tuple(text)
            reading = DocumentReader([], id_field=id, text_fields=texts)
        started = time.monotonic()
        with self._workspace.write_lock(), reporting(progress, "store") as show:
            total = len(documents) if isinstance(documents, Sized) else None
            watched = partial(counted, stage="store", progress=show, total=total)
            if self._find(name) is None:
                store = partial(upsert, parts=parts, prune=prune, watched=watched)
                report = self._build_new(name, parts, store, choice, reading, show)
            else:
                access = self._access(name)
                building.check_agreement(access, choice)
                report = upsert(access, parts, prune=prune, watched=watched)
                report = _finish(access, report, reading, choice, show)
        return replace(report, seconds=time.monotonic() - started)

    def _build_new(
        self,
        name: str,
        parts: Sequence[Part],
        store: Callable[[CollectionAccess], IngestReport],
        choice: CollectionChoice,
        reading: DocumentReader | None,
        progress: Progress | None,
    ) -> IngestReport:
        from gem_index.collection import building
        from gem_index.collection.sources import check_any
        from gem_index.home.registration import register_paths

        with register_paths(self._workspace, self.vectors, choice.specs) as specs:
            access = building.create(self._workspace, name, specs, choice)
            try:
                report = store(access)
                if not report.documents:
                    check_any(parts)
            except BaseException as error:
                self._discard(name, error)
                raise
            try:
                return _finish(access, report, reading, building.CollectionChoice(), progress)
            except NotIndexedError as error:
                if not isinstance(error.__cause__, InputError):
                    raise
                # these texts cannot be fitted, and a later refit would fail too: the user has to give others
                self.drop(name)
                raise error.__cause__ from None

    def _discard(self, name: str, error: BaseException) -> None:
        """Remove a collection after an error; a second error becomes a note on the first."""
        if not isinstance(error, Exception):
            self._workspace.database.roll_back_interrupted()
        try:
            self.drop(name)
        except GemIndexError as second:
            error.add_note(f"the collection {name} was not removed: {second}")

    def drop(self, name: str) -> None:
        """Remove a collection with its documents, model and files.

        Raises
        ------
        UnknownNameError
            If there is none of that name.
        """
        with self._workspace.write_lock():
            self._access(name)
            with self._workspace.database.writing() as connection:
                record = CollectionRepository(connection).find(name)
                assert record is not None  # under the write lock
                CollectionRepository(connection).remove(record.id)
                ModelRepository(connection).remove(record.model_id)

    def compact(self, name: str | None = None, progress: ProgressOption = None) -> None:
        """Erase deleted documents from the indexes of one or all collections and from the database.

        Afterwards no file of the home contains a byte of a deleted text.

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
        """Restore a collection from an export: documents in order, the model bit for bit.

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
            If the file is not an export; nothing is stored.
        NotIndexedError
            If the documents are stored and searched, but indexing them failed.
        """
        from gem_index.collection.building import as_not_indexed
        from gem_index.collection.exports import import_documents, read_export

        export = read_export(user_path(path))
        name = check_name("collection", name or export.name)
        with self._workspace.write_lock():
            if self._find(name) is not None:
                raise NameTakenError(
                    f"the collection {name} exists already; expected a new name",
                    Advice(Action.GIVE_NAME),
                )
            documents = import_documents(self._workspace, export, name)
            with as_not_indexed(name, documents, Action.COMPACT):
                collection = self.collection(name)
                collection.compact(progress)
        return collection

    def backup(self, target: str | Path, progress: ProgressOption = None) -> None:
        """Copy the home to a new folder, which is then a home itself; it may be in use.

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
        problems += self.vectors.verify()
        problems += self._leftovers()
        return problems + [
            problem
            for of_one in self._of_each(lambda collection: collection.verify(fix))
            for problem in of_one
        ]

    def _leftovers(self) -> list[Problem]:
        """Remove the leftovers of a killed process; a process that is writing does so itself."""
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


def _finish(
    access: CollectionAccess,
    report: IngestReport,
    reading: DocumentReader | None,
    choice: CollectionChoice,
    progress: Progress | None,
) -> IngestReport:
    """Store the reading choices, fit and index the documents; NotIndexedError if that fails."""
    from gem_index.collection import building

    with building.as_not_indexed(access.name, report.documents, Action.REFIT):
        if reading is not None:
            building.keep_reading(access, reading.choices)  # now that it has decided types
        building.bring_up_to_date(access, choice, progress)
        return replace(report, fingerprint=Collection(access).status().fingerprint)
