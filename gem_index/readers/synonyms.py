"""Read a file of synonyms."""

from __future__ import annotations

from pathlib import Path

from gem_index.errors import InputError
from gem_index.errors.quoting import quoted_path
from gem_index.files.inputs import open_input
from gem_index.text.synonyms import Synonyms

__all__ = ["read_synonyms"]

_LONGEST = 16 * 1024 * 1024  # bytes


def read_synonyms(path: str | Path) -> Synonyms:
    """Return the synonyms of a text file: one group per line, its forms separated by commas.

    Empty lines are left out, and so are lines that begin with ``#``.

    Raises
    ------
    InputError
        If the file cannot be read, is not UTF-8 or longer than 16 MiB, or a line is no group; the message has the number of
        the line.
    """
    name = quoted_path(path)
    with open_input(str(path)) as file:
        content = file.read(_LONGEST + 1)
    if len(content) > _LONGEST:
        raise InputError(f"{name} has more than {_LONGEST:,} bytes; expected a file of synonyms")
    try:
        lines = content.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise InputError(
            f"{name} line {line} is not UTF-8; expected a text file in UTF-8"
        ) from error
    return Synonyms.of_lines(lines, name)
