"""Groups of options: the fields of a dataclass as options of a command."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from copy import copy
from dataclasses import fields
from functools import wraps
from typing import Annotated, Any, get_args, get_type_hints

__all__ = ["takes"]


def takes(**groups: type) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command a group of options: each field of a dataclass becomes an option.

    ``@takes(config=ConfigOptions)`` calls the command with ``config=ConfigOptions(...)``. If the dataclass has a ``PANEL``,
    the help shows its options in a panel of that name, except those in ``EVERYDAY``, which are among the command's own.
    """

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        signature = inspect.signature(command)
        hints = get_type_hints(command, include_extras=True)
        parameters = [
            p.replace(annotation=hints[p.name])
            for p in signature.parameters.values()
            if p.name not in groups
        ]
        for group in groups.values():
            types = _types(group)
            parameters += [
                inspect.Parameter(
                    f.name,
                    inspect.Parameter.KEYWORD_ONLY,
                    default=f.default,
                    annotation=types[f.name],
                )
                for f in fields(group)
            ]

        @wraps(command)
        def call(**values: Any) -> Any:
            for name, group in groups.items():
                values[name] = group(**{f.name: values.pop(f.name) for f in fields(group)})
            return command(**values)

        call.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        call.__annotations__ = {p.name: p.annotation for p in parameters}
        return call

    return decorate


def _types(group: type) -> dict[str, Any]:
    """Return the annotation of each option of a group, with the panel of the help that shows it."""
    types = get_type_hints(group, include_extras=True)
    panel = getattr(group, "PANEL", None)
    everyday = getattr(group, "EVERYDAY", ())
    for field in fields(group):
        if panel is not None and field.name not in everyday:
            kind, option = get_args(types[field.name])
            option = copy(option)
            option.rich_help_panel = panel
            types[field.name] = Annotated[kind, option]
    return types
