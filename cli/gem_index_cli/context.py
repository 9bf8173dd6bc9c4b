"""The options before the command, and the home that they name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from gem_index import Home

__all__ = ["State", "home_of"]


@dataclass(frozen=True)
class State:
    """The values of the options before the command."""

    home: str | None


def home_of(context: typer.Context, *, upgrade: bool = True) -> Home:
    """Open the home that the user named, or the default one."""
    from gem_index import Home

    return Home(context.obj.home, upgrade=upgrade)
