"""Make, build, open, list, drop and import the collections of a home."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from gem_index.collection import Collection
from gem_index.collection.changes import Documents
from gem_index.collection.results import CollectionStatus, UpsertReport
from gem_index.collection.state.access import CollectionAccess
from gem_index.errors import (
    Action,
    Advice,
    NameTakenError,
    UnknownNameError,
)
from gem_index.files.inputs import user_path
from gem_index.gem.specification import ConfigLike
from gem_index.home.vector_library import VectorLibrary
from gem_index.progress import ProgressOption, reporting
from gem_index.store.names import CollectionRepository
from gem_index.store.records import CollectionRecord
from gem_index.store.workspace import Workspace, check_name, is_name
from gem_index.text.chunking import Chunking

if TYPE_CHECKING:
    from gem_index.collection.push.searching import SearchedTarget
    from gem_index.collection.write.choice import CollectionChoice
    from gem_index.home.collection_group import CollectionGroup

__all__ = ["HomeCollections"]

Result = TypeVar("Result")


class HomeCollections:
    """The collections of a :class:`~gem_index.Home`.

    Parameters
    ----------
    workspace : Workspace
        The home's folder and database. Only other packages of gem-index may use this object; it is not part of the
        stable interface.
    """

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self._vectors = VectorLibrary(workspace)

    @property
    def vectors(self) -> VectorLibrary:
        """The word vectors of the home: ``home.vectors.add(...)``, ``list``, ``open``, …; see :class:`VectorLibrary`."""
        return self._vectors

    def target(self, url: str) -> SearchedTarget:
        """Open a table of a vector database to search it; ``push`` or ``embed`` must have filled the table.

        A search reads from the home only the word vectors of the table's model.

        Parameters
        ----------
        url : str
            As for :meth:`gem_index.Collection.push`.

        Raises
        ------
        ConfigError
            If there is no table, if gem-index did not fill it, or if data that a search needs are missing or damaged.
        UnknownNameError
            If the home does not have the word vectors of the table's model.
        MissingTargetError
            If the package for the database is not installed.
        """
        from gem_index.collection.push.searching import SearchedTarget

        return SearchedTarget(self.workspace, url)

    def create_collection(
        self,
        name: str,
        *,
        vectors: str | None = None,
        config: ConfigLike | None = None,
        prior: float | None = None,
        index: str | None = None,
        chunking: Chunking | None = None,
        language: str | None = None,
    ) -> Collection:
        """Make an empty collection.

        Parameters
        ----------
        name : str
            A name of 1 to 64 letters, digits, dots, dashes and underscores.
        vectors : str
            Word vectors: a registered name, a bundled name or a path; ``+`` joins several of these. The file of a path
            is registered under its file name. Default: the bundled vectors.
        config : GemConfig, mapping of its fields, or name of a preset, optional
            Default: the recommended configuration for the vectors; see
            :func:`~gem_index.gem.recommended.recommended_config`. A mapping of some fields changes only these fields of
            the recommended configuration. For several encoders (:class:`~gem_index.gem.combined.CombinedEncoder`),
            leave out ``vectors`` and give ``{"encoders": [{"vectors": …, "config": {…}, "weight": …}, …]}``.
        prior : float, optional
            The number of pseudo-sentences (generated from frequent words) that a fit adds to the texts. Pseudo-sentences
            help if there are few texts, which do not show the directions that all texts share (docs/algorithm.md,
            section 7). Default: the prior in ``config``, else 10,000.
        index : str
            The index kind: ``auto`` (the default, which chooses by size), ``flat``, ``pq``, ``rabitq``, ``sq8``,
            ``ivf``, ``hnsw``, or a factory string of FAISS.
        chunking : Chunking, optional
            The rules that divide long texts into pieces, each with its own vector; see :class:`~gem_index.Chunking`.
        language : str
            The language of the texts, for word search: it determines how texts become terms. ``auto`` (the default) detects
            the language from the first stored documents. Other values are a code of ISO 639-1 such as ``de``, ``mul`` for
            several languages, and ``none``, which does not stem words. See
            :class:`~gem_index.text.analyzer.Analyzer`.

        Raises
        ------
        NameTakenError
            If a collection of this name exists.
        """
        from gem_index.collection.write.choice import CollectionChoice

        choice = CollectionChoice(
            vectors=vectors,
            config=config,
            prior=prior,
            index=index,
            chunking=chunking,
            language=language,
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
        language: str | None = None,
    ) -> Collection:
        """Return the collection of this name; if there is none, make an empty collection.

        Parameters
        ----------
        name, vectors, config, prior, index, chunking, language
            As for :meth:`create_collection`. If the collection exists, given vectors, configuration, chunking and
            language must agree with the collection; a given index kind is ignored.

        Raises
        ------
        FingerprintMismatchError, ConfigError
            If the collection exists with other vectors, or with another configuration, chunking or language.
        """
        from gem_index.collection.write.choice import (
            CollectionChoice,
            check_agreement,
            check_chunking,
            check_language_of,
        )

        choice = CollectionChoice(
            vectors=vectors,
            config=config,
            prior=prior,
            index=index,
            chunking=chunking,
            language=language,
        )
        with self.workspace.write_lock():
            if self._find(name) is None:
                return self._create(name, choice)
            access = self._access(name)
            check_agreement(access, choice)
            check_chunking(name, Collection(access).chunking, chunking)
            check_language_of(access, language)
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
            If there is no collection of this name; the message suggests similar names.
        """
        return Collection(self._access(name))

    def group(self, names: Sequence[str]) -> CollectionGroup:
        """Return several collections as a group, which searches them together.

        Raises
        ------
        UnknownNameError
            If a collection does not exist; InputError if no name is given.
        """
        from gem_index.home.collection_group import CollectionGroup

        return CollectionGroup([self.collection(name) for name in dict.fromkeys(names)])

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
        """Tell whether there is a collection of this name."""
        return is_name(name) and self._find(str(name)) is not None

    def collections(self) -> list[CollectionStatus]:
        """Return the status of every collection, by name."""
        return self._of_each(Collection.status)

    def _of_each(self, question: Callable[[Collection], Result]) -> list[Result]:
        """Return the results of a function for every collection, without collections that are dropped meanwhile."""
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
        clean: Sequence[str] | None = None,
        vectors: str | None = None,
        config: ConfigLike | None = None,
        prior: float | None = None,
        index: str | None = None,
        chunking: Chunking | None = None,
        language: str | None = None,
        prune: bool = False,
        progress: ProgressOption = None,
    ) -> UpsertReport:
        """Build a collection from documents and fit it on them, or update an existing collection.

        An existing collection is refitted if documents were added, changed or deleted since the last fit, or if another
        index kind, chunking or language is given. Otherwise its model does not change.

        After an error, a new collection is removed, and an existing collection is unchanged. One exception: after
        :class:`NotIndexedError`, the documents are stored.

        Parameters
        ----------
        name, vectors, config, prior, index, chunking, language
            As for :meth:`create_collection`. If the collection exists, given vectors and configuration must agree with
            the collection. A given index kind, chunking or language replaces the earlier one.
        documents, id, text, metadata, clean, prune
            As for :meth:`Collection.upsert`. The collection remembers the named fields, the cleaning and the options of a
            :class:`~gem_index.readers.DocumentReader` for later documents (:attr:`Collection.reading`).
        progress : bool or callable, optional
            True shows a bar on standard error. A function is called with stage, done and total.

        Raises
        ------
        FingerprintMismatchError
            If the existing collection has other vectors.
        ConfigError
            If the existing collection has another configuration.
        NotIndexedError
            If fitting or indexing failed, but the documents are stored and searches find them. :meth:`Collection.refit`
            repeats the fit and the indexing.
        """
        from gem_index.collection.write.building import build_again, build_new
        from gem_index.collection.write.choice import CollectionChoice
        from gem_index.collection.write.intake import Intake, reading_to_keep
        from gem_index.home.registration import register_paths
        from gem_index.readers.fields import with_title_weights

        kept = self.collection(name).reading if name in self else {}
        text = text and with_title_weights(text, kept.get("text_fields"))
        intake = Intake.of(
            documents,
            id=id,
            text=text,
            metadata=metadata,
            clean=kept.get("clean", ()) if clean is None else clean,
            prune=prune,
        )
        reading = reading_to_keep(documents, id, text, clean)
        choice = CollectionChoice(
            vectors=vectors,
            config=config,
            prior=prior,
            index=index,
            chunking=chunking,
            language=language,
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
            If there is no collection of this name.
        """
        from gem_index.collection.write.building import drop

        with self.workspace.write_lock():
            self._access(name)
            drop(self.workspace, name)

    def import_collection(
        self,
        path: str | Path,
        name: str | None = None,
        progress: ProgressOption = None,
        *,
        fit: bool = False,
    ) -> Collection:
        """Restore a collection from an export: the documents in their order, the model bit for bit.

        Parameters
        ----------
        path : str or Path
        name : str, optional
            The name of the new collection. Default: the name of the exported collection.
        progress : bool or callable, optional
            See :data:`gem_index.Progress`.
        fit : bool
            Take the documents and the configuration from the file, and fit the model on the documents here. So the home
            may have other word vectors, and the model in the file may be damaged.

        Raises
        ------
        NameTakenError
            If a collection of this name exists.
        FingerprintMismatchError
            If the home has word vectors of the same name as the model's, but with other content.
        InputError
            If the file is not an export, or was changed after its export; nothing is stored.
        NotIndexedError
            If indexing failed, but the documents are stored and searches find them.
        """
        from gem_index.collection.write.building import as_not_indexed
        from gem_index.collection.write.imports import import_documents, read_export

        export = read_export(user_path(path))
        name = check_name("collection", name or export.name)
        with self.workspace.write_lock():
            if self._find(name) is not None:
                raise NameTakenError(
                    f"the collection {name} exists already; expected a new name",
                    Advice(Action.GIVE_NAME),
                )
            documents = import_documents(self.workspace, export, name, unfitted=fit)
            fits = fit and documents > 0
            with as_not_indexed(name, documents, Action.REFIT if fits else Action.COMPACT):
                collection = self.collection(name)
                if fits:
                    collection.refit(progress)
                else:
                    collection.compact(progress)
        return collection

    def _find(self, name: str) -> CollectionRecord | None:
        if not is_name(name):
            # checked here, because SQLite raises for some strings, such as ones that are not UTF-8
            return None
        with self.workspace.database.reading() as connection:
            return CollectionRepository(connection).find(name)
