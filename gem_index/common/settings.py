"""Settings of a process from ``GEM_INDEX_*`` environment variables: the home and the limits."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import platformdirs

from gem_index.errors import ConfigError
from gem_index.errors.quoting import quoted

__all__ = ["DATABASE", "Settings", "available_threads", "load_settings"]

DATABASE = "gem-index.sqlite3"
"""Name of the database of a home, by which its folder is known."""


@dataclass(frozen=True)
class Settings:
    """Settings, each read from the environment variable ``GEM_INDEX_<NAME>``."""

    home: Path
    """The folder that holds the database, vectors and indexes."""

    threads: int
    """Threads for fitting and encoding; by default the processors this process may use."""

    max_record_bytes: int = 4 * 1024 * 1024
    """The longest line of an input file, in bytes; a longer one is an error that names file and line."""

    synchronous: Literal["full", "normal"] = "full"
    """``full``: a batch is on the disk when it is acknowledged. ``normal`` is faster, but a power failure may undo the last
    acknowledged batches, each as a whole; a crash of the process undoes none."""

    lock_timeout: float = 60.0
    """Seconds to wait while another process writes to the home."""

    file_memory: int = 2 << 30
    """Bytes of memory that reading one file of a folder may take."""

    file_seconds: float = 60.0
    """Seconds that reading one file of a folder, or one page of an archive, may take."""

    kernels: str | None = None
    """The level of the compiled kernels: ``baseline``, ``x86-64-v3``, ``x86-64-v4`` or ``debug``, if it is built; by default
    the best one that the processor runs. All compute the same bits."""


def available_threads() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def load_settings() -> Settings:
    """Return the settings of the current environment.

    Raises
    ------
    ConfigError
        If a variable holds a value out of its range.
    """
    found: dict[str, Any] = {}
    for name, (kind, valid, expected) in _VARIABLES.items():
        text = os.environ.get(f"GEM_INDEX_{name.upper()}")
        if text is None:
            continue
        try:
            found[name] = kind(text)
        except ValueError:
            found[name] = None
        if found[name] is None or not valid(found[name]):
            raise ConfigError(
                f"GEM_INDEX_{name.upper()} is {quoted(text)}; expected {expected}: change or unset it"
            )
    found.setdefault("home", platformdirs.user_data_path("gem-index"))
    found.setdefault("threads", available_threads())
    return Settings(**found)


_VARIABLES: dict[str, tuple[Callable[[str], Any], Callable[[Any], bool], str]] = {
    "home": (Path, lambda _: True, "a folder"),
    "threads": (int, lambda n: 1 <= n <= 1024, "a whole number from 1 to 1024"),
    "max_record_bytes": (int, lambda n: n >= 1024, "a whole number of at least 1024"),
    "synchronous": (str, lambda text: text in ("full", "normal"), "full or normal"),
    "file_memory": (int, lambda n: n >= 256 << 20, "a whole number of at least 268435456"),
    "file_seconds": (float, lambda n: 0 < n < math.inf, "seconds, more than 0"),
    "kernels": (
        str,
        lambda text: text in ("baseline", "x86-64-v3", "x86-64-v4", "debug"),
        "baseline, x86-64-v3, x86-64-v4 or debug",
    ),
    "lock_timeout": (float, lambda n: 0 <= n < math.inf, "seconds, at least 0"),
}
