"""SQLite through SQLAlchemy: pragmas, transactions, and bringing the schema up to date."""

from __future__ import annotations

import errno
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any
from weakref import WeakSet

import filelock  # noqa: F401 - it waits before a fork too, and after our gate: what is registered last is first
from sqlalchemy import URL, Connection, Engine, create_engine, event, text
from sqlalchemy.exc import DatabaseError
from sqlalchemy.pool import NullPool

from gem_index.errors import (
    CommitError,
    CorruptionError,
    DatabaseVersionError,
    DiskError,
    GemIndexError,
    HomeBusyError,
    HomeNotWritableError,
)
from gem_index.forking import ForkGate
from gem_index.store.schema import HEAD_REVISION

__all__ = ["FORK_GATE", "Database"]

_CACHE_KIB = 64 * 1024
_OPEN: WeakSet[Database] = WeakSet()


class Database:
    """The one database file of a home.

    Parameters
    ----------
    path : Path
        The SQLite file; created with its schema where it is missing. Where it cannot be written it is opened for reading.
    busy_timeout : float
        Seconds to wait for another process' transaction.
    upgrade : bool
        Bring an older schema up to date on opening; False leaves that to :meth:`upgrade`.
    synchronous : str
        SQLite's ``full`` or ``normal``.

    Raises
    ------
    DatabaseVersionError
        If a newer gem-index wrote it.
    HomeNotWritableError
        If it cannot be created or opened for writing.
    CorruptionError
        If the file is not an SQLite database, or is damaged.
    """

    def __init__(
        self,
        path: Path,
        *,
        busy_timeout: float = 60.0,
        upgrade: bool = True,
        synchronous: str = "full",
    ) -> None:
        self.path = path
        self._make_private(path)
        self.read_only = path.is_file() and not _is_writable(path)
        self._engine = (
            _reading_engine(path, busy_timeout)
            if self.read_only
            else _engine(path, busy_timeout, synchronous)
        )
        _OPEN.add(self)
        if upgrade and self.revision != HEAD_REVISION:
            self.upgrade()

    @staticmethod
    def _make_private(path: Path) -> None:
        """Make the file, readable by its owner alone; SQLite gives the files beside it the same mode."""
        with suppress(OSError):  # there, or not to be written: SQLite tells
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))

    @property
    def revision(self) -> str | None:
        """The schema's revision, None where there is none yet."""
        with self.reading() as connection:
            table = connection.execute(
                text("SELECT 1 FROM sqlite_master WHERE name = 'alembic_version'")
            )
            if table.first() is None:
                return None
            return connection.execute(text("SELECT version_num FROM alembic_version")).scalar()

    def upgrade(self) -> None:
        """Run the missing migrations, all in one transaction.

        Raises
        ------
        DatabaseVersionError
            If the database's revision is unknown to this version.
        """
        # imported here: Alembic is needed only when the schema is not the newest
        from alembic import command
        from alembic.config import Config
        from alembic.script import ScriptDirectory

        with as_file(files("gem_index_migrations")) as folder, self.writing() as connection:
            config = Config()
            config.set_main_option("script_location", str(folder).replace("%", "%%"))
            config.attributes["connection"] = connection
            known = {
                script.revision for script in ScriptDirectory.from_config(config).walk_revisions()
            }
            found = self.revision
            if found is not None and found not in known:
                raise DatabaseVersionError(
                    f"{self.path} has the schema {found}, this gem-index knows up to {HEAD_REVISION}; "
                    "expected a database of this version or older: upgrade gem-index"
                )
            command.upgrade(config, "head")

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Open a transaction that sees one state of the database, whatever others write meanwhile."""
        with self._transaction(self._engine) as connection:
            yield connection

    @contextmanager
    def reading_slowly(self) -> Iterator[Connection]:
        """Do as :meth:`reading`, for somebody who may stop in between: each use of it passes :data:`FORK_GATE` itself."""
        before = self._state()
        try:
            with FORK_GATE.passing():
                connection = self._engine.connect()
            try:
                with FORK_GATE.passing():
                    connection.begin()
                yield connection
                self._check_unchanged(before)
            finally:
                with FORK_GATE.passing():
                    connection.close()
        except DatabaseError as error:
            raise self._explained(error) from error

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Open a transaction that holds SQLite's write lock from its start; durable when it closes."""
        with self._transaction(self._engine.execution_options(writes=True)) as connection:
            yield connection

    @contextmanager
    def _transaction(self, engine: Engine) -> Iterator[Connection]:
        whole = False
        before = self._state()
        try:
            with FORK_GATE.passing(), engine.begin() as connection:
                yield connection
                whole = True
        except DatabaseError as error:
            explained = self._explained(error)
            if whole and isinstance(explained, DiskError):
                # SQLite may find the transaction in its log when it recovers; our connections must not answer without it
                self.close()
                raise CommitError(
                    f"the disk failed while {self.path} was being written ({error.orig}): whether the last step was kept "
                    "shows when the home is opened again; check it with gem-index verify"
                ) from error
            raise explained from error
        self._check_unchanged(before)

    def _check_unchanged(self, before: tuple[int, int] | None) -> None:
        if before is not None and before != self._written():
            raise HomeBusyError(f"{self.path} was written while it was read; try again")

    def _state(self) -> tuple[int, int] | None:
        """Return how the file is before it is read without locks; None where there are locks."""
        if not self.read_only or _has_shared_memory(self.path):
            return None
        return self._written()

    def _written(self) -> tuple[int, int]:
        found = self.path.stat()
        return found.st_mtime_ns, found.st_size

    def _explained(self, error: DatabaseError) -> GemIndexError:
        code = getattr(error.orig, "sqlite_errorcode", 0) & 0xFF
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return HomeBusyError(f"{self.path} is being written by another process; try again")
        if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
            return HomeNotWritableError(
                f"cannot write {self.path}; expected a writable home: choose another with GEM_INDEX_HOME"
            )
        if code == sqlite3.SQLITE_FULL or code == sqlite3.SQLITE_IOERR:
            kind = DiskError if code == sqlite3.SQLITE_IOERR else GemIndexError
            return kind(
                f"writing {self.path} failed ({error.orig}); nothing of this step was kept: "
                "make room on the disk and try again"
            )
        if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            return CorruptionError(
                f"{self.path} is not a sound SQLite database ({error.orig}); restore it from a backup"
            )
        return GemIndexError(f"the database {self.path} refused: {error.orig}")

    def integrity_problems(self) -> list[str]:
        """Return what SQLite's own check finds wrong, nothing when all is well."""
        with self.reading() as connection:
            found = connection.exec_driver_sql("PRAGMA integrity_check").scalars().all()
        return [line for line in found if line != "ok"]

    def vacuum(self) -> None:
        """Rewrite the database without what was deleted, and empty its log.

        Raises
        ------
        HomeBusyError
            If others keep reading the old state for too long.
        """
        try:
            with self._engine.connect() as connection:
                plain = connection.connection.cursor()
                plain.execute("VACUUM")
                busy, _, _ = plain.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        except (DatabaseError, sqlite3.DatabaseError) as error:
            raise self._explained(
                error if isinstance(error, DatabaseError) else DatabaseError(None, None, error)
            ) from error
        if busy:
            raise HomeBusyError(
                f"readers kept {self.path} busy, and what was deleted is still in its log; run compact again"
            )

    def copy_to(self, path: Path) -> None:
        """Write the present state to another file, while others read and write.

        Raises
        ------
        OSError
            If the file cannot be written.
        """
        with (
            self._engine.connect() as connection,
            closing(sqlite3.connect(path)) as target,
        ):
            source = connection.connection.driver_connection
            assert isinstance(source, sqlite3.Connection)
            try:
                source.backup(target)
            except sqlite3.Error as error:
                raise OSError(errno.EIO, str(error), str(path)) from error

    def close(self) -> None:
        """Close the connections that no transaction is using; the next one opens others."""
        self._engine.dispose()


def _close_idle_connections() -> None:
    for database in list(_OPEN):
        database.close()


FORK_GATE = ForkGate(_close_idle_connections)
"""SQLite forbids a connection, or a lock of its library, to live on in a forked child."""


def _is_writable(path: Path) -> bool:
    """Tell whether SQLite can write a file, and its log beside it."""
    return os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)


def _log(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


def _has_shared_memory(path: Path) -> bool:
    """Tell whether somebody has a database open: its readers and writers meet in a file beside it."""
    return path.with_name(f"{path.name}-shm").is_file() and _log(path).is_file()


def _read_only_address(path: Path) -> str:
    """Return the URI of a database that cannot be written here, as it is to be opened now.

    Raises
    ------
    HomeNotWritableError
        If its log holds changes that can be read only where it can be written.
    """
    if _has_shared_memory(path):
        return f"{path.absolute().as_uri()}?mode=ro"
    if _log(path).is_file() and _log(path).stat().st_size:
        raise HomeNotWritableError(
            f"{_log(path)} holds changes that are not in the database yet, and cannot be written; expected a writable "
            "home: open it once where it can be written, or copy it"
        )
    return f"{path.absolute().as_uri()}?immutable=1"


def _reading_engine(path: Path, busy_timeout: float) -> Engine:
    """Return an engine for a database that cannot be written here, though perhaps elsewhere.

    Each transaction opens a connection of its own: how it has to be opened depends on whether somebody writes now.
    """

    def connect() -> sqlite3.Connection:
        return sqlite3.connect(
            _read_only_address(path),
            uri=True,
            timeout=busy_timeout,
            check_same_thread=False,
            isolation_level=None,
        )

    engine = create_engine("sqlite://", creator=connect, poolclass=NullPool)
    event.listen(engine, "begin", _begin)
    return engine


def _begin(connection: Connection) -> None:
    writes = connection.get_execution_options().get("writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _use_log(cursor: sqlite3.Cursor, timeout: float) -> None:
    """Switch to a write-ahead log; while another connection does, SQLite refuses at once instead of waiting."""
    deadline = time.monotonic() + timeout
    while True:
        try:
            cursor.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            busy = error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
            if not busy or time.monotonic() >= deadline:
                raise
            time.sleep(0.005)
        else:
            return


def _engine(path: Path, busy_timeout: float, synchronous: str) -> Engine:
    # a path is no part of an address: it may hold ? % #
    url = URL.create("sqlite", database=str(path.absolute()))
    # readers are as many as threads and unfinished iterations: none of them has to wait for another
    engine = create_engine(url, connect_args={"timeout": busy_timeout}, max_overflow=-1)
    event.listen(engine, "begin", _begin)

    @event.listens_for(engine, "connect")
    def _configure(connection: Any, _record: object) -> None:
        # The driver's own transactions exclude DDL; we begin ours below.
        connection.isolation_level = None
        cursor = connection.cursor()
        _use_log(cursor, busy_timeout)
        cursor.execute(f"PRAGMA synchronous = {synchronous}")
        cursor.execute("PRAGMA secure_delete = ON")  # what is deleted is overwritten
        cursor.execute("PRAGMA foreign_keys = ON")
        cursor.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
        cursor.close()

    return engine
