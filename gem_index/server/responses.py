"""Answers as JSON, written in one step from dataclasses and numpy rows."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, is_dataclass
from typing import Any

import orjson
from starlette.responses import Response

__all__ = ["JsonResponse", "to_json"]

_OPTIONS = orjson.OPT_SERIALIZE_NUMPY


class JsonResponse(Response):
    """A response whose body is JSON."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """Return the body."""
        return to_json(content)


def to_json(content: Any) -> bytes:
    """Return a value as JSON."""
    try:
        return orjson.dumps(content, _plain, _OPTIONS)
    except TypeError:  # whole numbers of more than 64 bits
        return json.dumps(content, default=_plain, allow_nan=False).encode()


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} is not JSON")
