"""The server inside this process that milvus-lite starts for a folder, stopped when its last user is done."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from pathlib import Path

from milvus_lite.server_manager import server_manager_instance as _servers

__all__ = ["acquire", "release"]

# pymilvus starts a server for a path that ends in .db and never stops it, which would keep the folder locked. A server
# that was running before, because the caller has a client of their own, is left running.
_users: Counter[str] = Counter()
_foreign: set[str] = set()
_lock = threading.Lock()


class _Reasons(logging.Handler):
    """Keeps the error that milvus-lite only logs."""

    def __init__(self) -> None:
        super().__init__()
        self.reason = ""

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info and record.exc_info[1] is not None:
            self.reason = str(record.exc_info[1])


def acquire(path: Path) -> str:
    """Return the address of a server for a folder, which is created if it is missing.

    Raises
    ------
    OSError
        If the folder cannot be opened, with milvus-lite's reason.
    """
    name, reasons = str(path), _Reasons()
    logger = logging.getLogger("milvus_lite.server_manager")
    with _lock:
        if not _users[name] and name in _servers._servers:
            _foreign.add(name)
        propagates, logger.propagate = logger.propagate, False
        logger.addHandler(reasons)
        try:
            address = _servers.start_and_get_uri(name)
        finally:
            logger.removeHandler(reasons)
            logger.propagate = propagates
        if address is None:
            raise OSError(reasons.reason or "milvus-lite does not start")
        _users[name] += 1
    return str(address)


def release(path: Path) -> None:
    """Stop the server of a folder if nobody else uses it; another process may then open the folder."""
    name = str(path)
    with _lock:
        _users[name] -= 1
        if _users[name] <= 0:
            del _users[name]
            if name in _foreign:
                _foreign.discard(name)
            else:
                _servers.release_server(name)
