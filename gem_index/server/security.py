"""Keys with permissions; a server knows only their hashes."""

from __future__ import annotations

import hmac
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import get_args

from fastapi import Request

from gem_index.errors import Action, Advice
from gem_index.home import Home
from gem_index.home.key_library import MAKER, Permission, digest_of
from gem_index.server.errors import ForbiddenError, UnauthorizedError

__all__ = ["KeyRing", "digest_in", "includes", "needs", "permission_of", "ring_of"]

_FRESH = 1.0  # seconds until the stored keys are read again
_ORDER: tuple[Permission, ...] = get_args(Permission)


class KeyRing:
    """The keys of a server: the keys of its home, read again each second, and the keys given at its start.

    Parameters
    ----------
    home : Home
    given : mapping of bytes to Permission
        Permissions of keys by their hashes.
    required : bool
        False allows everything to requests without a key as long as there is no key.
    """

    def __init__(
        self, home: Home, given: Mapping[bytes, Permission], *, required: bool = False
    ) -> None:
        self._home = home
        self._given = dict(given)
        self._required = required
        self._known: dict[bytes, Permission] = {}
        self._read_at = -_FRESH

    def permission_of(self, key: str | None) -> Permission:
        """Return the permission of a key; it is compared with every key, in constant time.

        Raises
        ------
        UnauthorizedError
            If it is missing or unknown.
        """
        known = self._keys()
        if not known and not self._required:
            return "admin"
        if key is None:
            raise UnauthorizedError("found no key; expected the header Authorization: Bearer KEY")
        digest = digest_of(key)
        found = [allowed for each, allowed in known.items() if hmac.compare_digest(each, digest)]
        if not found:
            raise UnauthorizedError("found an unknown key; expected one of this server's")
        return found[0]

    def renew(self) -> None:
        """Read the stored keys again with the next request."""
        self._read_at = -_FRESH

    def _keys(self) -> dict[bytes, Permission]:
        now = time.monotonic()
        if now - self._read_at >= _FRESH:
            stored = {each.digest: _checked(each.permission) for each in self._home.keys.list()}
            # after the last key was removed, the server still asks for a key
            self._required = self._required or bool(stored)
            self._known = self._given | stored
            self._read_at = now
        return self._known


def includes(allowed: Permission, wanted: Permission) -> bool:
    """Tell whether what is allowed includes a permission."""
    return _ORDER.index(allowed) >= _ORDER.index(wanted)


def needs(permission: Permission) -> Callable[[Request], Awaitable[None]]:
    """Return a check that refuses requests without a permission."""

    async def check(request: Request) -> None:
        """Refuse a request if its key does not have the permission."""
        allowed = permission_of(request)
        if not includes(allowed, permission):
            advice = Advice(Action.MAKE_MAKER) if permission == MAKER else None
            found = "found no key" if _key_in(request) is None else f"the key allows to {allowed}"
            raise ForbiddenError(f"{found}; expected one that allows {permission}", advice)

    return check


def permission_of(request: Request) -> Permission:
    """Return what the key of a request allows.

    Raises
    ------
    UnauthorizedError
        If it is missing or unknown.
    """
    return ring_of(request).permission_of(_key_in(request))


def ring_of(request: Request) -> KeyRing:
    """Return the keys of the server of a request."""
    ring: KeyRing = request.app.state.keys
    return ring


def digest_in(request: Request) -> bytes:
    """Return the SHA-256 of the key of a request that was checked."""
    return digest_of(_key_in(request) or "")


def _checked(stored: str) -> Permission:
    return next((each for each in _ORDER if each == stored), "read")


def _key_in(request: Request) -> str | None:
    """Return the key of a request: a bearer token, or the header X-API-Key or api-key (Azure)."""
    scheme, _, key = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and key.strip():
        return key.strip()
    return request.headers.get("x-api-key") or request.headers.get("api-key") or None
