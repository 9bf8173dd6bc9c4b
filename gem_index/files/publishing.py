"""Write files and folders atomically: they are complete and on the disk, or they do not exist."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from gem_index.errors import DiskError
from gem_index.errors.quoting import quoted_error
from gem_index.files.inputs import make_directory

__all__ = [
    "create_file",
    "disk_errors",
    "publish_directory",
    "publish_file",
    "remove_partials",
    "sync_directory",
    "sync_tree",
]

_PARTIAL = ".partial-"
_ADVICE = {
    errno.ENOSPC: "make room on the disk",
    errno.EDQUOT: "make room on the disk",
    errno.EMFILE: "raise the limit of open files (ulimit -n)",
    errno.ENFILE: "raise the limit of open files (ulimit -n)",
    errno.EACCES: "make its folder writable",
    errno.EPERM: "make its folder writable",
    errno.EROFS: "make its folder writable",
}


@contextmanager
def disk_errors(what: str, kept: str = "nothing of this step was kept") -> Iterator[None]:
    """Turn an OSError of a block that writes files of our own into a DiskError.

    Parameters
    ----------
    what : str
        What the files are, for the message.
    kept : str
        What an error leaves, for the message.

    Raises
    ------
    DiskError
        If a file could not be written or read.
    """
    try:
        yield
    except (
        TimeoutError,
        ConnectionError,
    ):  # an error of a lock, or of a pipe to which the caller's progress writes
        raise
    except OSError as error:
        advice = _ADVICE.get(error.errno or 0, "check the disk")
        raise DiskError(
            f"writing {what} failed ({quoted_error(error)}); {kept}: {advice} and try again"
        ) from error


def sync_directory(path: Path) -> None:
    """Sync the names in a directory to disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_tree(path: Path) -> None:
    """Sync all files and names below a directory to disk, readable by their owner only."""
    for child in path.iterdir():
        if child.is_dir():
            child.chmod(0o700)
            sync_tree(child)
            continue
        with child.open("rb") as file:
            os.fchmod(file.fileno(), 0o600)
            os.fsync(file.fileno())
    sync_directory(path)


def _sync(file: IO[bytes]) -> None:
    file.flush()
    os.fsync(file.fileno())


def _partial(path: Path) -> Path:
    """Return the name of an unfinished file or folder, which includes the number of the writing process."""
    return path.with_name(f".{path.name}{_PARTIAL}{os.getpid()}")


def remove_partials(folder: Path, names: re.Pattern[str], *, locked: bool = False) -> None:
    """Remove the unfinished files and folders of some names whose process no longer runs.

    If one cannot be removed, it stays until the next time, and does no harm. ``locked`` says that a lock of the caller
    keeps every other process from writing them: a killed process may have had the number of a running process.
    """
    import shutil

    with suppress(OSError):
        for left in list(folder.iterdir()):
            name, partial, process = left.name.removeprefix(".").rpartition(_PARTIAL)
            if not partial or not names.fullmatch(name):
                continue
            if not process.isdecimal() or (not locked and _runs(int(process))):
                continue
            if left.is_dir() and not left.is_symlink():
                shutil.rmtree(left)
            else:
                left.unlink()


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):  # a process of another user, or not the number of a process
        return True
    return True


@contextmanager
def publish_file(path: Path) -> Iterator[IO[bytes]]:
    """Write a file atomically: the old file stays until the new one is complete.

    Unfinished files of killed processes are removed.
    """
    remove_partials(path.parent, re.compile(re.escape(path.name)))
    temporary = _partial(path)
    try:
        with temporary.open("wb") as file:
            yield file
            _sync(file)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_directory(path.parent)


@contextmanager
def create_file(path: Path) -> Iterator[IO[bytes]]:
    """Write a file of a new name, which no reader knows yet: complete and synced on return, absent on error."""
    with path.open("xb") as file:
        try:
            yield file
            _sync(file)
        except BaseException:
            path.unlink(missing_ok=True)
            raise
    sync_directory(path.parent)


def publish_directory(path: Path, fill: Callable[[Path], None]) -> None:
    """Create a directory of files atomically: complete on return, absent on error.

    Parameters
    ----------
    path : Path
        The final name; it must not exist yet.
    fill : callable
        Called with a temporary directory beside ``path``, to write the files into it. If it raises, that directory is
        removed. Unfinished directories of killed processes are removed too.
    """
    # imported here: shutil loads all archive formats, which commands that only read do not need
    import shutil

    make_directory(path.parent)
    remove_partials(path.parent, re.compile(re.escape(path.name)))
    temporary = _partial(path)
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(mode=0o700)
    try:
        fill(temporary)
        sync_tree(temporary)
        temporary.rename(path)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    sync_directory(path.parent)
