"""What a home has stored, read and changed as another program would."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from gem_index import Home
from gem_index.common.settings import DATABASE


def execute(home: Home, statement: str, *values: object) -> list[tuple[object, ...]]:
    """Execute a statement of SQL in a transaction of its own and return the rows."""
    with closing(sqlite3.connect(home.root / DATABASE)) as connection, connection:
        return connection.execute(statement, values).fetchall()


def snapshot_of(home: Home, name: str) -> Path:
    """Return the folder of a collection's snapshot."""
    [(number, directory)] = execute(
        home,
        "SELECT c.id, s.directory FROM snapshots s JOIN collections c ON c.id = s.collection_id WHERE c.name = ?",
        name,
    )
    return home.root / "collections" / str(number) / str(directory)


_HOLD_LOCK = """
import sys
from gem_index import Home
with Home(sys.argv[1]).workspace.write_lock():
    print("held", flush=True)
    sys.stdin.read()
"""


@contextmanager
def other_writer(home: Home) -> Iterator[subprocess.Popen[str]]:
    """Run a process that holds the write lock of a home until its input ends."""
    command = [sys.executable, "-c", _HOLD_LOCK, str(home.root)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        yield other
        if other.poll() is None:
            other.communicate("")
