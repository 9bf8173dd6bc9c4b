"""A home: the collections, models and word vectors of one folder."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from gem_index.advice import Action, Advice
from gem_index.chunking import Chunking
from gem_index.collection import Collection
from gem_index.collection.collection import Documents
from gem_index.collection.results import CollectionStatus, Problem, UpsertReport
from gem_index.collection.state.access import CollectionAccess
from gem_index.errors import (
    HomeBusyError,
    InputError,
    NameTakenError,
    UnknownNameError,
)
from gem_index.files import user_path
from gem_index.gem.specification import ConfigLike
from gem_index.home.key_library import KeyLibrary
from gem_index.home.model_library import ModelLibrary
from gem_index.home.vector_library import VectorLibrary
from gem_index.progress import ProgressOption, reporting
from gem_index.quoting import quoted, quoted_path
from gem_index.settings import load_settings
from gem_index.store.names import CollectionRepository
from gem_index.store.records import CollectionRecord
from gem_index.store.workspace import Workspace, check_name, has_database, is_name

if TYPE_CHECKING:
    from gem_index.collection.write.choice import CollectionChoice
    from gem_index.readers import DocumentReader

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
        self.workspace = Workspace(folder, settings, upgrade=upgrade)
        self._vectors = VectorLibrary(self.workspace)
        self._models = ModelLibrary(self.workspace, self._vectors)
        self._keys = KeyLibrary(self.workspace)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the folder's name: another process opens it again."""
        return type(self), (self.root.absolute(),)

    def __repr__(self) -> str:
        return f"Home({str(self.root)!r})"

    @property
    def root(self) -> Path:
        """The folder."""
        return self.workspace.root

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
        return self.workspace.database.revision

    def upgrade_database(self) -> None:
        """Run the missing migrations."""
        with self.workspace.write_lock():
            self.workspace.database.upgrade()

    # ------------------------------------------------------------- collections

    def create_collection(
        self,
        name: str,
        *,
        vectors: str | None = None,
        config: ConfigLike | None = None,
        prior: float | None = None,
        index: str | None = None,
        chunking: Chunking | None = None,
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
        chunking : Chunking, optional
            How long texts are cut into pieces, each with a vector of its own; see :class:`gem_index.readers.Chunking`.

        Raises
        ------
        NameTakenError
            If a collection of that name exists.
        """
        from gem_index.collection.write.choice import CollectionChoice

        choice = CollectionChoice(
            vectors=vectors, config=config, prior=prior, index=index, chunking=chunking
        )
        with self.workspace.write_lock():
            if self._find(name) is not None:
                raise NameTakenError(
                    f"the collection {name} exists already; expected a new name",
                    Advice(Action.ADD_OR_DROP, {"collection": name}),
                )
            return self._create(name, choice)

    def get_or_create_collection(
        self,
        name: str,
        *,
        vectors: str | None = None,
        config: ConfigLike | None = None,
        prior: float | None = None,
        index: str | None = None,
        chunking: Chunking | None = None,
    ) -> Collection:
        """Return the collection of a name, or make an empty one; so the same lines can be run again.

        Parameters
        ----------
        name, vectors, config, prior, index, chunking
            As for :meth:`create_collection`. Vectors, configuration and chunking have to agree with an existing collection
            where they are given; its index is not changed.

        Raises
        ------
        FingerprintMismatchError, ConfigError
            If the collection exists with other vectors, another configuration, or other pieces, than those given.
        """
        from gem_index.collection.write.choice import (
            CollectionChoice,
            check_agreement,
            check_chunking,
        )

        choice = CollectionChoice(
            vectors=vectors, config=config, prior=prior, index=index, chunking=chunking
        )
        with self.workspace.write_lock():
            if self._find(name) is None:
                return self._create(name, choice)
            access = self._access(name)
            check_agreement(access, choice)
            check_chunking(name, Collection(access).chunking, chunking)
        return Collection(access)

    def _create(self, name: str, choice: CollectionChoice) -> Collection:
        from gem_index.collection.write.building import create
        from gem_index.home.registration import register_paths

        with register_paths(self.workspace, self.vectors, choice.specs) as specs:
            return Collection(create(self.workspace, name, specs, choice))

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
        return CollectionAccess(self.workspace, record)

    def __contains__(self, name: object) -> bool:
        """Tell whether there is a collection of that name."""
        return is_name(name) and self._find(str(name)) is not None

    @property
    def replaced(self) -> bool:
        """Whether the folder was removed or replaced since it was opened: what holds it open is to be started again."""
        return self.workspace.database.replaced

    def collections(self) -> list[CollectionStatus]:
        """Return the status of every collection, by name."""
        return self._of_each(Collection.status)

    def _of_each(self, question: Callable[[Collection], Result]) -> list[Result]:
        """Ask every collection; one that is dropped in the meantime is left out."""
        with self.workspace.database.reading() as connection:
            records = CollectionRepository(connection).all()
        answers = []
        for record in records:
            try:
                answers.append(question(Collection(CollectionAccess(self.workspace, record))))
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
        chunking: Chunking | None = None,
        prune: bool = False,
        progress: ProgressOption = None,
    ) -> UpsertReport:
        """Build a collection from documents and fit it on them; an existing one is updated and refitted.

        On error a new collection is removed and an existing one unchanged, except after :class:`NotIndexedError`: then the
        documents are stored.

        Parameters
        ----------
        name, vectors, config, prior, index, chunking
            As for :meth:`create_collection`. For an existing collection vectors and configuration have to agree with its
            own where they are given; another index kind, or other pieces, are taken from now on.
        documents, id, text, metadata, prune
            As for :meth:`Collection.upsert`. Named fields, and the choices of a
            :class:`~gem_index.readers.DocumentReader`, are kept for what is added later (:attr:`Collection.reading`).
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
        from gem_index.collection.write.building import build_again, build_new
        from gem_index.collection.write.choice import CollectionChoice
        from gem_index.collection.write.intake import Intake
        from gem_index.home.registration import register_paths

        intake = Intake.of(documents, id=id, text=text, metadata=metadata, prune=prune)
        reading = _reading_to_keep(documents, id, text)
        choice = CollectionChoice(
            vectors=vectors, config=config, prior=prior, index=index, chunking=chunking
        )
        started = time.monotonic()
        workspace = self.workspace
        with workspace.write_lock(), reporting(progress, "store") as show:
            if self._find(name) is None:
                with register_paths(workspace, self.vectors, choice.specs) as specs:
                    report = build_new(workspace, name, specs, choice, intake, reading, show)
            else:
                report = build_again(self._access(name), choice, intake, reading, show)
        return replace(report, seconds=time.monotonic() - started)

    def drop(self, name: str) -> None:
        """Remove a collection with its documents, model and files.

        Raises
        ------
        UnknownNameError
            If there is none of that name.
        """
        from gem_index.collection.write.building import drop

        with self.workspace.write_lock():
            self._access(name)
            drop(self.workspace, name)

    def compact(self, name: str | None = None, progress: ProgressOption = None) -> None:
        """Erase deleted documents from the indexes of one or all collections and from the database.

        Afterwards no file of the home contains a byte of a deleted text.

        Raises
        ------
        HomeBusyError
            If readers keep the database's old state for too long; run it again.
        """
        with self.workspace.write_lock(), reporting(progress, "encode") as show:
            names = [name] if name is not None else [s.name for s in self.collections()]
            for each in names:
                self.collection(each).compact(show)
            self.workspace.database.vacuum()

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
        from gem_index.collection.write.building import as_not_indexed
        from gem_index.collection.write.exports import import_documents, read_export

        export = read_export(user_path(path))
        name = check_name("collection", name or export.name)
        with self.workspace.write_lock():
            if self._find(name) is not None:
                raise NameTakenError(
                    f"the collection {name} exists already; expected a new name",
                    Advice(Action.GIVE_NAME),
                )
            documents = import_documents(self.workspace, export, name)
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
        with self.workspace.write_lock(), reporting(progress, "backup") as show:
            self.workspace.copy_to(user_path(target), show)

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
            for line in self.workspace.database.integrity_problems()
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
        if self.workspace.database.read_only:
            return []
        try:
            with self.workspace.write_lock(timeout=0):
                removed = self.workspace.sweep()
        except HomeBusyError:
            return []
        return [
            Problem("leftover", f"{path.relative_to(self.root)} belonged to nothing", True)
            for path in removed
        ]

    def _find(self, name: str) -> CollectionRecord | None:
        if not is_name(name):
            return None  # also what no database takes, such as bytes that are not UTF-8
        with self.workspace.database.reading() as connection:
            return CollectionRepository(connection).find(name)


def _reading_to_keep(
    documents: Documents, id: str | None, text: str | Sequence[str] | None
) -> DocumentReader | None:
    """Return the reader whose choices later files are read by: the last one given, or one with the fields named."""
    from gem_index.readers import DocumentReader
    from gem_index.readers.fields import LINE
    from gem_index.readers.inputs import Inputs

    readers = [each for each in Inputs.of(documents) if isinstance(each, DocumentReader)]
    if readers:
        return readers[-1]
    if id is None and text is None:
        return None
    texts = (LINE,) if text is None else (text,) if isinstance(text, str) else tuple(text)
    return DocumentReader([], id_field=id, text_fields=texts)
