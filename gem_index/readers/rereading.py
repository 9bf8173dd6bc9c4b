"""Inputs that are read more than once: a stream is copied, and a file that changes meanwhile is noticed."""

from __future__ import annotations

import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from shutil import copyfileobj
from tempfile import TemporaryDirectory

from gem_index.errors import InputError, RecordError
from gem_index.files.inputs import open_input, split_member

__all__ = ["changed_meanwhile", "file_name", "file_state", "readable_twice"]


@lru_cache(maxsize=64)
def file_name(name: str) -> str:
    """Return the last part of a path."""
    return Path(name).name


def file_state(name: str) -> tuple[int, ...] | None:
    """Return values that change whenever the file changes; None for a stream."""
    if name == "-":
        return None
    try:
        found = split_member(name)[0].stat()
    except OSError:
        return None  # opening it reports that
    if not stat.S_ISREG(found.st_mode):
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def changed_meanwhile(name: str) -> InputError:
    """Return the error of a file that changed between two readings."""
    return InputError(
        f"{name} changed while it was read; expected a file that nobody writes meanwhile: read it again"
    )


@contextmanager
def readable_twice(names: Sequence[str]) -> Iterator[list[str]]:
    """Yield names of inputs that can be read more than once: standard input is copied to a temporary file."""
    if "-" not in names:
        yield list(names)
        return
    with TemporaryDirectory() as folder, open_input("-") as stdin:
        copy = Path(folder) / ("input.jsonl" if stdin.peek(1)[:1] == b"{" else "input.txt")
        with copy.open("wb") as file:
            copyfileobj(stdin, file)
        try:
            yield [str(copy) if name == "-" else name for name in names]
        except RecordError as error:
            if error.source != str(copy):
                raise
            raise error.moved("-", error.line) from error
