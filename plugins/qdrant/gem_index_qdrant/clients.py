"""The clients of folders in local mode, one for each folder in this process, as a folder can be opened once."""

from __future__ import annotations

import threading
from pathlib import Path

from qdrant_client import QdrantClient

__all__ = ["acquire", "release"]

_open: dict[str, tuple[QdrantClient, int]] = {}
_lock = threading.Lock()


def acquire(path: Path) -> QdrantClient:
    """Return the client of a folder, which is created if it is missing; :func:`release` it."""
    name = str(path.resolve())
    with _lock:
        client, users = _open[name] if name in _open else (QdrantClient(path=name), 0)
        _open[name] = client, users + 1
    return client


def release(path: Path) -> None:
    """Close the client of a folder if nobody else uses it; another process may then open the folder."""
    name = str(path.resolve())
    with _lock:
        client, users = _open.pop(name)
        if users > 1:
            _open[name] = client, users - 1
        else:
            client.close()
