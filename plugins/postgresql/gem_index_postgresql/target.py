"""A table in a PostgreSQL database as a target."""

# ruff: noqa: S608 - names are checked and quoted

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from gem_index.errors import ConfigError
from gem_index.targets import (
    SqlDatabase,
    SqlTarget,
    TargetSchema,
    TargetUrl,
    check_table_name,
    query_table_name,
)
from gem_index_postgresql.database import Database
from gem_index_postgresql.table import LARGEST, TERMS, PostgresqlTable

__all__ = ["PostgresqlTarget"]

_INDEXES = ("hnsw", "exact")
_LIBPQ = ("host", "port", "sslmode", "sslrootcert", "sslcert", "passfile", "service", "options")
"""Options of the URL that are passed to libpq unchanged."""
_EXPONENT = re.compile("[0-9][eE]")
_FIRST_WITH_SPARSE = (0, 7)
_OF_VECTORS = ("type", "index")
_NAMING = ("table", "schema", "host", "port", "service")


class PostgresqlTarget(SqlTarget[PostgresqlTable]):
    """A live table and perhaps a staged one.

    Parameters
    ----------
    url : TargetUrl
        ``postgresql://user@host/database?table=faq``; further options: ``schema``, ``type`` (``vector`` or ``halfvec``),
        ``index`` (``hnsw`` or ``exact``), and those of libpq such as ``sslmode``.

    Raises
    ------
    ConfigError
        If an option is missing or wrong, or the server refuses user, password or database.
    TargetUnavailableError
        If no server answers.
    """

    type_in_catalog = "udt_name"

    def __init__(self, url: TargetUrl) -> None:
        super().__init__(url)
        url.check_options(
            "table", "schema", "type", "index", *_LIBPQ, secrets=("user", "password", "sslkey")
        )
        self._type = _choice(url, "type", tuple(LARGEST))
        self._index = _choice(url, "index", _INDEXES)
        schema = url.options.get("schema", "")
        if schema:
            check_table_name(schema)
        host, _, port = url.host.rpartition(":") if ":" in url.host else (url.host, "", "")
        parameters = {name: url.options.get(name, "") for name in _LIBPQ} | {
            "host": host.strip("[]") or url.options.get("host", ""),
            "port": port or url.options.get("port", ""),
            "dbname": url.path.strip("/"),
            "user": url.secret("user"),
            "password": url.secret("password"),
            "sslkey": url.secret("sslkey"),
        }
        given = {name: value for name, value in parameters.items() if value}
        # The other options do not identify the table: a later push may leave them out.
        named = {key: url.options[key] for key in _NAMING if key in url.options}
        self.url = replace(url, options=named)
        # Type and index are those of the vectors.
        others = {key: value for key, value in url.options.items() if key not in _OF_VECTORS}
        self.query_table = replace(
            url, options=others | {"table": query_table_name(others["table"])}
        )
        self._database = Database(str(self.url), given)
        self._schema = schema or self._database.current_schema()
        # Unqualified names would also find tables in the other schemas of the search path.
        self.in_catalog = f"table_schema = {_literal(self._schema)} AND table_name = $1"

    def unsupported(self, metadata: Mapping[str, Any]) -> list[str]:
        """Return the fields with numbers that ``jsonb`` would give back as integers: floats from 1e16."""
        return [name for name, value in metadata.items() if _turns_into_integer(value)]

    def stores_json(self, texts: Sequence[str]) -> bool:
        """Tell whether it is certain that no float is 1e16 or larger (JSON writes these with an exponent)."""
        return _EXPONENT.search("\n".join(texts)) is None

    @property
    def word_dimensions(self) -> int:
        """Number of dimensions of a sparsevec; 0 if pgvector is older than 0.7 and has none."""
        # A dry run also asks for this, so it must not create the extension.
        versions = self._database.rows(
            "SELECT coalesce(installed_version, default_version) FROM pg_available_extensions WHERE name = 'vector'"
        )
        has_sparse = any(_release(version) >= _FIRST_WITH_SPARSE for (version,) in versions)
        return TERMS if has_sparse else 0

    def opened(self) -> Database:
        """Return the database."""
        return self._database

    def open(self) -> Database:
        """Return the database; pgvector is created in it if it is missing."""
        self._database.prepare()
        return self._database

    def table(self, database: SqlDatabase, table: str, schema: TargetSchema) -> PostgresqlTable:
        """Return the object of a table."""
        return PostgresqlTable(cast(Database, database), table, schema, self._type, self._index)

    def quoted(self, name: str) -> str:
        """Return a table's name with its schema."""
        return f'{_identifier(self._schema)}."{name}"'

    def before_switch(self, live: str, staged: str) -> None:
        """Give the staged table the grants of the live one, which is dropped."""
        for grantee, privilege, grantable in self._database.rows(
            "SELECT grantee, privilege_type, is_grantable FROM information_schema.role_table_grants "
            f"WHERE {self.in_catalog} AND grantee <> current_user",
            [live],
        ):
            name = grantee if grantee == "PUBLIC" else _identifier(grantee)
            option = " WITH GRANT OPTION" if grantable == "YES" else ""
            self._database.rows(f"GRANT {privilege} ON {self.quoted(staged)} TO {name}{option}")


def _choice(url: TargetUrl, name: str, choices: tuple[str, ...]) -> str | None:
    value = url.options.get(name)
    if value is not None and value not in choices:
        raise ConfigError(
            f"found {name}={value!r:.80} in the target {url}; expected {' or '.join(choices)}"
        )
    return value


def _release(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version))


def _identifier(name: str) -> str:
    return '"{}"'.format(name.replace('"', '""'))


def _literal(value: str) -> str:
    return "'{}'".format(value.replace("'", "''"))


def _turns_into_integer(value: Any) -> bool:
    """Tell whether a value holds a float that JSON writes with an exponent and ``jsonb`` without a fraction."""
    if isinstance(value, Mapping):
        return any(map(_turns_into_integer, value.values()))
    if isinstance(value, list):
        return any(map(_turns_into_integer, value))
    return isinstance(value, float) and abs(value) >= 1e16
