"""The rows of a SQL query as documents."""

from __future__ import annotations

import datetime
import decimal
import importlib.util
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SQLAlchemyError

from gem_index.documents import Document
from gem_index.errors import Action, Advice, ConfigError, InputError, RecordError
from gem_index.errors.quoting import quoted, quoted_error
from gem_index.readers.fields import LINE, FieldNames
from gem_index.readers.values import UNSUPPORTED, json_value

__all__ = ["PREFIX", "QueryReader"]

PREFIX = "sql:"
"""The prefix that marks the URL of a database among inputs."""

_ROWS = 1000  # fetched at once
_READ_ONLY = {
    "sqlite": "PRAGMA query_only = ON",
    "postgresql": "SET TRANSACTION READ ONLY",
    "mysql": "SET SESSION TRANSACTION READ ONLY",
    "mariadb": "SET SESSION TRANSACTION READ ONLY",
}  # a statement that is no SELECT changes nothing, whatever its database commits by itself
_PLACES = ("host", "port", "service", "unix_socket")  # parameters of a URL that name the server


@dataclass
class QueryReader:
    """The rows of a SQL query, each a document.

    Parameters
    ----------
    url : str
        Of SQLAlchemy, such as ``postgresql://user@host/db`` (also ``postgres://``) or ``sqlite:////data/faq.sqlite``; also
        after ``sql:``. PostgreSQL needs the package psycopg; other databases need the package of their dialect.
    query : str, optional
        One SELECT statement; it may be left out if the collection knows it. All its columns except those of the id and the
        text are metadata.
    id_field : str
    text_fields : sequence of str
        As for :class:`~gem_index.readers.DocumentReader`.
    since : str, optional
        A column whose value grows with every change, such as the time of the change. Only rows with the highest value so
        far, or a higher one, are read.
    on_problem : callable, optional
        Called with each bad row, which is then left out; without it the first one is raised.

    Attributes
    ----------
    skipped : int
        Number of bad rows so far.
    highest : object
        The highest value of the column ``since`` so far, None before the first.

    Raises
    ------
    ConfigError
        If the URL is malformed, or its driver is not installed.
    InputError
        While iterating: the database cannot be reached or refuses the query; RecordError if a row is bad.
    """

    url: str = field(repr=False)
    query: str | None = None
    id_field: str = "id"
    text_fields: Sequence[str] = (LINE,)
    since: str | None = None
    on_problem: Any = None
    skipped: int = field(default=0, init=False)
    highest: Any = field(default=None, init=False)

    def __post_init__(self) -> None:
        try:
            url = sa.make_url(self.url.removeprefix(PREFIX))
        except ArgumentError as error:
            raise ConfigError(
                "the URL of the database is malformed; expected one such as sql:postgresql://user@host/db or "
                "sql:sqlite:////path/file.sqlite"
            ) from error
        if (
            url.drivername == "postgres"
        ):  # libpq and many services write this scheme; SQLAlchemy does not know it
            url = url.set(drivername="postgresql")
        if url.drivername == "postgresql" and importlib.util.find_spec("psycopg") is not None:
            url = url.set(drivername="postgresql+psycopg")
        self._url = _with_absolute_path(url)
        self._fields = FieldNames(self.id_field, tuple(self.text_fields))

    @property
    def database(self) -> str:
        """The database, without user and password."""
        kind = self._url.drivername.partition("+")[0]
        shown = sa.URL.create(
            kind,
            host=self._url.host,
            port=self._url.port,
            database=self._url.database,
            query={key: value for key, value in self._url.query.items() if key in _PLACES},
        )
        return PREFIX + shown.render_as_string()

    @property
    def location(self) -> str:
        """The database and the query, by which a collection knows it."""
        return f"{self.database} {' '.join((self.query or '').split())}"

    @property
    def choices(self) -> dict[str, Any]:
        """The arguments that it was given, as JSON values."""
        return {
            "query": self.query,
            "id_field": self.id_field,
            "text_fields": list(self.text_fields),
            "since": self.since,
        }

    def adopt(self, options: Mapping[str, Any]) -> None:
        """Use the options of the last time this query was read, for options that are not given."""
        if self.query is None:
            self.query = options["query"]
            self.since = self.since or options["since"]
        if self.id_field == "id":
            self.id_field = options["id_field"]
        if tuple(self.text_fields) == (LINE,):
            self.text_fields = tuple(options["text_fields"])
        self._fields = FieldNames(self.id_field, tuple(self.text_fields))

    def __iter__(self) -> Iterator[Document]:
        return self.documents()

    def documents(self, after: Any = None) -> Iterator[Document]:
        """Iterate over the documents.

        Parameters
        ----------
        after : object, optional
            A value of the column ``since``, as ``highest`` was stored: only rows that are not below it.
        """
        statement, values = self._statement("*", after)
        with self._rows(statement, values) as rows:
            names = list(rows.keys())
            self._check_columns(names)
            place = 0
            for row in rows:
                place += 1
                try:
                    fields = self._plain_row(names, row, place)
                    document = self._fields.document(self.database, place, fields, "")
                except RecordError as problem:
                    self.skipped += 1
                    if self.on_problem is None:
                        raise
                    self.on_problem(problem)
                    continue
                if self.since is not None:
                    self._raise_highest(row[names.index(self.since)])
                yield document

    def ids(self) -> Iterator[str]:
        """Yield the ids of all rows, to find documents whose row no longer exists."""
        statement, values = self._statement(self._identifier(self.id_field), None)
        with self._rows(statement, values) as rows:
            for (identifier,) in rows:
                try:
                    yield str(json_value(identifier))
                except UNSUPPORTED:  # a bad row has no document
                    continue

    def _statement(self, columns: str, after: Any) -> tuple[str, dict[str, Any]]:
        if not (self.query or "").strip():
            raise ConfigError(
                f"there is no query for {self.database}; expected a SELECT statement",
                Advice(Action.GIVE_QUERY),
            )
        query = str(self.query).strip().rstrip(";")
        if columns == "*" and after is None:
            return query, {}
        # the line break ends a comment at the end of the query; Oracle takes no AS
        wrapped = f"SELECT {columns} FROM ({query}\n) gem_index_rows"  # noqa: S608 - the user's own query
        if after is None or self.since is None:
            return wrapped, {}
        condition = f"{self._identifier(self.since)} >= :gem_index_since"
        return f"{wrapped} WHERE {condition}", {"gem_index_since": _revived(after)}

    def _identifier(self, name: str) -> str:
        """Quote the name of a column as the database does; in MySQL what stands in double quotes is a text."""
        with self._errors():
            quoted_name = self._url.get_dialect()().identifier_preparer.quote_identifier(name)
        return str(quoted_name)

    @contextmanager
    def _rows(self, statement: str, values: dict[str, Any]) -> Iterator[sa.CursorResult[Any]]:
        # a colon in the user's query is not a parameter
        own = sa.text(
            statement.replace(":", r"\:").replace(r"\:gem_index_since", ":gem_index_since")
        )
        with self._errors():
            self._check_file()
            engine = sa.create_engine(self._url, poolclass=sa.NullPool)
            with engine.connect() as connection:
                if engine.dialect.name in _READ_ONLY:
                    connection.exec_driver_sql(_READ_ONLY[engine.dialect.name])
                options = {"stream_results": True, "yield_per": _ROWS}
                with connection.execution_options(**options).execute(own, values) as rows:
                    yield rows

    def _check_file(self) -> None:
        """Check that the file of a SQLite database exists: SQLite would create it."""
        path = _file_of(self._url)
        if path is not None and not path.is_file():
            raise InputError(
                f"{self.database} cannot be read: there is no such file; expected a database that exists"
            )

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Name the database in the errors of SQLAlchemy and of drivers."""
        try:
            yield
        except ModuleNotFoundError as error:
            raise ConfigError(
                f"{self.database} needs the package {error.name}, which is not installed; expected it: pip install "
                f"{'psycopg[binary]' if error.name == 'psycopg2' else error.name}"
            ) from error
        except NoSuchModuleError as error:
            raise ConfigError(
                f"SQLAlchemy knows no database {quoted(self._url.drivername)}; expected the name of an installed dialect"
            ) from error
        except SQLAlchemyError as error:
            reason = getattr(error, "orig", None) or error
            line = " ".join(str(reason).split("\n", 1)[0].split())
            raise InputError(
                f"{self.database} cannot be read: {line[:300]}; expected a database that answers this query"
            ) from error

    def _check_columns(self, names: Sequence[str]) -> None:
        wanted = [self.id_field, *([self.since] if self.since else [])]
        for name in wanted:
            if name not in names:
                is_id = name == self.id_field
                use = "the id" if is_id else "telling what is new"
                raise InputError(
                    f"the query has the columns {', '.join(map(quoted, names))} and none {quoted(name)} for {use}; "
                    "expected it",
                    Advice(Action.NAME_ID_COLUMN if is_id else Action.NAME_SINCE_COLUMN),
                )
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise InputError(
                f"the query has several columns {quoted(twice)}; expected different names: rename one with AS"
            )

    def _plain_row(self, names: Sequence[str], row: Any, place: int) -> dict[str, Any]:
        fields: dict[str, Any] = {}
        for name, value in zip(names, row, strict=True):
            try:
                fields[name] = json_value(value)
            except UNSUPPORTED as error:
                raise RecordError(
                    self.database,
                    place,
                    f"the column {quoted(name)} has an unsupported value ({quoted_error(error)}); "
                    "expected text, a number, a date or a list of these",
                ) from error
        return fields

    def _raise_highest(self, value: Any) -> None:
        if value is None:
            return
        value = _stored(value, str(self.since))
        try:
            if self.highest is None or _revived(value) > _revived(self.highest):
                self.highest = value
        except (TypeError, ArithmeticError) as error:
            raise InputError(
                f"the column {quoted(self.since)} holds {_shown(self.highest)} and {_shown(value)}, "
                "which cannot be compared; expected values of one type"
            ) from error


def _stored(value: Any, name: str) -> Any:
    """Return a value of a column as JSON; :func:`_revived` turns it back."""
    if isinstance(value, datetime.datetime):
        return {"datetime": value.isoformat()}
    if isinstance(value, datetime.date):
        return {"date": value.isoformat()}
    if isinstance(value, decimal.Decimal):
        return {"decimal": str(value)}
    if isinstance(value, int | float | str) and not isinstance(value, bool):
        return value
    raise ConfigError(
        f"the column {quoted(name)} holds a {type(value).__name__}; expected a number, a text or a time to go on from"
    )


_KINDS: dict[str, Callable[[str], Any]] = {
    "datetime": datetime.datetime.fromisoformat,
    "date": datetime.date.fromisoformat,
    "decimal": decimal.Decimal,
}


def _revived(value: Any) -> Any:
    if isinstance(value, dict):
        ((kind, text),) = value.items()
        return _KINDS[kind](text)
    return value


def _shown(value: Any) -> str:
    """Return a stored value for a message: times and decimal numbers as their plain text."""
    if isinstance(value, dict):
        (text,) = value.values()
        return str(text)
    return quoted(value, 40)


def _file_of(url: sa.URL) -> Path | None:
    """Return the file of a SQLite database, None for other databases and for SQLite's own ``file:`` addresses."""
    name = url.database
    if url.get_backend_name() != "sqlite" or name in (None, "", ":memory:"):
        return None
    return None if str(name).startswith("file:") else Path(str(name))


def _with_absolute_path(url: sa.URL) -> sa.URL:
    """Return the URL of a SQLite file from anywhere."""
    path = _file_of(url)
    return url if path is None else url.set(database=os.path.realpath(path))
