"""The differences between Elasticsearch and OpenSearch: the mapping of a vector, a query by vector, the client."""

from __future__ import annotations

import importlib
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

from gem_index.errors import ConfigError, MissingTargetError, TargetUnavailableError
from gem_index.targets import ClientErrors, TargetUrl

__all__ = ["ENGINES", "Elasticsearch", "Engine", "OpenSearch"]

Json = dict[str, Any]

_UNAVAILABLE = frozenset((408, 429, 502, 503, 504))
_ADVICE = {
    401: "check user and password or key, or set GEM_INDEX_TARGET_KEY",
    403: "ask for the right to read, create and write these indices, or free some space where the server is full",
    413: "push in smaller batches",
}
"""The advice for each status of an answer."""


class _Errors(ClientErrors):
    def text(self, error: BaseException) -> str:
        """Return the message of the server, or the cause of a failed connection."""
        body = getattr(error, "body", None) or getattr(error, "info", None)
        details = body.get("error") if isinstance(body, Mapping) else None
        if isinstance(details, Mapping):
            return f"{details.get('type', '')}: {details.get('reason', '')}"
        return str(error.__cause__ or error)


class Engine(ABC):
    """A server of one kind. Scores of both are (1 + cosine similarity) / 2.

    Parameters
    ----------
    url : TargetUrl

    Raises
    ------
    MissingTargetError
        If the client's package is not installed.
    """

    name: str
    package: str
    install: str

    def __init__(self, url: TargetUrl) -> None:
        self._shown = str(url)
        try:
            self._library = importlib.import_module(self.package)
            self._helpers = importlib.import_module(f"{self.package}.helpers")
        except ImportError as error:
            raise MissingTargetError(url.scheme, self.install) from error
        self._errors = _Errors(
            f"the target {url}",
            f"{self.name} with the right to write",
            otherwise="check the server",
            secrets=[url.secret("key"), url.secret("password")],
        )
        with self.errors():
            self._client = self._connect(
                url, f"{url.scheme.partition('+')[2]}://{url.host}{url.path}"
            )

    @abstractmethod
    def _connect(self, url: TargetUrl, address: str) -> Any:
        """Return a client that does not repeat requests itself: push does, with waits."""

    @abstractmethod
    def _send(self, method: str, path: str, body: Any, params: Mapping[str, Any]) -> Any:
        """Send a request."""

    @staticmethod
    @abstractmethod
    def vector_mapping(dimension: int) -> Json:
        """Return the mapping of a field of unit vectors, searched by HNSW."""

    @staticmethod
    @abstractmethod
    def settings() -> Json:
        """Return the settings of an index."""

    @staticmethod
    @abstractmethod
    def nearest(vector: list[float], k: int, filters: Sequence[Json]) -> Json:
        """Return the body of a search for the documents near a vector, among those that pass all filters."""

    def request(self, method: str, path: str, body: Any = None, **params: Any) -> Any:
        """Send a request and return its answer; None if there is no such thing."""
        with self.errors():
            try:
                return self._send(method, path, body, params)
            except self._library.NotFoundError:
                return None

    def check_product(self) -> None:
        """Raise ConfigError if the server is of another kind."""
        about = self.request("GET", "/") or {}
        found = about.get("version", {}).get("distribution", "elasticsearch")
        if found != self.name.lower():
            raise ConfigError(
                f"found {found} at the target {self._shown}; expected {self.name}; use {found}+http://"
            )

    def bulk(self, alias: str, actions: Iterable[Json]) -> Iterator[tuple[bool, Json]]:
        """Send actions in requests of up to 20 MB; yield for each whether it was done, and the server's answer."""
        with self.errors():
            yield from self._helpers.streaming_bulk(
                self._client,
                actions,
                index=alias,
                require_alias=True,
                chunk_size=1000,
                max_chunk_bytes=20_000_000,
                raise_on_error=False,
            )

    def scan(self, index: str, body: Json) -> Iterator[Json]:
        """Iterate over all hits of a query, of one state of the index."""
        with self.errors():
            yield from self._helpers.scan(self._client, query=body, index=index, size=500)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Raise the client's errors as ours."""
        library = self._library
        try:
            yield
        except (library.ConnectionError, library.ConnectionTimeout) as error:
            raise TargetUnavailableError(self._shown, self._errors.reason(error)) from error
        except self._failures() as error:
            self._fail(error)
        except ValueError as error:  # an error of the client: the address is invalid
            raise ConfigError(
                f"found the target {self._shown}: {self._errors.reason(error)}; expected the address of a server"
            ) from error

    @abstractmethod
    def _failures(self) -> tuple[type[Exception], ...]:
        """Return the client's errors."""

    def _fail(self, error: Any) -> NoReturn:
        status = getattr(error, "status_code", None)
        if status in _UNAVAILABLE:
            reason = f"status {status}: {self._errors.reason(error)}"
            raise TargetUnavailableError(self._shown, reason) from error
        raise self._errors.refusal(error, _ADVICE.get(status or 0)) from error


class Elasticsearch(Engine):
    """Elasticsearch 8.12 or later."""

    name = "Elasticsearch"
    package = "elasticsearch"
    install = "gem-index-elasticsearch"

    def _connect(self, url: TargetUrl, address: str) -> Any:
        options: Json = {}
        if key := url.secret("key"):
            options["api_key"] = key
        elif user := url.secret("user"):
            options["basic_auth"] = (user, url.secret("password"))
        if certificates := url.options.get("ca_certs"):
            options["ca_certs"] = certificates
        return self._library.Elasticsearch(
            address, max_retries=0, retry_on_timeout=False, request_timeout=60, **options
        )

    def _send(self, method: str, path: str, body: Any, params: Mapping[str, Any]) -> Any:
        headers = {"accept": "application/json"}
        if body is not None:
            headers["content-type"] = "application/json"
        return self._client.perform_request(
            method, path, params=params, headers=headers, body=body
        ).body

    def _failures(self) -> tuple[type[Exception], ...]:
        library = self._library
        return (
            library.ApiError,
            library.TransportError,
            library.helpers.ScanError,
            library.UnsupportedProductError,
        )

    @staticmethod
    def vector_mapping(dimension: int) -> Json:
        """Return the mapping of a ``dense_vector`` by inner product; ``hnsw`` keeps all bits, so scores are exact."""
        return {
            "type": "dense_vector",
            "dims": dimension,
            "index": True,
            "similarity": "dot_product",
            "index_options": {"type": "hnsw"},
        }

    @staticmethod
    def settings() -> Json:
        """Return nothing, because the server's defaults are good."""
        return {}

    @staticmethod
    def nearest(vector: list[float], k: int, filters: Sequence[Json]) -> Json:
        """Return a search by ``knn``."""
        candidates = min(10_000, max(100, 10 * k))
        knn = {"field": "vector", "query_vector": vector, "k": k, "num_candidates": candidates}
        return {"size": k, "knn": knn | ({"filter": filters} if filters else {})}


class OpenSearch(Engine):
    """OpenSearch 2.19 or later, with its k-NN plugin."""

    name = "OpenSearch"
    package = "opensearchpy"
    install = "gem-index-elasticsearch[opensearch]"

    def _connect(self, url: TargetUrl, address: str) -> Any:
        options: Json = {}
        if user := url.secret("user"):
            options["http_auth"] = (user, url.secret("password"))
        elif key := url.secret("key"):
            options["headers"] = {"authorization": f"Bearer {key}"}
        if certificates := url.options.get("ca_certs"):
            options["ca_certs"] = certificates
        return self._library.OpenSearch(
            [address], max_retries=0, retry_on_timeout=False, timeout=60, **options
        )

    def _send(self, method: str, path: str, body: Any, params: Mapping[str, Any]) -> Any:
        return self._client.transport.perform_request(
            method, path, params=params or None, body=body
        )

    def _failures(self) -> tuple[type[Exception], ...]:
        return (self._library.OpenSearchException,)

    @staticmethod
    def vector_mapping(dimension: int) -> Json:
        """Return the mapping of a ``knn_vector`` by cosine similarity, in a Lucene graph."""
        return {
            "type": "knn_vector",
            "dimension": dimension,
            "method": {"name": "hnsw", "engine": "lucene", "space_type": "cosinesimil"},
        }

    @staticmethod
    def settings() -> Json:
        """Return the setting without which vectors are not indexed."""
        return {"index": {"knn": True}}

    @staticmethod
    def nearest(vector: list[float], k: int, filters: Sequence[Json]) -> Json:
        """Return a query by ``knn``; Lucene visits k documents of the graph, so more are asked for."""
        knn: Json = {"vector": vector, "k": min(10_000, max(100, k))}
        if filters:
            knn["filter"] = {"bool": {"filter": filters}}
        return {"size": k, "query": {"knn": {"vector": knn}}}


ENGINES: Mapping[str, type[Engine]] = {"elasticsearch": Elasticsearch, "opensearch": OpenSearch}


def cosine(score: float) -> float:
    """Return the cosine similarity of a score; NaN stays."""
    return math.nan if math.isnan(score) else 2 * score - 1
