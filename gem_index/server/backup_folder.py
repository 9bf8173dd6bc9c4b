"""The folder in which a server makes backups: its operator names the folder, the server names each backup."""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

from filelock import FileLock, Timeout

from gem_index.errors import ConfigError, DiskError, GemIndexError, HomeBusyError, InputError
from gem_index.errors.quoting import quoted_error, quoted_path
from gem_index.files.inputs import make_directory
from gem_index.files.publishing import remove_partials
from gem_index.home import Home
from gem_index.progress import Progress

__all__ = ["Backup", "BackupFolder", "BackupRunningError", "NoRoomError"]

_TIME = "%Y-%m-%dT%H-%M-%SZ"  # no colons: some file systems do not allow them
_LOCK = ".backup.lock"
_NAME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ)(?:-(\d+))?")


class BackupRunningError(GemIndexError):
    """Another request makes a backup."""

    def __init__(self) -> None:
        super().__init__("a backup is being made already; wait until GET /backups shows it")


class NoRoomError(GemIndexError):
    """A backup would leave too little room on its disk."""

    def __init__(self, free: int, needed: int) -> None:
        super().__init__(
            f"the disk of the backups has {free >> 20} MiB free; expected at least {needed >> 20} MiB, twice the size of "
            "the home: the operator of the server removes old backups"
        )


@dataclass(frozen=True)
class Backup:
    """A complete backup.

    Attributes
    ----------
    name : str
        Its folder in the folder of the backups: the time when it began.
    bytes : int
    created_at : str
        This time, in ISO 8601.
    """

    name: str
    bytes: int
    created_at: str


class BackupFolder:
    """A folder of backups of a home.

    Parameters
    ----------
    home : Home
    folder : Path
        Made if it does not exist.

    Raises
    ------
    ConfigError
        If it lies in the home, or cannot be written.
    """

    def __init__(self, home: Home, folder: Path) -> None:
        self._home = home
        self._folder = folder.absolute()
        if self._folder.resolve().is_relative_to(home.root.resolve()):
            raise ConfigError(
                f"the folder of the backups {quoted_path(folder)} lies in the home {quoted_path(home.root)}; expected one "
                "outside of it"
            )
        try:
            make_directory(self._folder)
        except OSError as error:
            raise ConfigError(
                f"cannot make the folder of the backups {quoted_path(folder)} ({quoted_error(error)}); "
                "expected a writable one"
            ) from error
        if not os.access(self._folder, os.W_OK | os.X_OK):
            raise ConfigError(
                f"cannot write to the folder of the backups {quoted_path(folder)}; expected a writable one"
            )

    def list(self) -> list[Backup]:
        """Return the complete backups, the newest first.

        Raises
        ------
        DiskError
            If the folder cannot be read.
        """
        try:
            names = [path.name for path in self._folder.iterdir() if path.is_dir()]
            found = [
                (_place(name), self._describe(name)) for name in names if _NAME.fullmatch(name)
            ]
        except OSError as error:
            raise self._failed(error) from error
        return [backup for _, backup in sorted(found, key=lambda each: each[0], reverse=True)]

    def make(self, progress: Progress) -> Backup:
        """Make a backup; only one at a time. It is complete on return, absent on error and after a crash.

        Raises
        ------
        BackupRunningError
            If another one is being made, perhaps by another process.
        NoRoomError
            If less than twice the size of the home is free on the disk.
        DiskError
            If the backup cannot be written.
        """
        try:
            with FileLock(self._folder / _LOCK, timeout=0, mode=0o600):
                remove_partials(self._folder, _NAME, locked=True)
                self._check_room()
                name = self._free_name()
                self._home.backup(self._folder / name, progress)
                return self._describe(name)
        except (Timeout, HomeBusyError) as error:
            raise BackupRunningError from error
        except InputError as error:  # about a folder, which a client need not know
            raise DiskError(str(error)) from error
        except OSError as error:
            raise self._failed(error) from error

    def _check_room(self) -> None:
        free, needed = shutil.disk_usage(self._folder).free, 2 * _size_of(self._home.root)
        if free < needed:
            raise NoRoomError(free, needed)

    def _free_name(self) -> str:
        now = datetime.now(UTC).strftime(_TIME)
        names = (now if n == 1 else f"{now}-{n}" for n in count(1))
        return next(name for name in names if not (self._folder / name).exists())

    def _describe(self, name: str) -> Backup:
        began = datetime.strptime(_place(name)[0], _TIME).replace(tzinfo=UTC)
        return Backup(name, _size_of(self._folder / name), began.isoformat(timespec="seconds"))

    def _failed(self, error: OSError) -> DiskError:
        return DiskError(
            f"the folder of the backups {quoted_path(self._folder)} cannot be used ({quoted_error(error)}); "
            "check its disk and try again"
        )


def _place(name: str) -> tuple[str, int]:
    """Return the time in a name, and the number of the backup in this second."""
    found = _NAME.fullmatch(name)
    assert found is not None
    return found[1], int(found[2] or 1)


def _size_of(folder: Path) -> int:
    """Return the bytes of the files in a folder; others may add and remove files meanwhile."""
    return sum(
        (Path(parent) / name).lstat().st_size
        for parent, _, names in os.walk(folder)
        for name in names
        if (Path(parent) / name).is_file()
    )
