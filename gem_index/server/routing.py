"""What routes have in common: their dependencies, and a quick way for those that are asked thousands of times a second."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, Any, TypeVar

from fastapi import Depends, Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel, ValidationError
from starlette.routing import request_response

from gem_index.server.context import ServerContext
from gem_index.server.security import needs

__all__ = [
    "ADMIN",
    "READ",
    "WRITE",
    "Context",
    "DirectRoute",
    "body_of",
    "context_of",
    "documented",
    "may_read",
]

_Body = TypeVar("_Body", bound=BaseModel)

may_read = needs("read")
READ = [Depends(may_read)]
WRITE = [Depends(needs("write"))]
ADMIN = [Depends(needs("admin"))]


async def context_of(request: Request) -> ServerContext:
    """Return what the routes share."""
    context: ServerContext = request.app.state.context
    return context


Context = Annotated[ServerContext, Depends(context_of)]


class DirectRoute(APIRoute):
    """A route whose function takes the request and returns the response, without FastAPI's dependencies.

    It is in the OpenAPI document as others are; it takes half the time. Its function checks the key itself.
    """

    def __init__(
        self, path: str, endpoint: Callable[[Request], Awaitable[Any]], **options: Any
    ) -> None:
        super().__init__(path, endpoint, **options)
        self.app = request_response(endpoint)


def documented(model: type[BaseModel]) -> dict[str, Any]:
    """Return the part of the OpenAPI document that tells the body of a direct route."""
    schema = model.model_json_schema(ref_template="#/components/schemas/{model}")
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


async def body_of(request: Request, model: type[_Body]) -> _Body:
    """Return the body of a request to a direct route.

    Raises
    ------
    RequestValidationError
        If it is not JSON, or not of the model's form.
    """
    try:
        return model.model_validate_json(await request.body())
    except ValidationError as error:
        problems = [
            {**each, "loc": ("body", *each["loc"])} for each in error.errors(include_url=False)
        ]
        raise RequestValidationError(problems) from error
