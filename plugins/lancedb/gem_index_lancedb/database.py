"""A folder of LanceDB, and its errors in one line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import lancedb
import pyarrow as pa

from gem_index.targets import FOLDER_ADVICE, ClientErrors

__all__ = ["Database"]

_ADVICE = (
    ("onflict", "run it again when the other program is done"),
    *FOLDER_ADVICE,
    ("ot found", "run it again, as another push has replaced the table"),
    ("No such file", "run it again, as another push has replaced the table"),
)


class _Errors(ClientErrors):
    def text(self, error: BaseException) -> str:
        """Return the message of an error of LanceDB, without positions in its source code."""
        return re.sub(r",? /\S+\.rs:\d+(:\d+)?", "", str(error))


class Database:
    """A folder of tables, opened when it is first needed.

    Parameters
    ----------
    path : Path
        An existing folder, or one to create.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._opened: Any = None
        self._errors = _Errors(
            f"the database {path}",
            "a folder that LanceDB can read and write",
            _ADVICE,
            otherwise="check the folder",
        )

    def connection(self) -> Any:
        """Return LanceDB's connection; a missing folder is created."""
        if self._opened is None:
            with self.errors():
                # Each call sees the newest version of a table.
                self._opened = lancedb.connect(
                    self.path, read_consistency_interval=timedelta(seconds=0)
                )
        return self._opened

    def open(self, name: str) -> Any:
        """Return a table; None if there is none. A missing folder is not created."""
        if not (self.path / f"{name}.lance").exists():
            return None
        with self.errors():
            try:
                return self.connection().open_table(name)
            except ValueError as error:
                if "not found" in str(
                    error
                ):  # a process was killed before it had created the table
                    return None
                raise

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Turn the errors of LanceDB into ConfigError."""
        with self._errors.caught(ValueError, RuntimeError, OSError, pa.ArrowException):
            yield
