"""The interface of Weaviate's servers of vectors (text2vec-transformers): /vectors, /meta and readiness."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from fastapi import APIRouter, Response
from pydantic import BaseModel, ConfigDict

from gem_index.server.models import DEFAULT
from gem_index.server.openai import encode
from gem_index.server.responses import JsonResponse
from gem_index.server.routing import READ, Context, KeyedRoute

__all__ = ["router"]

router = APIRouter(tags=["Weaviate"], route_class=KeyedRoute)


class VectorsRequest(BaseModel):
    """The body of a request for the vector of a text; ``config`` is not used, because there is one pooling."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"text": "renew a passport"}]})

    text: str
    model: str = DEFAULT
    config: dict[str, Any] | None = None


@router.post("/vectors", dependencies=READ)
async def vectors(asked: VectorsRequest, context: Context) -> JsonResponse:
    """Return the unit vector of a text."""
    [vector] = await encode(context, asked.model, [asked.text])
    return JsonResponse({"text": asked.text, "vector": vector, "dim": len(vector)})


@router.get("/meta", dependencies=READ)
async def meta() -> dict[str, Any]:
    """Return the description that Weaviate shows."""
    return {"model_name": DEFAULT, "version": version("gem-index")}


@router.get("/.well-known/live", status_code=204)
@router.get("/.well-known/ready", status_code=204)
async def ready() -> Response:
    """Tell that the server answers."""
    return Response(status_code=204)
