"""The keys that clients of a home's HTTP server need."""

from __future__ import annotations

import builtins
import hashlib
import secrets
from typing import Literal, get_args

from gem_index.errors import (
    Action,
    Advice,
    ConfigError,
    KeyRefusedError,
    NameTakenError,
    UnknownNameError,
)
from gem_index.errors.quoting import quoted
from gem_index.store.keys import KeyRecord, KeyRepository
from gem_index.store.workspace import Workspace, check_name

__all__ = ["MAKER", "KeyLibrary", "Permission", "digest_of"]

Permission = Literal["read", "write", "admin", "keys"]
"""The permissions of keys; each permission includes the permissions before it."""

MAKER: Permission = "keys"
"""The permission to make and remove keys, except keys that have this permission themselves."""

_PREFIX = "gem-"
# keys that other keys made; a server compares the key of each request with all keys
_MOST_MADE = 1000


def digest_of(key: str) -> bytes:
    """Return the SHA-256 of a key. A slow hash would not be more secure, because a key has 256 random bits."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()


class KeyLibrary:
    """The keys of a home; only the hashes of the keys are stored.

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

    def add(self, name: str, permission: Permission = "read", *, maker: bytes | None = None) -> str:
        """Make a key and return it; the key cannot be shown again.

        Parameters
        ----------
        name : str
        permission : {"read", "write", "admin", "keys"}
        maker : bytes, optional
            If another key of this home makes the new key, the SHA-256 of that other key, the maker. The maker must have the
            permission ``keys``; the new key cannot have this permission.

        Raises
        ------
        NameTakenError
            If there is a key of this name.
        ConfigError
            If the permission is unknown.
        KeyRefusedError
            If the maker may not make the key.
        """
        check_name("key", name)
        if permission not in get_args(Permission):
            raise ConfigError(
                f"the permission is {quoted(permission)}; expected {', '.join(get_args(Permission))}"
            )
        key = _PREFIX + secrets.token_urlsafe(32)
        with self._workspace.database.writing() as connection:
            keys = KeyRepository(connection)
            stored = keys.all()
            made_by = None if maker is None else _check_maker(stored, maker).name
            if maker is not None and permission == MAKER:
                raise KeyRefusedError(
                    "a key cannot make a key that allows keys", Advice(Action.MAKE_MAKER)
                )
            if maker is not None and sum(each.made_by is not None for each in stored) >= _MOST_MADE:
                raise KeyRefusedError(
                    f"keys have made {_MOST_MADE} keys already; expected fewer: remove some first"
                )
            if any(each.name == name for each in stored):
                raise NameTakenError(
                    f"a key is named {quoted(name)} already; expected a new name: remove it first"
                )
            keys.add(name, digest_of(key), permission, made_by)
        return key

    def remove(
        self, name: str, *, made: bool = False, maker: bytes | None = None
    ) -> builtins.list[str]:
        """Remove a key; from then on, a running server refuses it.

        Parameters
        ----------
        name : str
        made : bool
            Also remove the keys that the removed key has made.
        maker : bytes, optional
            If another key of this home removes the key, the SHA-256 of that other key. The other key must have
            the permission ``keys``; the removed key cannot have this permission.

        Returns
        -------
        list of str
            The names of the removed keys.

        Raises
        ------
        UnknownNameError
            If there is no key of this name.
        KeyRefusedError
            If the key of ``maker`` may not remove the key.
        """
        with self._workspace.database.writing() as connection:
            keys = KeyRepository(connection)
            stored = keys.all()
            if maker is not None:
                _check_maker(stored, maker)
            found = next((each for each in stored if each.name == name), None)
            if found is None:
                known = [each.name for each in stored]
                raise UnknownNameError("key", name, known, Advice(Action.MAKE_KEY))
            if maker is not None and found.permission == MAKER:
                raise KeyRefusedError(
                    f"the key {name} allows keys, and a key cannot remove such a key",
                    Advice(Action.REMOVE_MAKER, {"key": name}),
                )
            names = [name] + [each.name for each in stored if made and each.made_by == name]
            for each in names:
                keys.remove(each)
        return names


def _check_maker(stored: list[KeyRecord], digest: bytes) -> KeyRecord:
    """Return the key with this hash; KeyRefusedError if the key was removed, or may not make and remove keys."""
    found = [each for each in stored if each.digest == digest and each.permission == MAKER]
    if not found:
        raise KeyRefusedError(
            "the key does not allow keys, or was removed; expected a key of the home that allows keys",
            Advice(Action.MAKE_MAKER),
        )
    return found[0]
