"""Bodies of requests, and their errors."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Annotated, Any, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict, Field, model_validator

from gem_index.errors.quoting import quoted

__all__ = ["Several", "StrictBody", "expectation", "problem_of"]

_ALTERNATIVE = re.compile(r"str|bool|float|(list|dict)\[.*|[A-Z]\w*Request")
"""The names that pydantic adds to a location for each type that a value could have."""


_Item = TypeVar("_Item")

Several: TypeAlias = Annotated[list[_Item], Field(fail_fast=True)]
"""A list in a request that stops at the first wrong item: the errors of all would take 1,000 times the body's memory."""


class StrictBody(BaseModel):
    """A body with only the documented fields: a misspelled field would change the meaning of a request.

    The imitated interfaces also accept other fields, because their clients send fields that gem-index does not use.
    """

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _leave_out_all_but_one_that_is_wrong(cls, found: Any) -> Any:
        """Stop early, so that pydantic does not describe each of a million fields."""
        if not isinstance(found, dict):
            return found
        known = {each.alias or name for name, each in cls.model_fields.items()} | {
            *cls.model_fields
        }
        others = (name for name in found if name not in known)
        return {name: found[name] for name in (*(known & found.keys()), *islice(others, 1))}


def problem_of(errors: Sequence[Mapping[str, Any]]) -> str:
    """Return an error of one line from the errors of pydantic."""
    first = errors[0]
    # if a list may be of several types: the wrong item, not the list
    first = next((each for each in errors if _is_deeper(each, first)), first)
    place = ".".join(
        str(part) for part in first["loc"][1:] if not _ALTERNATIVE.fullmatch(str(part))
    )
    if first["type"] == "missing":
        return f"found no {f'field {quoted(place)}' if place else 'body'}; expected one"
    if first["type"] == "extra_forbidden":
        return f"found the field {quoted(place)}; expected none of that name"
    return f"{place or 'the body'}: found {quoted(first.get('input'))}; expected {expectation(first['msg'])}"


def expectation(message: str) -> str:
    """Return what pydantic expected: "Input should be a valid string" says "a valid string"."""
    return re.sub(r"^\w+ should (be |have )", "", message)


def _is_deeper(error: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return error["loc"][:2] == other["loc"][:2] and len(error["loc"]) > len(other["loc"])
