"""The options before the command, and the home that they name."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from gem_index.errors import Action, Advice, InputError
from gem_index.errors.quoting import quoted_path

if TYPE_CHECKING:
    from gem_index import Home

__all__ = ["State", "home_of"]

_NEED_A_HOME = {
    *(
        "add",
        "backup",
        "calibrate",
        "compact",
        "count",
        "delete",
        "drift",
        "drop",
        "duplicates",
        "export",
        "list",
        "map",
        "neighbours",
        "refit",
    ),
    *("search", "show", "similar", "status", "topics", "verify", "watch"),
}
"""Commands that only make sense for a home that exists."""


@dataclass(frozen=True)
class State:
    """The values of the options before the command."""

    home: str | None


def home_of(context: typer.Context, *, upgrade: bool = True) -> Home:
    """Open the home that the user named, or the default one.

    Raises
    ------
    InputError
        If the named folder does not exist and the command needs a home that exists: a mistyped name would make a new home.
    """
    from gem_index import Home
    from gem_index.files.inputs import user_path

    named = context.obj.home
    if named is not None and context.info_name in _NEED_A_HOME and _is_missing(user_path(named)):
        raise InputError(
            f"the home {quoted_path(named)} does not exist; expected the folder of a home",
            Advice(Action.MAKE_HOME),
        )
    return Home(context.obj.home, upgrade=upgrade)


def _is_missing(path: Path) -> bool:
    try:
        return not path.exists()
    except OSError:
        return False  # a name that no folder can have: opening the home reports that
