"""A home: the collections, models and word vectors of one folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gem_index.collection.results import Problem
from gem_index.common.settings import load_settings
from gem_index.errors import (
    Action,
    Advice,
    HomeBusyError,
    InputError,
)
from gem_index.errors.quoting import quoted, quoted_path
from gem_index.files.inputs import user_path
from gem_index.home.collections import HomeCollections
from gem_index.home.key_library import KeyLibrary
from gem_index.home.model_library import ModelLibrary
from gem_index.progress import ProgressOption, reporting
from gem_index.store.schema import HEAD_REVISION
from gem_index.store.workspace import Workspace, has_database

__all__ = ["Home"]


class Home(HomeCollections):
    """The folder with the database, the word vectors and the collections.

    Parameters
    ----------
    root : str or Path, optional
        The folder. Default: the environment variable ``GEM_INDEX_HOME``, else the platform's folder for application
        data.
    upgrade : bool
        Upgrade an older database when it is opened.
    create : bool
        Make the folder if it does not exist.

    Raises
    ------
    InputError
        If the folder's name is empty, or if the folder is not a home and ``create`` is False.
    HomeNotWritableError
        If the folder cannot be created or written.
    DatabaseVersionError
        If a newer gem-index wrote the database, or if the database needs an upgrade and ``upgrade`` is False.

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
        super().__init__(Workspace(folder, settings, upgrade=upgrade))
        self._models = ModelLibrary(self.workspace, self._vectors)
        self._keys = KeyLibrary(self.workspace)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle only the name of the folder; another process opens the home again."""
        return type(self), (self.root.absolute(),)

    def __repr__(self) -> str:
        return f"Home({str(self.root)!r})"

    @property
    def root(self) -> Path:
        """The folder of the home."""
        return self.workspace.root

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

    @property
    def newest_revision(self) -> str:
        """The newest revision of the schema that this version knows."""
        return HEAD_REVISION

    def upgrade_database(self) -> None:
        """Run the missing migrations."""
        with self.workspace.write_lock():
            self.workspace.database.upgrade()

    @property
    def replaced(self) -> bool:
        """Whether the folder was removed or replaced after it was opened. If so, processes that use it must restart."""
        return self.workspace.database.replaced

    def compact(self, name: str | None = None, progress: ProgressOption = None) -> None:
        """Erase deleted documents from the database, and from the index of one collection or of all collections.

        After a compaction of all collections, no file of the home contains a byte of a deleted text.

        Raises
        ------
        HomeBusyError
            If a backup, or a reader of an old state of the database, takes too long. Then compact again.
        """
        with (
            self.workspace.sweep_lock(),
            self.workspace.write_lock(),
            reporting(progress, "encode") as show,
        ):
            names = [name] if name is not None else [s.name for s in self.collections()]
            for each in names:
                self.collection(each).compact(show)
            self.workspace.database.vacuum()

    def backup(self, target: str | Path, progress: ProgressOption = None) -> None:
        """Copy the home to a new folder that can be used as a home; the original may be in use.

        The copy has the state of the home at the moment when the backup begins.

        Raises
        ------
        InputError
            If the folder exists or cannot be written.
        HomeBusyError
            If another backup or a compaction runs for too long.
        """
        with self.workspace.sweep_lock(), reporting(progress, "backup") as show:
            self.workspace.copy_to(user_path(target), show)

    def verify(
        self, name: str | None = None, fix: bool = False, progress: ProgressOption = None
    ) -> list[Problem]:
        """Check one collection; without a name, check the database, all word vectors and all collections.

        If ``progress`` is True, a bar for each collection is shown on standard error. If it is a function, the function is
        called for each collection with stage, done and total.

        Returns
        -------
        list of Problem
            The problems that were found. Folders that a killed process left are removed, and reported as fixed problems.
        """
        if name is not None:
            return self._leftovers() + self.collection(name).verify(fix, progress)
        problems = [
            Problem("database", line, False)
            for line in self.workspace.database.integrity_problems()
        ]
        problems += self.vectors.verify()
        problems += self._leftovers()
        return problems + [
            problem
            for of_one in self._of_each(lambda collection: collection.verify(fix, progress))
            for problem in of_one
        ]

    def _leftovers(self) -> list[Problem]:
        """Remove folders that a killed process left; if another process is writing now, that process removes them."""
        if self.workspace.database.read_only:
            return []
        try:
            with self.workspace.write_lock(timeout=0):
                removed = self.workspace.sweep()
        except HomeBusyError:
            return []
        return [
            Problem(
                "leftover",
                f"{path.relative_to(self.root)} is named by no row of the database",
                True,
            )
            for path in removed
        ]
