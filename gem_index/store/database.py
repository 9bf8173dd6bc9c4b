"""SQLite through SQLAlchemy: settings of connections, transactions, and upgrades of the schema."""

from __future__ import annotations

import atexit
import errno
import os
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from importlib.resources import as_file, files
from pathlib import Path
from threading import get_ident
from typing import Any
from weakref import WeakSet

import filelock  # noqa: F401 - fork handlers run in reverse: filelock's is registered before ours, so ours runs first
from sqlalchemy import Connection, Engine, event, text
from sqlalchemy.exc import DatabaseError, SQLAlchemyError

from gem_index.common.forking import ForkGate
from gem_index.errors import (
    Action,
    Advice,
    CommitError,
    CorruptionError,
    DatabaseVersionError,
    DiskError,
    GemIndexError,
    HomeBusyError,
    HomeNotWritableError,
)
from gem_index.errors.quoting import quoted_error
from gem_index.store.engine import (
    has_shared_memory,
    is_writable,
    open_engine,
    open_read_only_engine,
)
from gem_index.store.schema import HEAD_REVISION

__all__ = ["FORK_GATE", "Database"]

_OPEN: WeakSet[Database] = WeakSet()
# the driver itself raises the second error when rows are read from the driver's own cursor
_ERRORS = (DatabaseError, sqlite3.DatabaseError)
_OTHER_TABLES = re.compile(r"no such (table|column)|has no column|duplicate column|already exists")


class Database:
    """The database file of a home.

    Parameters
    ----------
    path : Path
        The SQLite file. If it is missing, it is created with its schema; if it cannot be written, it is opened read-only.
    busy_timeout : float
        The seconds to wait for a transaction of another process.
    upgrade : bool
        Whether to upgrade an older schema on opening. If False, call :meth:`upgrade` later.
    synchronous : str
        SQLite's ``full`` or ``normal``.

    Raises
    ------
    DatabaseVersionError
        If a newer gem-index wrote the file, or if the file needs an upgrade and is read-only.
    HomeNotWritableError
        If the file cannot be created or opened for writing.
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
        self._file = self._identity()
        self.read_only = path.is_file() and not is_writable(path)
        self._engine = (
            open_read_only_engine(path, busy_timeout)
            if self.read_only
            else open_engine(path, busy_timeout, synchronous)
        )
        self._in_use: dict[Any, int] = {}  # SQLite's connections, each with the thread that uses it
        event.listen(self._engine, "checkout", self._note_checkout)
        event.listen(self._engine, "checkin", self._note_checkin)
        _OPEN.add(self)
        if upgrade and self.revision != HEAD_REVISION:
            self.upgrade()

    @staticmethod
    def _make_private(path: Path) -> None:
        """Create the file, readable only by its owner; SQLite gives its log files the same mode."""
        with suppress(OSError):  # if the file cannot be created, SQLite reports this later
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))

    @property
    def replaced(self) -> bool:
        """Whether the file was removed or replaced after it was opened."""
        return self._identity() != self._file

    def _identity(self) -> tuple[int, int] | None:
        """Return numbers that identify the file at the path, and change if the file is replaced; None without a file."""
        try:
            found = self.path.stat()
        except OSError:
            return None
        return found.st_dev, found.st_ino

    @property
    def revision(self) -> str | None:
        """The revision (newest migration) of the schema; None if there is no schema yet."""
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
            If this version of gem-index does not know the database's revision, or the file cannot be written.
        """
        # imported here, because Alembic is needed only if the schema is not the newest
        from alembic import command
        from alembic.config import Config
        from alembic.script import ScriptDirectory

        with as_file(files("gem_index_migrations")) as folder:
            config = Config()
            config.set_main_option("script_location", str(folder).replace("%", "%%"))
            known = {
                script.revision for script in ScriptDirectory.from_config(config).walk_revisions()
            }
            found = self.revision
            if found is not None and found not in known:
                raise DatabaseVersionError(
                    f"{self.path} has the schema {found}, this gem-index knows up to {HEAD_REVISION}; "
                    "expected a database of this version or older: upgrade gem-index"
                )
            if found is not None and self.read_only:
                raise DatabaseVersionError(
                    f"{self.path} has the older schema {found} and cannot be written; expected the schema {HEAD_REVISION}, "
                    "or a database that can be upgraded: make the home writable once, or copy it to a writable place"
                )
            with self.writing() as connection:
                config.attributes["connection"] = connection
                try:
                    command.upgrade(config, "head")
                except DatabaseError:
                    raise
                except SQLAlchemyError as error:
                    raise self._other_tables(quoted_error(error)) from error

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Open a transaction that sees one state of the database, even while other processes write."""
        with self._transaction(self._engine) as connection:
            yield connection

    @contextmanager
    def reading_in_steps(self) -> Iterator[Connection]:
        """Open a transaction like :meth:`reading`, for a caller that may pause.

        The thread is inside FORK_GATE only while it connects, begins and closes, not during the whole block.
        """
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
        except _ERRORS as error:
            raise self._explain(error) from error

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Open a transaction that holds SQLite's write lock from the start; when it closes, the changes are durable.

        Raises
        ------
        HomeNotWritableError
            If the file was removed or replaced after it was opened. SQLite would write to a file that no other process
            can find.
        """
        if self.replaced:
            raise HomeNotWritableError(
                f"{self.path} was removed or replaced while it was open; expected the file that was opened: stop the "
                "processes that use the home, and start them again"
            )
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
        except _ERRORS as error:
            explained = self._explain(error)
            if whole and _code(error) == sqlite3.SQLITE_IOERR:
                # close: SQLite may recover this transaction from its log, but our open connections would not see it
                self.close()
                raise CommitError(
                    f"the disk failed while {self.path} was being written ({_cause(error)}): it is not known whether the "
                    "last step was stored; open the home again",
                    Advice(Action.CHECK_HOME),
                ) from error
            raise explained from error
        self._check_unchanged(before)

    def _check_unchanged(self, before: tuple[int, int] | None) -> None:
        if before is not None and before != self._time_and_size():
            raise HomeBusyError(f"{self.path} was written while it was read; try again")

    def _state(self) -> tuple[int, int] | None:
        """Return the file's time and size, for a comparison after a read without locks; None if locks protect the read."""
        if not self.read_only or has_shared_memory(self.path):
            return None
        return self._time_and_size()

    def _time_and_size(self) -> tuple[int, int]:
        found = self.path.stat()
        return found.st_mtime_ns, found.st_size

    def _explain(self, error: DatabaseError | sqlite3.DatabaseError) -> GemIndexError:
        code = _code(error)
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return HomeBusyError(f"{self.path} is being written by another process; try again")
        if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
            return HomeNotWritableError(
                f"cannot write {self.path}; expected a writable home", Advice(Action.CHOOSE_HOME)
            )
        if code == sqlite3.SQLITE_FULL or code == sqlite3.SQLITE_IOERR:
            return DiskError(
                f"writing {self.path} failed ({_cause(error)}); nothing of this step was kept: "
                "make room on the disk and try again"
            )
        if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            return CorruptionError(
                f"{self.path} is not a sound SQLite database ({_cause(error)}); restore it from a backup"
            )
        if _OTHER_TABLES.search(str(_cause(error))):
            return self._other_tables(_cause(error))
        return GemIndexError(f"the database {self.path} refused: {_cause(error)}")

    def _other_tables(self, cause: object) -> DatabaseVersionError:
        return DatabaseVersionError(
            f"{self.path} has other tables than its schema says ({cause}); expected a home of gem-index 0.1 or newer: "
            "restore a backup, or export its collections with the development version that made it and import them"
        )

    def integrity_problems(self) -> list[str]:
        """Return the problems that SQLite's integrity check finds; an empty list without problems."""
        with self.reading() as connection:
            found = connection.exec_driver_sql("PRAGMA integrity_check").scalars().all()
        return [line for line in found if line != "ok"]

    def vacuum(self) -> None:
        """Rewrite the database without deleted content, and empty the log of the database.

        Raises
        ------
        HomeBusyError
            If other transactions read the old state for too long.
        """
        try:
            with self._engine.connect() as connection:
                plain = connection.connection.cursor()
                plain.execute("VACUUM")
                busy, _, _ = plain.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        except _ERRORS as error:
            raise self._explain(error) from error
        if busy:
            raise HomeBusyError(
                f"readers kept {self.path} busy, and deleted content is still in its log; compact the home again"
            )

    def copy_to(self, path: Path, connection: Connection) -> None:
        """Copy the state of a reading transaction to another file; meanwhile, others may read and write.

        Raises
        ------
        OSError
            If the file cannot be written.
        """
        try:
            with closing(sqlite3.connect(path)) as target:
                source = connection.connection.driver_connection
                assert isinstance(source, sqlite3.Connection)
                source.backup(target)
        except sqlite3.Error as error:
            raise OSError(errno.EIO, str(error), str(path)) from error

    def _note_checkout(self, connection: Any, _record: object, _proxy: object) -> None:
        self._in_use[connection] = get_ident()

    def _note_checkin(self, connection: Any, _record: object) -> None:
        self._in_use.pop(connection, None)

    def roll_back_interrupted(self) -> None:
        """Roll back transactions of this thread that a KeyboardInterrupt left open; call this before a clean-up.

        If an interrupt comes after the last line of a transaction's block, the transaction stays open. It keeps its lock,
        and the clean-up would wait for this lock forever.
        """
        for connection, thread in list(self._in_use.items()):
            if thread == get_ident() and connection.in_transaction:
                connection.rollback()

    def close(self) -> None:
        """Close the idle connections; the next transaction opens a new connection."""
        self._engine.dispose()


def _close_idle_connections() -> None:
    for database in list(_OPEN):
        database.close()


atexit.register(_close_idle_connections)  # when the last connection closes, SQLite removes its log

FORK_GATE = ForkGate(_close_idle_connections)
"""A gate around the use of SQLite: a fork waits until no other thread is inside.

The reason: a forked process cannot use connections and locks of SQLite's library that its parent had in use.
"""


def _cause(error: DatabaseError | sqlite3.DatabaseError) -> BaseException | None:
    """Return the driver's error."""
    return error.orig if isinstance(error, DatabaseError) else error


def _code(error: DatabaseError | sqlite3.DatabaseError) -> int:
    """Return SQLite's basic code of an error, without the extended part."""
    code: int = getattr(_cause(error), "sqlite_errorcode", 0)
    return code & 0xFF
