"""Files that commands write."""

from __future__ import annotations

from pathlib import Path

from gem_index.errors import InputError

__all__ = ["check_target"]


def check_target(path: Path, example: str, *endings: str) -> None:
    """Check that an output can be written before hours of work, not after them."""
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise InputError(f"cannot write {path}; expected the name of a file in an existing folder")
    if endings and path.suffix not in endings:
        raise InputError(f"{path} ends in {path.suffix!r}; expected a name such as {example}")
