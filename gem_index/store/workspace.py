"""A home on the disk: its folders, database, locks and backups, and the check of names."""

from __future__ import annotations

import errno
import json
import logging
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout
from sqlalchemy import Connection

from gem_index.common.settings import DATABASE, Settings
from gem_index.errors import (
    Action,
    Advice,
    CommitError,
    ConfigError,
    GemIndexError,
    HomeBusyError,
    HomeNotWritableError,
    InputError,
)
from gem_index.errors.quoting import quoted, quoted_path
from gem_index.files.inputs import make_directory
from gem_index.files.publishing import publish_directory
from gem_index.store.database import FORK_GATE, Database
from gem_index.store.leftovers import remove_leftovers
from gem_index.store.names import CollectionRepository, WordVectorRepository

__all__ = ["Workspace", "check_name", "has_database", "is_name"]

_LOG = logging.getLogger(__name__)

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def check_name(kind: str, name: str) -> str:
    """Return a name after checking that it is valid.

    Raises
    ------
    ConfigError
        If the name is not valid. It must have 1 to 64 letters, digits, dots, dashes or underscores, and begin with a
        letter or digit.
    """
    if not is_name(name):
        raise ConfigError(
            f"the {kind} name is {quoted(name)}; expected 1 to 64 letters, digits, '.', '_' or '-', "
            "beginning with a letter or a digit"
        )
    return name


def is_name(name: object) -> bool:
    """Tell whether a value is a valid name of a collection, a model or word vectors."""
    return isinstance(name, str) and _NAME.fullmatch(name) is not None


def has_database(root: Path) -> bool:
    """Tell whether a folder is a home."""
    return (root / DATABASE).is_file()


class Workspace:
    """The folder, settings, database and locks of a home, which all parts of the home share.

    Parameters
    ----------
    root : Path
        The folder of the home. If it does not exist, it is created with mode 0700.
    settings : Settings

    Raises
    ------
    HomeNotWritableError
        If the home cannot be created.
    """

    def __init__(self, root: Path, settings: Settings, *, upgrade: bool = True) -> None:
        self.root = root
        self.settings = settings
        try:
            make_directory(root)
        except OSError as error:
            raise self._not_writable(error) from error
        self.database = Database(
            root / DATABASE,
            busy_timeout=settings.lock_timeout,
            upgrade=upgrade,
            synchronous=settings.synchronous,
        )

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the folder's path and the settings; another process opens the home again."""
        return type(self), (self.root.absolute(), self.settings)

    @property
    def vectors_folder(self) -> Path:
        """The folder of registered word vectors."""
        return self.root / "vectors"

    def collection_folder(self, collection_id: int) -> Path:
        """Return the folder of a collection's snapshots."""
        return self.root / "collections" / str(collection_id)

    @contextmanager
    def write_lock(self, *, timeout: float | None = None) -> Iterator[None]:
        """Hold the write lock of the home, which every change of files and database needs; one process at a time has it.

        When the outermost block ends, a sweep removes folders that are not named in any row of the database. The block
        has replaced or abandoned such folders, or a killed process has left them.

        Parameters
        ----------
        timeout : float, optional
            The seconds to wait for the lock. Default: the setting ``lock_timeout``.

        Raises
        ------
        HomeBusyError
            If another process holds the lock longer than ``timeout``.
        HomeNotWritableError
            If the home cannot be written.
        """
        with (
            self._lock("write.lock", timeout) as outermost,
            FORK_GATE.passing(),
            self._write_note(outermost),
            self._sweep_after(outermost),
        ):
            yield

    @contextmanager
    def sweep_lock(self, *, timeout: float | None = None) -> Iterator[None]:
        """Hold the sweep lock, which a sweep needs to remove unused folders; one process at a time can hold this lock.

        A backup also holds the sweep lock, so other processes can write meanwhile, but cannot remove files that are
        being copied. Code that needs both locks takes the sweep lock before the write lock.

        Raises
        ------
        HomeBusyError
            If another process or thread holds the lock longer than ``timeout``.
        HomeNotWritableError
            If the home cannot be written.
        """
        with self._lock("sweep.lock", timeout), FORK_GATE.passing():
            yield

    @contextmanager
    def _lock(self, name: str, timeout: float | None) -> Iterator[bool]:
        """Hold a lock; yield True in the outermost block, False if this thread held the lock already."""
        if self.database.read_only:
            raise self._not_writable(OSError(errno.EROFS, os.strerror(errno.EROFS)))
        lock = FileLock(
            self.root / name,
            timeout=self.settings.lock_timeout,
            mode=0o600,
            is_singleton=True,
        )
        try:
            lock.acquire(timeout=timeout)
        except Timeout as error:
            waited = self.settings.lock_timeout if timeout is None else timeout
            busy = (
                f"{self._writer()} has been writing to {self.root}"
                if name == "write.lock"
                else f"a backup or a compaction of {self.root} has been running"
            )
            raise HomeBusyError(
                f"{busy} for {waited:g} s; wait for it, or raise GEM_INDEX_LOCK_TIMEOUT"
            ) from error
        except OSError as error:
            raise self._not_writable(error) from error
        try:
            yield lock.lock_counter == 1
        finally:
            lock.release()

    @contextmanager
    def _sweep_after(self, outermost: bool) -> Iterator[None]:
        """Sweep after the block; not after a failed commit, because then it is not known which rows are stored."""
        try:
            yield
        except CommitError:
            raise
        except BaseException:
            if outermost:
                self.sweep()
            raise
        if outermost:
            self.sweep()

    def sweep(self) -> list[Path]:
        """Remove the folders that are not named in any row of the database; the caller holds the write lock.

        Returns
        -------
        list of Path
            The removed folders. If folders cannot be removed now, the list is empty, and the next sweep tries again.
        """
        try:
            with self.sweep_lock(timeout=0), self.database.reading() as connection:
                return remove_leftovers(connection, self.root)
        except HomeBusyError:  # a backup is running
            return []
        except (OSError, GemIndexError) as error:
            _LOG.warning("leftovers of a killed process cannot be removed now: %s", error)
            return []

    @contextmanager
    def _write_note(self, outermost: bool) -> Iterator[None]:
        """Write a file that tells waiting processes which process has the lock."""
        note = self.root / "write.lock.json"
        if outermost:
            command = " ".join([Path(sys.argv[0]).name, *sys.argv[1:3]])
            # if the file cannot be written, waiting processes get a shorter message
            with suppress(OSError):
                # remove an old file first: if it is a link, it must not be followed
                note.unlink(missing_ok=True)
                descriptor = os.open(note, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
                with os.fdopen(descriptor, "w") as file:
                    json.dump({"process": os.getpid(), "command": command}, file)
        try:
            yield
        finally:
            if outermost:
                with suppress(OSError):
                    note.unlink(missing_ok=True)

    def _writer(self) -> str:
        """Return the name of the process that has the write lock, from the file in which it has written its name."""
        try:
            note = json.loads((self.root / "write.lock.json").read_text())
            return f"process {note['process']} ({note['command']})"
        except (OSError, ValueError, LookupError, TypeError):
            return "another process"

    def copy_to(
        self, folder: Path, progress: Callable[[str, int, int], None] | None = None
    ) -> None:
        """Copy the home to a new folder; others may read and write meanwhile. The caller holds the sweep lock.

        Parameters
        ----------
        folder : Path
            The folder to create. After an error, no incomplete folder is left.
        progress : callable, optional
            Called with stage, number of files done and total number of files.

        Raises
        ------
        InputError
            If the folder exists or cannot be written.
        """
        if folder.exists():
            raise InputError(f"{folder} exists already; expected the name of a new folder")
        if folder.resolve().is_relative_to(self.root.resolve()):
            raise InputError(
                f"{folder} lies in the home {self.root} itself; expected a folder outside of it"
            )

        def fill(new: Path) -> None:
            with self.database.reading() as connection:
                folders = self._used_folders(connection)
                self.database.copy_to(new / self.database.path.name, connection)
            files = [
                path
                for kept in folders
                for path in sorted(kept.rglob("*"))
                if path.is_file() and path.suffix != ".lock" and not path.is_symlink()
            ]
            for done, path in enumerate(files, 1):
                copy = new / path.relative_to(self.root)
                copy.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                shutil.copyfile(path, copy)
                if progress is not None:
                    progress("backup", done, len(files))

        try:
            publish_directory(folder.absolute(), fill)
        except OSError as error:
            raise InputError(
                f"cannot write {folder}: {(error.strerror or str(error)).lower()}; expected a folder with room"
            ) from error

    def _used_folders(self, connection: Connection) -> list[Path]:
        """Return the folders whose names are in rows of the database."""
        sources = WordVectorRepository(connection).all()
        folders = [self.vectors_folder / source.location for source in sources]
        folders += [
            self.collection_folder(collection.id) / collection.directory
            for collection in CollectionRepository(connection).all()
            if collection.directory is not None
        ]
        return folders

    def _not_writable(self, error: OSError) -> HomeNotWritableError:
        reason = (error.strerror or os.strerror(error.errno or 0)).lower()
        return HomeNotWritableError(
            f"cannot write to the home {quoted_path(self.root)}: {reason}; expected a writable folder",
            Advice(Action.CHOOSE_HOME),
        )
