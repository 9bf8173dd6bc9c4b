"""Who may do what: keys with rights, kept as hashes."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from fastapi import Request

from gem_index.server.context import ServerContext
from gem_index.server.errors import ForbiddenError, UnauthorizedError

__all__ = ["ADMIN", "READ", "RIGHTS", "WRITE", "Key", "KeyRing", "context_of", "hash_of", "needs", "new_key"]

READ, WRITE, ADMIN = "read", "write", "admin"
RIGHTS = (READ, WRITE, ADMIN)
"""Each includes those before it."""

_PREFIX = "gem-"


@dataclass(frozen=True)
class Key:
    """A key as it is stored.

    Attributes
    ----------
    name : str
    digest : bytes
        SHA-256 of the key: it has 256 random bits, so that nothing is gained by a slow hash.
    right : str
    """

    name: str
    digest: bytes
    right: str


def new_key() -> str:
    """Return a new random key."""
    return _PREFIX + secrets.token_urlsafe(32)


def hash_of(key: str) -> bytes:
    """Return the SHA-256 of a key."""
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).digest()


class KeyRing:
    """The keys of a server; without any, requests need none.

    Parameters
    ----------
    keys : sequence of Key
    """

    def __init__(self, keys: Sequence[Key] = ()) -> None:
        self._keys = tuple(keys)

    def right_of(self, key: str | None) -> str:
        """Return the right that a key gives; all keys are compared, in constant time each.

        Raises
        ------
        UnauthorizedError
            If it is missing or unknown.
        """
        if not self._keys:
            return ADMIN
        if key is None:
            raise UnauthorizedError("found no key; expected the header Authorization: Bearer KEY")
        digest, found = hash_of(key), None
        for each in self._keys:
            if hmac.compare_digest(each.digest, digest):
                found = each
        if found is None:
            raise UnauthorizedError("found an unknown key; expected one that gem-index keys made")
        return found.right


def needs(right: str) -> Callable[[Request], Awaitable[None]]:
    """Return a dependency that refuses requests without a right."""

    async def check(request: Request) -> None:
        ring: KeyRing = request.app.state.keys
        given = ring.right_of(_key_in(request))
        if RIGHTS.index(given) < RIGHTS.index(right):
            raise ForbiddenError(f"the key gives the right to {given}; expected {right}")

    return check


def _key_in(request: Request) -> str | None:
    scheme, _, key = request.headers.get("authorization", "").partition(" ")
    return key.strip() if scheme.lower() == "bearer" and key.strip() else None


def context_of(request: Request) -> ServerContext:
    """Return what the routes share."""
    context: ServerContext = request.app.state.context
    return context
