"""A Qdrant server, or a folder of qdrant-client's local mode; the errors of both in one line."""

from __future__ import annotations

import pickle
import sqlite3
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar
from uuid import UUID, uuid5

from qdrant_client import QdrantClient
from qdrant_client.common.client_exceptions import QdrantException
from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

from gem_index.errors import ConfigError, TargetUnavailableError
from gem_index.targets import FOLDER_ADVICE, ClientErrors, TargetUrl, has_database, local_path
from gem_index_qdrant import clients

__all__ = ["Database", "TooLargeError", "point_id"]

_NAMESPACE = UUID("6d1f5d3c-0d4e-5c0b-9a51-6f0f2f1e4b7a")
_META = "meta.json"  # of local mode
_ADVICE = (
    ("already accessed", "close the program that has it open, and run it again"),
    *FOLDER_ADVICE,
    ("not found", "run it again, as another push has replaced the collection"),
)
_LOCAL_ERRORS = (
    RuntimeError, ValueError, LookupError, TypeError, AttributeError, EOFError, OSError,
    pickle.PickleError, sqlite3.Error,
)  # fmt: skip
_T = TypeVar("_T")


class TooLargeError(Exception):
    """A server refused a request because of its size."""


class _Errors(ClientErrors):
    def text(self, error: BaseException) -> str:
        """Return the message of an error of Qdrant: the status and the body of its answer."""
        if isinstance(error, UnexpectedResponse):
            content = bytes(error.content or b"").decode(errors="replace")
            return f"the status {error.status_code} {content}"
        return str(error)


def point_id(identifier: str) -> str:
    """Return the UUID under which a document's point is stored.

    Parameters
    ----------
    identifier : str
        The document's id.
    """
    return str(uuid5(_NAMESPACE, identifier))


class Database:
    """A client that is connected when it is first needed.

    Parameters
    ----------
    url : TargetUrl

    Raises
    ------
    ConfigError
        If the URL does not name a server or a folder, or the key cannot be sent.
    """

    def __init__(self, url: TargetUrl) -> None:
        self._url = url
        self._client: QdrantClient | None = None
        self._release: Callable[[], object] | None = None
        self._key = ""
        self.local = url.scheme == "qdrant"
        if self.local:
            url.check_options("collection")
            self._path = local_path(
                url, "qdrant:///FOLDER?collection=NAME", server="qdrant+http://"
            )
            self._errors = _Errors(
                f"the folder {self._path}",
                "one of qdrant-client's local mode, to read and write",
                _ADVICE,
                otherwise="check the folder",
            )
            return
        url.check_options("collection", "timeout", secrets=("key",))
        if not url.host or url.user:
            raise ConfigError(
                f"found {'a user' if url.user else 'no host'} in the target {url}; "
                f"expected {url.scheme}://HOST:PORT/?collection=NAME; the key is ?key=, ?key_file= or GEM_INDEX_TARGET_KEY"
            )
        self._timeout, self._key = url.timeout(60), url.header_secret("key")
        self._errors = _Errors(
            f"an answer of {url} that is not Qdrant's",
            "a Qdrant server",
            otherwise="check host and port",
            secrets=[self._key],
        )

    def exists(self) -> bool:
        """Tell whether there is a database; a server always counts as one."""
        if not self.local or self._client is not None:
            return True
        with self._named_errors():
            return has_database(self._path, _META, "qdrant-client's local mode")

    def call(self, function: Callable[[QdrantClient], _T]) -> _T:
        """Return what a function of the client returns; errors become those of gem-index.

        Raises
        ------
        ConfigError
            If the request was refused, or the folder cannot be read or written.
        TargetUnavailableError
            If the server cannot be reached or is overloaded.
        TooLargeError
            If the server refused the request because of its size.
        """
        with self._named_errors():
            if self._client is None:
                self._client = self._connect()
            return function(self._client)

    def close(self) -> None:
        """Close the connection; another process may then open the folder."""
        if self._client is not None and not self.local:
            self._client.close()
        self._client = None
        if self._release is not None:
            self._release()

    def _connect(self) -> QdrantClient:
        if self.local:
            self.exists()
            client = clients.acquire(self._path)
            # Once: by close(), or when this object is collected without it.
            self._release = weakref.finalize(self, clients.release, self._path)
            return client
        # As a header, because the client would warn of a key over HTTP, which is right on one's own machine.
        return QdrantClient(
            url=f"{self._url.scheme.removeprefix('qdrant+')}://{self._url.host}",
            prefix=self._url.path.strip("/") or None,
            headers={"api-key": self._key} if self._key else None,
            timeout=self._timeout,
            check_compatibility=False,
        )

    @contextmanager
    def _named_errors(self) -> Iterator[None]:
        try:
            yield
        except UnexpectedResponse as error:
            raise self._of_status(error) from error
        except ResponseHandlingException as error:
            reason = self._errors.reason(error.source)
            if isinstance(error.source, ValueError):
                raise self._errors.refusal(error.source) from error
            if "CERTIFICATE" in reason or "WRONG_VERSION_NUMBER" in reason:
                raise ConfigError(
                    f"found no secure connection to {self._url}: {reason}; expected a server with a valid certificate; "
                    "check the scheme and the certificate"
                ) from error
            raise TargetUnavailableError(str(self._url), reason) from error
        except QdrantException as error:  # 429 with the time after which to try again
            raise TargetUnavailableError(str(self._url), self._errors.reason(error)) from error
        except _LOCAL_ERRORS as error:
            raise self._errors.refusal(error) from error

    def _of_status(self, error: UnexpectedResponse) -> Exception:
        status, reason = error.status_code or 0, self._errors.reason(error)
        if status in (408, 429) or status >= 500:
            return TargetUnavailableError(str(self._url), reason)
        if status == 413:
            return TooLargeError(reason)
        if status in (401, 403):
            return ConfigError(
                f"found no permission at {self._url}: {reason}; expected a key that may write; "
                "set GEM_INDEX_TARGET_KEY, or ?key_file="
            )
        if status == 404:
            return ConfigError(
                f"found {reason} at {self._url}; expected a collection of this push; "
                "check the URL, and run it again if another push has replaced the collection"
            )
        return ConfigError(
            f"found {reason} at {self._url}; expected Qdrant to accept the request; check the URL and the server's version"
        )
