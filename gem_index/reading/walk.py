"""Which files of a folder are read."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pathspec import GitIgnoreSpec

from gem_index.converting.pages import kind_of

__all__ = ["FoundFile", "files_of"]

_IGNORE_FILE = ".gitignore"


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
) -> Iterator[FoundFile]:
    """Iterate over the files of a folder of the kinds that are read, folder by folder in order of their names.

    Links are not followed, and names that begin with a dot are left out, unless a pattern of ``glob`` names them.

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
    """
    wanted = GitIgnoreSpec.from_lines(glob) if glob else None
    unwanted = GitIgnoreSpec.from_lines(exclude)
    ignores = list(_ignores_above(folder)) if gitignore else []

    def walk(relative: str, ignores: list[tuple[str, GitIgnoreSpec]]) -> Iterator[FoundFile]:
        here = folder / relative
        try:
            entries = sorted(os.scandir(here), key=lambda entry: entry.name)
        except OSError as error:
            on_unreadable(relative, error)
            return
        if gitignore and (here / _IGNORE_FILE).is_file():
            ignores = [*ignores, (str(here), _ignore_file(here / _IGNORE_FILE))]
        for entry in entries:
            path = f"{relative}/{entry.name}" if relative else entry.name
            try:
                status = entry.stat(follow_symlinks=False)
            except OSError as error:
                on_unreadable(path, error)
                continue
            is_folder = stat.S_ISDIR(status.st_mode)
            name = f"{path}/" if is_folder else path
            if unwanted.match_file(name) or _ignored(f"{here}/{entry.name}", is_folder, ignores):
                continue
            if is_folder:
                if not entry.name.startswith("."):
                    yield from walk(path, ignores)
            elif stat.S_ISREG(status.st_mode) and (
                wanted.match_file(path)
                if wanted is not None
                else kind_of(entry.name) is not None and not entry.name.startswith(".")
            ):
                yield FoundFile(path, status.st_size, status.st_mtime_ns)

    return walk("", ignores)


def _ignores_above(folder: Path) -> Iterator[tuple[str, GitIgnoreSpec]]:
    """Iterate over the ignore files above a folder, from the root of its repository down."""
    above = []
    for parent in folder.parents:
        above.append(parent)
        if (parent / ".git").exists():
            break
    else:
        return
    if (folder / ".git").exists():
        return
    for parent in reversed(above):
        if (parent / _IGNORE_FILE).is_file():
            yield str(parent), _ignore_file(parent / _IGNORE_FILE)


def _ignore_file(path: Path) -> GitIgnoreSpec:
    return GitIgnoreSpec.from_lines(path.read_text("utf-8", "surrogateescape").splitlines())


def _ignored(path: str, is_folder: bool, ignores: Sequence[tuple[str, GitIgnoreSpec]]) -> bool:
    """Tell whether the innermost ignore file that speaks of a path leaves it out."""
    for root, spec in reversed(ignores):
        relative = path[len(root) :].lstrip("/") + ("/" if is_folder else "")
        said = spec.check_file(relative).include
        if said is not None:
            return said
    return False
