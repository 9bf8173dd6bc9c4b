"""The package of a module, by which mutants are drawn and counted."""

from __future__ import annotations

from pathlib import Path


def package_of(path: Path) -> str:
    """Return the folder below ``gem_index`` in which a module lies; ``cli`` for the command line."""
    first, *folders, _ = path.parts
    return folders[0] if folders and first != "cli" else first
