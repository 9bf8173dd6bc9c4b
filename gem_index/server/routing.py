"""Dependencies that routes share, and a fast path for routes with thousands of requests per second."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias, TypeVar

from fastapi import Depends, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel, ValidationError
from starlette.routing import request_response

from gem_index.server.context import ServerContext
from gem_index.server.security import needs

__all__ = [
    "ADMIN",
    "KEYS",
    "READ",
    "WRITE",
    "Context",
    "Direct",
    "KeyedRoute",
    "body_of",
    "context_of",
    "may_read",
]

_Body = TypeVar("_Body", bound=BaseModel)
Endpoint: TypeAlias = Callable[[Request], Awaitable[Any]]

may_read = needs("read")
READ = [Depends(may_read)]
WRITE = [Depends(needs("write"))]
ADMIN = [Depends(needs("admin"))]
KEYS = [Depends(needs("keys"))]


async def context_of(request: Request) -> ServerContext:
    """Return the shared context of the routes."""
    context: ServerContext = request.app.state.context
    return context


Context = Annotated[ServerContext, Depends(context_of)]


class _DirectRoute(APIRoute):
    """A route whose function takes the request and returns the response, without FastAPI's dependencies."""

    def __init__(self, path: str, endpoint: Endpoint, **options: Any) -> None:
        super().__init__(path, endpoint, **options)
        self.app = request_response(endpoint)


class KeyedRoute(APIRoute):
    """A route that checks the key before it parses the body (FastAPI would parse the body first)."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler of requests."""
        answer = super().get_route_handler()
        checks = [each.dependency for each in self.dependencies if each.dependency is not None]

        async def check_and_answer(request: Request) -> Response:
            for check in checks:
                await check(request)
            return await answer(request)

        return check_and_answer


@dataclass(frozen=True)
class Direct:
    """A POST route for thousands of requests per second; it is documented like the others and takes half their time.

    Attributes
    ----------
    path : str
    endpoint : callable
        Gets the request, checks the key, reads the body, and returns the response.
    body, answer : type
        The description of request and answer in the OpenAPI document.
    tag : str
    """

    path: str
    endpoint: Endpoint
    body: type[BaseModel]
    answer: Any
    tag: str

    def add_to(self, app: FastAPI, responses: dict[int | str, dict[str, Any]]) -> None:
        """Add the route and its errors to the application directly, because an included router would wrap it."""
        schema = self.body.model_json_schema(ref_template="#/components/schemas/{model}")
        content = {"application/json": {"schema": schema}}
        app.router.add_api_route(
            self.path,
            self.endpoint,
            methods=["POST"],
            tags=[self.tag],
            response_model=self.answer,
            responses=responses,
            openapi_extra={"requestBody": {"required": True, "content": content}},
            route_class_override=_DirectRoute,
        )


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
