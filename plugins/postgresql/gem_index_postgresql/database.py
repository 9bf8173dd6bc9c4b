"""A PostgreSQL database with pgvector: a connection, transactions, and the errors of the server in one line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NoReturn

import psycopg
from pgvector.psycopg import register_vector
from psycopg import pq

from gem_index.errors import ConfigError, TargetUnavailableError
from gem_index.targets import ClientErrors, SqlDatabase

__all__ = ["Database"]

_UNAVAILABLE = re.compile(
    "refused|timeout|timed out|No such file|could not translate|name resolution|Name or service|closed|starting up|"
    "shutting down|too many (clients|connections)|remaining connection slots|terminat|reset by peer|connection.* lost|"
    "unreachable|recovery mode|SSL SYSCALL",
    re.IGNORECASE | re.DOTALL,
)
_ADVICE = (
    ("password", "check user and password, or set GEM_INDEX_TARGET_PASSWORD"),
    ("role ", "check the user"),
    ("no pg_hba.conf entry", "ask the server's administrator for access"),
    ("permission denied", "ask the database's owner for this right"),
    ("read-only", "connect to the primary server"),
    ("already exists", "run it again when the other program is done"),
    ("duplicate key", "run it again when the other program is done"),
    ("does not exist", "create it, or name another"),
    ("is not available", "install pgvector on the server"),
    ("extension", "ask an administrator to run: CREATE EXTENSION vector"),
    ("other objects depend on it", "drop these views before a full push, and create them again"),
    ("No space left", "free some space"),
    ("halfvec", "use type=vector, or pgvector 0.7 or later"),
    ("dimensions", "use type=halfvec (up to 4,000 dimensions), or index=exact"),
)


class Database(SqlDatabase):
    """A connection that is opened again after the server has closed it.

    Parameters
    ----------
    url : str
        The target without secrets, for messages.
    parameters : mapping of str to str
        Options of libpq; missing ones come from its environment variables and files.

    Raises
    ------
    ConfigError
        If the server refuses user, password or database.
    TargetUnavailableError
        If no server answers.
    """

    def __init__(self, url: str, parameters: Mapping[str, str]) -> None:
        self.name = url
        self._parameters = dict(parameters)
        self._held: psycopg.Connection[tuple[Any, ...]] | None = None
        self._errors = ClientErrors(
            f"the database {url}",
            "PostgreSQL with pgvector, to read and write",
            _ADVICE,
            otherwise="check the database",
            secrets=[parameters.get("password", "")],
        )
        self.connection()

    def connection(self) -> psycopg.Connection[tuple[Any, ...]]:
        """Return the connection; a new one if the server has closed the last."""
        held = self._held
        if held is not None and not held.closed:
            return held
        try:
            held = psycopg.connect(
                **{"connect_timeout": "10", "application_name": "gem-index", **self._parameters},  # type: ignore[arg-type]
                autocommit=True,
                cursor_factory=psycopg.RawCursor,
            )
            held.server_cursor_factory = psycopg.RawServerCursor
        except psycopg.Error as error:
            self._fail(error)
        self._held = held
        return held

    def current_schema(self) -> str:
        """Return the schema in which the user's tables are created."""
        [(name,)] = self.rows("SELECT current_schema()")
        if name is None:
            raise ConfigError(
                f"found no schema in the search path of {self.name}; expected ?schema=NAME"
            )
        return str(name)

    def prepare(self) -> None:
        """Create the extension if it is missing."""
        self.rows("CREATE EXTENSION IF NOT EXISTS vector")

    def rows(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Execute a statement and return all its rows."""
        with self.errors():
            cursor = self.connection().execute(statement, list(values))
            return cursor.fetchall() if cursor.description else []

    def batches(self, statement: str, size: int = 1000) -> Iterator[list[tuple[Any, ...]]]:
        """Execute a query and iterate over its rows, all of one state of the database."""
        with (
            self.errors(),
            # WITH HOLD: other statements and transactions may come in between.
            self.connection().cursor(name="gem_documents", withhold=True) as cursor,
        ):
            cursor.execute(statement)
            while rows := cursor.fetchmany(size):
                yield rows

    def copy(self, statement: str, types: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        """Send rows by COPY in the binary format."""
        with self.errors():
            connection = self.connection()
            register_vector(connection)
            with connection.cursor() as cursor, cursor.copy(statement) as copy:
                copy.set_types(types)
                for row in rows:
                    copy.write_row(row)

    def roll_back(self) -> None:
        """Undo the open transaction, if there is one."""
        held = self._held
        if held is not None and held.info.transaction_status != pq.TransactionStatus.IDLE:
            with suppress(
                psycopg.Error
            ):  # if the connection is lost, the server rolls back the transaction
                held.execute("ROLLBACK")

    def close(self) -> None:
        """Close the connection."""
        if self._held is not None:
            self._held.close()

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Raise errors of psycopg as ours."""
        try:
            yield
        except psycopg.Error as error:
            self._fail(error)

    def _fail(self, error: psycopg.Error) -> NoReturn:
        lost = isinstance(error, psycopg.OperationalError) and _UNAVAILABLE.search(str(error))
        if lost or (self._held is not None and self._held.closed):
            raise TargetUnavailableError(self.name, self._errors.reason(error)) from error
        raise self._errors.refusal(error) from error
