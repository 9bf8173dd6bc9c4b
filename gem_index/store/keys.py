"""Repository of the HTTP server's keys."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, delete, insert, select

from gem_index.store.records import now
from gem_index.store.schema import api_keys

__all__ = ["KeyRecord", "KeyRepository"]


@dataclass(frozen=True)
class KeyRecord:
    """A stored key.

    Attributes
    ----------
    name : str
    digest : bytes
        SHA-256 of the key; the key is not stored.
    permission : str
        ``read``, ``write``, ``admin`` or ``keys``.
    created_at : str
    made_by : str, optional
        The name of the key that made it; None if a command or Python did.
    """

    name: str
    digest: bytes
    permission: str
    created_at: str
    made_by: str | None


class KeyRepository:
    """The keys of a home."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def all(self) -> list[KeyRecord]:
        """Return the keys by name."""
        columns = (api_keys.c[name] for name in KeyRecord.__dataclass_fields__)
        rows = self._connection.execute(select(*columns).order_by(api_keys.c.name))
        return [KeyRecord(**row) for row in rows.mappings()]

    def add(self, name: str, digest: bytes, permission: str, made_by: str | None) -> None:
        """Store a key; its name must be free."""
        values = {
            "name": name,
            "digest": digest,
            "permission": permission,
            "created_at": now(),
            "made_by": made_by,
        }
        self._connection.execute(insert(api_keys).values(values))

    def remove(self, name: str) -> bool:
        """Remove a key; return whether there was a key of that name."""
        found = self._connection.execute(delete(api_keys).where(api_keys.c.name == name))
        return bool(found.rowcount)
