"""The module of each command, so that a process imports and builds only one command.

Building all commands takes 70 ms more of every process, an eighth of a search.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["MODULES", "PANELS", "modules_for"]

MODULES: dict[str, tuple[str, ...]] = {
    "demo": ("demo",),
    "building": ("build", "add"),
    "inspecting": ("inspect",),
    "collections": (
        "refit",
        "status",
        "describe",
        "synonyms",
        "drift",
        "verify",
        "compact",
        "export",
        "backup",
        "drop",
        "import",
    ),
    "search": ("search",),
    "calibrating": ("calibrate",),
    "documents": ("show", "list", "count", "delete", "similar", "neighbours"),
    "corpus": ("duplicates", "topics", "map"),
    "labeling": ("label",),
    "vectors": ("vectors",),
    "models": ("fit", "encode", "explain", "similarity", "rerank", "models"),
    "targets": ("push", "pull", "embed", "targets"),
    "watching": ("watch",),
    "serving": ("serve", "keys"),
    "assistants": ("mcp",),
    "evaluate": ("eval",),
    "database": ("db",),
}
"""The commands and groups that the ``register`` function of each module adds."""

PANELS: dict[str, tuple[str, ...]] = {
    "Start": ("demo", "inspect", "build", "add"),
    "Search": (
        *("search", "similar", "rerank", "explain", "similarity"),
        *("calibrate", "duplicates", "topics", "label", "map"),
    ),
    "Collections": (
        *("status", "describe", "synonyms", "list", "show", "count", "delete", "watch"),
        *("refit", "drift", "verify", "compact", "export", "import", "backup", "drop", "db"),
    ),
    "Vectors and models": ("vectors", "models", "fit", "encode"),
    "Databases": ("push", "pull", "embed", "targets"),
    "Servers": ("serve", "keys", "mcp"),
    "Measure": ("eval",),
}
"""The commands in each panel of the help; ``neighbours``, the former name of ``similar``, is in none."""


def modules_for(arguments: Sequence[str]) -> tuple[str, ...]:
    """Return the module of the chosen command; all modules for the help and for an unknown command.

    Parameters
    ----------
    arguments : sequence of str
        Of the command line, without the program.
    """
    rest = iter(arguments)
    for argument in rest:
        if argument == "--home":
            next(rest, None)
        elif not argument.startswith("--home="):
            asked = tuple(module for module, names in MODULES.items() if argument in names)
            return asked or tuple(MODULES)
    return tuple(MODULES)
