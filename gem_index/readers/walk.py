"""Find the files of a folder that should be read."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from gem_index.common.settings import DATABASE
from gem_index.converting.pages import kind_of
from gem_index.readers.formats import format_of_name
from gem_index.readers.patterns import Patterns

__all__ = ["FoundFile", "files_of"]

_IGNORE_FILE = ".gitignore"
_RECORDS = ("jsonl", "json", "csv", "tsv", "parquet", "xlsx")  # formats
_LONGEST_IGNORE_FILE = 1 << 20  # bytes

_Ignores: TypeAlias = list[tuple[str, Patterns]]
"""Folders and what their ignore files say, the outermost first."""


@dataclass(frozen=True)
class FoundFile:
    """A file of a folder.

    Parameters
    ----------
    path : str
        Relative to the folder, with ``/``.
    size : int
        In bytes.
    modified : int
        Time of the last change, nanoseconds since 1970.
    """

    path: str
    size: int
    modified: int


def files_of(
    folder: Path,
    glob: Sequence[str],
    exclude: Sequence[str],
    gitignore: bool,
    on_unreadable: Callable[[str, OSError], None],
    on_records: Callable[[str], None],
) -> Iterator[FoundFile]:
    """Iterate over the files of a folder of the kinds that are read, folder by folder in order of their names.

    Links are not followed, and names that begin with a dot are left out, unless a pattern of ``glob`` names them. A folder
    inside that is a home of gem-index is not entered.

    Parameters
    ----------
    folder : Path
    glob : sequence of str
        Only files that match one of these patterns, which are as in ``.gitignore``; a pattern may name a kind of file that
        is not read otherwise, which is then read as text.
    exclude : sequence of str
        Files and folders to leave out.
    gitignore : bool
        Leave out what the ``.gitignore`` files say, of the folder and of the repository around it.
    on_unreadable : callable
        Called with the relative path and the error of a folder or file that cannot be looked at.
    on_records : callable
        Called with the relative path of a file of records, which is not read, unless there are patterns in ``glob``.

    Raises
    ------
    ConfigError
        If a pattern is malformed.
    """
    wanted = Patterns.of_option("glob", glob) if glob else None
    unwanted = Patterns.of_option("exclude", exclude)
    return _walk(folder, wanted, unwanted, gitignore, on_unreadable, on_records)


def _walk(
    folder: Path,
    wanted: Patterns | None,
    unwanted: Patterns,
    gitignore: bool,
    on_unreadable: Callable[[str, OSError], None],
    on_records: Callable[[str], None],
) -> Iterator[FoundFile]:
    def listed(relative: str, ignores: _Ignores) -> Iterator[FoundFile | tuple[str, _Ignores]]:
        """Iterate over what one folder holds: files, and for each folder its path and the ignore files that count in it."""
        here = folder / relative
        try:
            entries = sorted(os.scandir(here), key=lambda entry: entry.name)
        except OSError as error:
            on_unreadable(relative, error)
            return
        if relative and any(entry.name == DATABASE for entry in entries):
            return  # a home, whose files are no texts of the user
        if gitignore and any(entry.name == _IGNORE_FILE for entry in entries):
            ignores = [*ignores, *_ignores_of(here, f"{relative}/".lstrip("/"), on_unreadable)]
        for entry in entries:
            path = f"{relative}/{entry.name}" if relative else entry.name
            try:
                status = entry.stat(follow_symlinks=False)
            except OSError as error:
                on_unreadable(path, error)
                continue
            is_folder = stat.S_ISDIR(status.st_mode)
            name = f"{path}/" if is_folder else path
            if unwanted.say(name) or _ignored(f"{here}/{entry.name}", is_folder, ignores):
                continue
            if is_folder:
                if not entry.name.startswith("."):
                    yield path, ignores
            elif not stat.S_ISREG(status.st_mode):
                continue
            elif (
                wanted.say(path)
                if wanted is not None
                else kind_of(entry.name) is not None and not entry.name.startswith(".")
            ):
                yield FoundFile(path, status.st_size, status.st_mtime_ns)
            elif wanted is None and format_of_name(entry.name) in _RECORDS:
                on_records(path)

    above = list(_ignores_above(folder, on_unreadable)) if gitignore else []
    opened = [listed("", above)]  # a list, not recursion: folders may be nested very deeply
    while opened:
        found = next(opened[-1], None)
        if found is None:
            opened.pop()
        elif isinstance(found, FoundFile):
            yield found
        else:
            opened.append(listed(*found))


def _ignores_above(folder: Path, on_unreadable: Callable[[str, OSError], None]) -> _Ignores:
    """Return the ignore files above a folder, from the root of its repository down."""
    if os.path.exists(folder / ".git"):  # noqa: PTH110 - False for what cannot be looked at
        return []
    above: list[Path] = []
    for parent in folder.parents:
        above.insert(0, parent)
        if os.path.exists(parent / ".git"):  # noqa: PTH110 - the same
            return [
                found
                for each in above
                for found in _ignores_of(each, f"{os.path.relpath(each, folder)}/", on_unreadable)
            ]
    return []


def _ignores_of(
    folder: Path, relative: str, on_unreadable: Callable[[str, OSError], None]
) -> _Ignores:
    """Return the ignore file of a folder if it has one; lines that are no pattern are left out, as git does."""
    path = folder / _IGNORE_FILE
    try:
        if not path.is_file():
            return []
        with path.open("rb") as file:
            content = file.read(_LONGEST_IGNORE_FILE + 1)
    except OSError as error:
        on_unreadable(relative + _IGNORE_FILE, error)
        return []
    if len(content) > _LONGEST_IGNORE_FILE:
        on_unreadable(relative + _IGNORE_FILE, OSError(errno.EFBIG, os.strerror(errno.EFBIG)))
        return []
    return [(str(folder), Patterns(content.decode("utf-8", "surrogateescape").splitlines()))]


def _ignored(path: str, is_folder: bool, ignores: _Ignores) -> bool:
    """Tell whether the innermost ignore file that speaks of a path leaves it out."""
    for root, patterns in reversed(ignores):
        relative = path[len(root) :].lstrip("/") + ("/" if is_folder else "")
        said = patterns.say(relative)
        if said is not None:
            return said
    return False
