"""A Milvus server, or a folder of milvus-lite; the errors of both in one line."""

from __future__ import annotations

import base64
import logging
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
from pymilvus import MilvusClient
from pymilvus.exceptions import MilvusException

from gem_index.errors import ConfigError, TargetUnavailableError
from gem_index.targets import FOLDER_ADVICE, ClientErrors, TargetUrl, has_database, local_path
from gem_index_milvus import files

__all__ = ["Database", "TooLargeError"]

_ADVICE = (
    ("holds the lock", "close the program that has it open, and run it again"),
    *FOLDER_ADVICE,
    ("does not exist", "run it again, as another push has replaced the collection"),
)
_AWAY = {2, 4, 5, 8}  # Milvus' codes: unavailable, too many requests, internal error, rate limit
_REFUSED = (grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED)
_WRONG = (
    grpc.StatusCode.UNIMPLEMENTED, grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.NOT_FOUND,
    grpc.StatusCode.FAILED_PRECONDITION, grpc.StatusCode.ALREADY_EXISTS, grpc.StatusCode.OUT_OF_RANGE,
)  # fmt: skip


class TooLargeError(Exception):
    """A server refused a request because of its size."""


class _Errors(ClientErrors):
    def text(self, error: BaseException) -> str:
        """Return the message of an error of Milvus, with the name of the gRPC status."""
        if isinstance(error, MilvusException):
            status = _status(error)
            return f"{error.message}{'' if status is None else f' ({status.name})'}"
        if isinstance(error, grpc.Call):
            return f"{error.details()} ({error.code().name})"
        return str(error)


class Database:
    """A client that is connected when it is first needed.

    Parameters
    ----------
    url : TargetUrl

    Raises
    ------
    ConfigError
        If the URL does not name a server or a folder, or the credentials cannot be sent.
    """

    def __init__(self, url: TargetUrl) -> None:
        self._url = url
        self._client: MilvusClient | None = None
        self._release: Callable[[], object] | None = None
        self.local = url.scheme == "milvus"
        self._name = url.option("database", "default")
        if self.local:
            url.check_options("collection", "database")
            self._path, self._timeout, self._token = _lite_path(url), 600, ""
        else:
            url.check_options(
                "collection", "database", "timeout", secrets=("key", "token", "user", "password")
            )
            _check_server(url)
            self._timeout, self._token = url.timeout(30), _token(url)
        self._errors = self._words_for_errors()

    def _words_for_errors(self) -> _Errors:
        if self.local:
            return _Errors(
                f"the folder {self._path}",
                "one of milvus-lite, to read and write",
                _ADVICE,
                otherwise="check the folder",
            )
        secrets = [self._token, *self._token.split(":", 1)[1:]]
        encoded = [base64.b64encode(secret.encode()).decode() for secret in secrets]
        return _Errors(
            f"the target {self._url}",
            "a Milvus server",
            otherwise="check the URL",
            secrets=[*secrets, *encoded],
        )

    def exists(self) -> bool:
        """Tell whether there is a database; a server always counts as one."""
        if not self.local or self._client is not None:
            return True
        with self.named_errors():
            return has_database(self._path, "collections", "milvus-lite 3 or newer")

    def folders(self, pattern: str) -> set[str]:
        """Return the names of milvus-lite's folders, also those that a killed process left behind."""
        if not self.local:
            return set()
        return {each.name for each in self._path.rglob(pattern) if each.is_dir()}

    def call(self, method: str, *arguments: Any, **options: Any) -> Any:
        """Return what a method of the client returns; errors become those of gem-index.

        Raises
        ------
        ConfigError
            If the request was refused, or the folder cannot be read or written.
        TargetUnavailableError
            If the server cannot be reached or is overloaded.
        TooLargeError
            If the server refused the request because of its size.
        """
        with self.named_errors():
            if self._client is None:
                self._client = self._connect()
            # Without a timeout, pymilvus repeats a call for minutes.
            return getattr(self._client, method)(*arguments, timeout=self._timeout, **options)

    def close(self) -> None:
        """Close the connection; another process may then open the folder."""
        if self._client is not None:
            self._client.close()
            self._client = None
        if self._release is not None:
            self._release()

    def _connect(self) -> MilvusClient:
        # dedicated: pymilvus would keep a shared connection, and the token, until the process ends.
        options: dict[str, Any] = {"dedicated": True, "timeout": self._timeout}
        options["db_name"] = self._name
        if not self.local:
            address = f"{self._url.scheme.removeprefix('milvus+')}://{self._url.host}"
            return MilvusClient(address, token=self._token, **options)
        self.exists()
        address = files.acquire(self._path)
        # Once: by close(), or when this object is collected without it.
        self._release = weakref.finalize(self, files.release, self._path)
        return MilvusClient(address, **options)

    @contextmanager
    def named_errors(self) -> Iterator[None]:
        """Turn the errors of pymilvus into those of gem-index."""
        try:
            with _quiet():
                yield
        except (MilvusException, grpc.RpcError) as error:
            raise self._of_client(error) from error
        except (OSError, ValueError) as error:
            raise self._errors.refusal(error) from error

    def _of_client(self, error: MilvusException | grpc.RpcError) -> Exception:
        status, reason = _status(error), self._errors.reason(error)
        if status in _REFUSED or "auth check failure" in reason:
            return ConfigError(
                f"found no permission at {self._url}: {reason}; expected credentials that may write; "
                "set GEM_INDEX_TARGET_TOKEN, or GEM_INDEX_TARGET_USER and GEM_INDEX_TARGET_PASSWORD"
            )
        if status is grpc.StatusCode.RESOURCE_EXHAUSTED and "larger than max" in reason:
            return TooLargeError(reason)
        if self.local:
            return self._errors.refusal(error)
        if (status is not None and status not in _WRONG) or (
            status is None and getattr(error, "code", None) in _AWAY
        ):
            return TargetUnavailableError(str(self._url), reason)
        return ConfigError(
            f"found {reason} at {self._url}; expected Milvus to accept the request; "
            "check the URL and the server's version, and run it again if another push has replaced the collection"
        )


def _lite_path(url: TargetUrl) -> Path:
    """Return the folder of milvus-lite."""
    path = local_path(url, "milvus:///FOLDER/NAME.db?collection=NAME", server="milvus+http://")
    if path.suffix != ".db":
        raise ConfigError(
            f"found the path {str(path)!r:.200}; expected one that ends in .db, which is how pymilvus knows "
            "milvus-lite; choose another name"
        )
    return path


def _check_server(url: TargetUrl) -> None:
    if not url.host or url.path.strip("/"):
        raise ConfigError(
            f"found {'a path' if url.host else 'no host'} in the target {url}; "
            f"expected {url.scheme}://HOST:PORT/?collection=NAME; name a database by ?database="
        )


def _token(url: TargetUrl) -> str:
    """Return the token of a server, which may be a user and a password; empty if there is none."""
    token = url.secret("token") or url.secret("key")
    user, password = url.secret("user"), url.secret("password")
    if token or not (user or password):
        return token
    if not (user and password):
        raise ConfigError(
            f"found a {'user without a password' if user else 'password without a user'} for {url}; expected both; "
            "set GEM_INDEX_TARGET_USER and GEM_INDEX_TARGET_PASSWORD, or a token"
        )
    return f"{user}:{password}"


def _status(error: BaseException | None) -> grpc.StatusCode | None:
    """Return the gRPC status of an error or of what caused it; None if the server answered."""
    seen: list[BaseException] = []
    # pymilvus raises errors from themselves.
    while error is not None and error not in seen:
        code = getattr(error, "code", None)
        if callable(code):
            code = code()
        if isinstance(code, grpc.StatusCode):
            return code
        seen.append(error)
        error = error.__cause__
    return None


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep pymilvus from logging tracebacks of errors that are raised as well."""
    loggers = [
        logging.getLogger(f"pymilvus.{name}")
        for name in ("decorators", "client.iterator.query_iterator", "client.connection_manager")
    ]
    for logger in loggers:
        logger.addFilter(_refuse)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeFilter(_refuse)


def _refuse(_: logging.LogRecord) -> bool:
    return False
