"""Groups of options: the fields of a dataclass as options of a command."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import fields
from functools import wraps
from typing import Any, get_type_hints

__all__ = ["takes"]


def takes(**groups: type) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command a group of options: each field of a dataclass becomes an option.

    ``@takes(config=ConfigOptions)`` calls the command with ``config=ConfigOptions(...)``.
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
            types = get_type_hints(group, include_extras=True)
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
