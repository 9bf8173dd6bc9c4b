"""Open a SQLite database: its connections and their settings."""

from __future__ import annotations

import os
import sqlite3
import time
from pathlib import Path
from typing import Any

import filelock  # noqa: F401 - registers its fork handler before ours: handlers run in reverse, so our gate is first
from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.pool import NullPool

from gem_index.errors import (
    HomeNotWritableError,
)

__all__ = ["has_shared_memory", "is_writable", "open_engine", "open_read_only_engine"]

_CACHE_KIB = 64 * 1024
_KEPT_OPEN = 8  # connections in the pool, each with a cache; further threads open a connection for each transaction


def is_writable(path: Path) -> bool:
    """Tell whether SQLite can write a file, and its log beside it."""
    return os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)


def _log(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


def has_shared_memory(path: Path) -> bool:
    """Tell whether a process has the database open: then there is a shared memory file beside it."""
    return path.with_name(f"{path.name}-shm").is_file() and _log(path).is_file()


def read_only_address(path: Path) -> str:
    """Return the URI for opening a database that this process cannot write.

    Raises
    ------
    HomeNotWritableError
        If the log of the database has changes; only a process that can write the database can read them.
    """
    if has_shared_memory(path):
        return f"{path.absolute().as_uri()}?mode=ro"
    if _log(path).is_file() and _log(path).stat().st_size:
        raise HomeNotWritableError(
            f"{_log(path)} has changes that are not in the database yet, and cannot be written; expected a writable home: "
            "open it "
            "once where it can be written, or copy it"
        )
    return f"{path.absolute().as_uri()}?immutable=1"


def open_read_only_engine(path: Path, busy_timeout: float) -> Engine:
    """Return an engine for a database that this process cannot write, but other processes may.

    Each transaction opens its own connection, because the URI depends on whether another process has the database open.
    """

    def connect() -> sqlite3.Connection:
        return sqlite3.connect(
            read_only_address(path),
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
    """Switch to a write-ahead log, with retries: while another connection switches, SQLite fails without waiting."""
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


def open_engine(path: Path, busy_timeout: float, synchronous: str) -> Engine:
    """Return an engine for a database that this process may write."""
    # not a URL as text: the path may contain ? % #
    url = URL.create("sqlite", database=str(path.absolute()))
    # no limit on connections: each thread and each unfinished iteration holds one, and none may wait for another
    engine = create_engine(
        url, connect_args={"timeout": busy_timeout}, pool_size=_KEPT_OPEN, max_overflow=-1
    )
    event.listen(engine, "begin", _begin)

    @event.listens_for(engine, "connect")
    def _configure(connection: Any, _record: object) -> None:
        # The driver's implicit transactions exclude DDL; _begin starts ours.
        connection.isolation_level = None
        cursor = connection.cursor()
        _use_log(cursor, busy_timeout)
        cursor.execute(f"PRAGMA synchronous = {synchronous}")
        cursor.execute("PRAGMA secure_delete = ON")  # overwrite deleted content
        cursor.execute("PRAGMA foreign_keys = ON")
        cursor.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
        cursor.close()

    return engine
