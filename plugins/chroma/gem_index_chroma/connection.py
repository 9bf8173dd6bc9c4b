"""A connection to Chroma, embedded or a server, and its errors in one line."""

from __future__ import annotations

import base64
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import chromadb
import httpx
from chromadb.api.client import Client
from chromadb.config import DEFAULT_DATABASE, DEFAULT_TENANT
from chromadb.errors import ChromaError

from gem_index.errors import ConfigError, GemIndexError, TargetUnavailableError
from gem_index.targets import FOLDER_ADVICE, ClientErrors, TargetUrl, local_path

__all__ = ["Connection"]

_PORT = 8000  # of Chroma's own server
_TIMEOUT = httpx.Timeout(120, connect=10)
_DATABASE = "chroma.sqlite3"
_ERRORS = (ChromaError, httpx.HTTPError, ValueError, RuntimeError, OSError, sqlite3.Error)
"""The errors of Chroma for a folder or a server."""
_ADVICE = (
    *FOLDER_ADVICE,
    ("not a database", "name another folder"),
    ("malformed", "name another folder, or repair it with Chroma's own tools"),
    ("Tenant", "create it with Chroma's AdminClient, or name another one"),
    ("Database", "create it with Chroma's AdminClient, or name another one"),
    ("Collection", "run it again, as another push has replaced the collection"),
)


class Connection:
    """A client of Chroma, opened when it is first needed.

    The client has Chroma's default settings: clients of one folder in one process share an engine, and Chroma refuses a
    client whose settings differ from those of the first. Telemetry needs no setting, as Chroma 1.5.4 and later send none.

    Parameters
    ----------
    url : TargetUrl

    Raises
    ------
    ConfigError
        If the folder's parent does not exist, or a credential cannot be sent.
    """

    def __init__(self, url: TargetUrl) -> None:
        self.name = str(url)
        self._tenant = url.options.get("tenant") or DEFAULT_TENANT
        self._database = url.options.get("database") or DEFAULT_DATABASE
        self._client: Client | None = None
        self._folder: Path | None = None
        self._server = ""
        self._headers: dict[str, str] = {}
        secrets: list[str] = []
        if url.host:
            scheme = url.scheme.partition("+")[2]
            port = "" if scheme == "https" or _has_port(url.host) else f":{_PORT}"
            self._server = f"{scheme}://{url.host}{port}{url.path.rstrip('/')}"
            secrets = self._read_secrets(url)
        else:
            self._folder = local_path(url, "chroma:///FOLDER?collection=NAME")
        self._errors = ClientErrors(
            f"the target {url}",
            "a Chroma server" if url.host else "a folder that Chroma can read and write",
            _ADVICE,
            otherwise="check the URL",
            secrets=secrets,
        )

    def _read_secrets(self, url: TargetUrl) -> list[str]:
        """Put the credentials into the headers of requests, and return the secrets that messages must not show."""
        key, user, password = url.header_secret("key"), url.secret("user"), url.secret("password")
        basic = base64.b64encode(f"{user}:{password}".encode()).decode()
        if key:
            self._headers["x-chroma-token"] = key
        if user or password:
            self._headers["Authorization"] = f"Basic {basic}"
        return [basic, key, password]

    @property
    def exists(self) -> bool:
        """Whether there is a database; a folder without one is not opened, because that would create it."""
        return self._folder is None or (self._folder / _DATABASE).exists()

    def client(self) -> Client:
        """Return the client; a missing database is created.

        Raises
        ------
        ConfigError
            If the folder cannot be opened, the server is not Chroma or refuses the credentials, or the tenant or the
            database does not exist.
        TargetUnavailableError
            If the server cannot be reached.
        """
        if self._client is None:
            with self.errors():
                self._client = self._open()
        return self._client

    def close(self) -> None:
        """Close the client; Chroma closes a folder with its last client in this process."""
        if self._client is None:
            return
        session = _session(self._client)
        self._client.close()
        if session is not None:
            session.close()
        self._client = None

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Turn the errors of Chroma and of the network into those of gem-index."""
        try:
            yield
        except Exception as error:
            # Chroma's HTTP client raises bare Exceptions; exceptions of other types are errors in a program.
            if type(error) is not Exception and not isinstance(error, _ERRORS):
                raise
            raise self._named(error) from error

    def _open(self) -> Client:
        if self._folder is not None:
            opened = chromadb.PersistentClient(
                self._folder, tenant=self._tenant, database=self._database
            )
            return cast(Client, opened)
        # Chroma's client waits forever for a server that does not answer.
        answer = httpx.get(
            f"{self._server}/api/v2/heartbeat", headers=self._headers, timeout=_TIMEOUT
        )
        answer.raise_for_status()
        if "nanosecond heartbeat" not in answer.text:
            raise ConfigError(
                f"the target {self.name} answers, but not as Chroma does; expected a server of Chroma 1.0 or newer; "
                "check host, port and path"
            )
        opened = chromadb.HttpClient(
            self._server,
            ssl=self._server.startswith("https"),
            headers=self._headers,
            tenant=self._tenant,
            database=self._database,
        )
        client = cast(Client, opened)
        session = _session(client)
        if session is not None:
            session.timeout = _TIMEOUT
        return client

    def _named(self, error: Exception) -> GemIndexError:
        causes, reason = list(_causes(error)), self._errors.reason(error)
        status = next((code for cause in causes if (code := _status(cause))), 0)
        if status in (401, 403):
            return ConfigError(
                f"the target {self.name} refused the credentials (status {status}); expected valid ones: set ?key_file=, "
                "GEM_INDEX_TARGET_KEY, or a user and a password"
            )
        away = any(isinstance(cause, httpx.TransportError) for cause in causes)
        if (
            away
            or "database is locked" in reason
            or (self._server and status in (429, *range(500, 600)))
        ):
            return TargetUnavailableError(self.name, reason)
        return self._errors.refusal(error)


def _has_port(host: str) -> bool:
    return host.rpartition("]")[2].count(":") > 0


def _session(client: Client) -> httpx.Client | None:
    """Return the HTTP client inside a client of a server; Chroma has no setting for it."""
    session = getattr(getattr(client, "_server", None), "_session", None)
    return session if isinstance(session, httpx.Client) else None


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """Iterate over an error and its causes: Chroma wraps some errors in a ValueError."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _status(error: BaseException) -> int:
    """Return the HTTP status of an error; 0 if it has none."""
    if isinstance(error, httpx.HTTPStatusError):
        return error.response.status_code
    # Chroma has a status for errors of the embedded engine, too.
    return int(error.code()) if isinstance(error, ChromaError) else 0
