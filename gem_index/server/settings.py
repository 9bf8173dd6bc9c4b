"""Limits of a server, so that one request cannot take everything from the others."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, fields

from gem_index.errors import ConfigError
from gem_index.errors.quoting import quoted

__all__ = ["Limits"]

_PREFIX = "GEM_INDEX_SERVER_"


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Limits on requests; each is read from the environment variable ``GEM_INDEX_SERVER_<NAME>``.

    Attributes
    ----------
    body : int
        Bytes of a body, or of one line in a stream of documents.
    texts : int
        Texts of one request.
    characters : int
        Characters of one text.
    query : int
        Characters of the query of a search.
    waiting : int
        Texts of all requests that may wait to be encoded; a request with more is answered with 429.
    work : int
        Characters of these texts; a request with more is answered with 429.
    requests : int
        Requests that may wait for a thread; more are answered with 429.
    memory : int
        Bytes of the bodies of all present requests, and of their answers until they are sent; more are answered with 503.
    file : int
        Bytes of a file that is uploaded.
    seconds : float
        Seconds for a body, or a part of a stream, to arrive, and for a part of an answer to be read.
    shutdown : float
        Seconds for requests to end at shutdown.
    """

    body: int = 16 << 20
    texts: int = 2048
    characters: int = 1_000_000
    query: int = 10_000
    waiting: int = 50_000
    work: int = 32 << 20
    requests: int = 1024
    memory: int = 256 << 20
    file: int = 1 << 30
    seconds: float = 30.0
    shutdown: float = 6.0

    def __post_init__(self) -> None:
        """Check the values."""
        for field in fields(self):
            value = getattr(self, field.name)
            if not 0 < value < math.inf:
                raise ConfigError(f"the limit {field.name} is {value}; expected more than 0")

    @classmethod
    def of_environment(cls, environment: Mapping[str, str] = os.environ) -> Limits:
        """Return the limits that the environment sets.

        Raises
        ------
        ConfigError
            If a variable is not a positive number.
        """
        found: dict[str, float] = {}
        for field in fields(cls):
            text = environment.get(_PREFIX + field.name.upper())
            if text is None:
                continue
            kind = float if field.name in ("seconds", "shutdown") else int
            try:
                found[field.name] = kind(text)
            except ValueError:
                found[field.name] = 0
            if not 0 < found[field.name] < math.inf:
                raise ConfigError(
                    f"{_PREFIX}{field.name.upper()} is {quoted(text)}; expected a "
                    f"{'whole ' if kind is int else ''}number above 0: change or unset it"
                )
        return cls(**found)  # type: ignore[arg-type]  # whole numbers where the fields are
