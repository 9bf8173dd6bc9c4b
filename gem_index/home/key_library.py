"""The keys with which clients reach the HTTP server of a home."""

from __future__ import annotations

import builtins
import hashlib
import secrets
from typing import Literal, get_args

from gem_index.advice import Action, Advice
from gem_index.errors import ConfigError, NameTakenError, UnknownNameError
from gem_index.quoting import quoted
from gem_index.store.keys import KeyRecord, KeyRepository
from gem_index.store.workspace import Workspace, check_name

__all__ = ["KeyLibrary", "Permission", "digest_of"]

Permission = Literal["read", "write", "admin"]
"""What a key allows; each includes those before it."""

_PREFIX = "gem-"


def digest_of(key: str) -> bytes:
    """Return the SHA-256 of a key; it has 256 random bits, so a slow hash would add no security."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()


class KeyLibrary:
    """The keys of a home; only their hashes are stored.

    Parameters
    ----------
    workspace : Workspace
    """

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def list(self) -> builtins.list[KeyRecord]:
        """Return the keys by name."""
        with self._workspace.database.reading() as connection:
            return KeyRepository(connection).all()

    def add(self, name: str, permission: Permission = "read") -> str:
        """Make a key and return it; it cannot be shown again.

        Raises
        ------
        NameTakenError
            If there is a key of that name.
        ConfigError
            If there is no such permission.
        """
        check_name("key", name)
        if permission not in get_args(Permission):
            raise ConfigError(
                f"the permission is {quoted(permission)}; expected {', '.join(get_args(Permission))}"
            )
        key = _PREFIX + secrets.token_urlsafe(32)
        with self._workspace.database.writing() as connection:
            keys = KeyRepository(connection)
            if any(each.name == name for each in keys.all()):
                raise NameTakenError(
                    f"a key is named {quoted(name)} already; expected a new name: remove it first"
                )
            keys.add(name, digest_of(key), permission)
        return key

    def remove(self, name: str) -> None:
        """Remove a key; a running server refuses it from then on.

        Raises
        ------
        UnknownNameError
            If there is none of that name.
        """
        with self._workspace.database.writing() as connection:
            keys = KeyRepository(connection)
            if not keys.remove(name):
                known = [each.name for each in keys.all()]
                raise UnknownNameError("key", name, known, Advice(Action.MAKE_KEY))
