"""Settings of a process: where the home is and the limits, from ``GEM_INDEX_*`` environment variables."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

import platformdirs
from pydantic import Field, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from gem_index.errors import ConfigError

__all__ = ["Settings", "available_threads", "load_settings"]


class Settings(BaseSettings):
    """Settings, each read from the environment variable ``GEM_INDEX_<NAME>``."""

    model_config = SettingsConfigDict(env_prefix="GEM_INDEX_", frozen=True)

    home: Path = Field(default_factory=lambda: platformdirs.user_data_path("gem-index"))
    """The folder that holds the database, vectors and indexes."""

    threads: int = Field(default_factory=lambda: available_threads(), ge=1, le=1024)
    """Threads for fitting and encoding; by default the processors this process may use."""

    max_record_bytes: int = Field(default=4 * 1024 * 1024, ge=1024)
    """The longest line of an input file, in bytes; a longer one is refused by name."""

    synchronous: Literal["full", "normal"] = "full"
    """``full``: a batch is on the disk when it is acknowledged. ``normal`` is faster; a power cut may take back the last
    acknowledged batches, whole ones, a crash of the process none."""

    lock_timeout: float = Field(default=60.0, ge=0)
    """Seconds to wait while another process writes to the home."""


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
    try:
        return Settings()
    except ValidationError as error:
        first = error.errors()[0]
        name = "_".join(str(part) for part in first["loc"])
        raise ConfigError(
            f"GEM_INDEX_{name.upper()} is {first['input']!r}: {first['msg']}"
        ) from error
