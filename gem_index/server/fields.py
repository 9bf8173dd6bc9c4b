"""The metadata fields of a collection, and how many documents have each of their values."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import ConfigDict, Field

from gem_index.collection import Collection
from gem_index.server.bodies import Several, StrictBody
from gem_index.server.routing import READ, Context, KeyedRoute

__all__ = ["router"]

router = APIRouter(prefix="/collections/{name}", tags=["Documents"], route_class=KeyedRoute)
_MOST_FIELDS = 20


class CountBody(StrictBody):
    """The body of a request that counts documents by the values of metadata fields."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"by": ["lang"], "where": {"lang": {"$ne": "de"}}, "limit": 10}]
        }
    )

    by: Annotated[
        Several[str],
        Field(max_length=_MOST_FIELDS, description="Fields; without one, documents are counted."),
    ] = Field(default_factory=list)
    where: dict[str, Any] | None = Field(
        default=None, description="Count only the documents that this filter accepts."
    )
    limit: Annotated[int, Field(ge=1, le=1000)] = Field(
        default=20, description="The largest number of values of a field, the most frequent first."
    )


@router.get("/fields", dependencies=READ)
async def fields(name: str, context: Context) -> dict[str, Any]:
    """Return the metadata fields of a sample of documents: the kinds of their values, and the most frequent ones."""
    found = await context.ask(name, Collection.metadata_fields, pool="long")
    return {"fields": [asdict(field) for field in found]}


@router.post("/count", dependencies=READ)
async def count(asked: CountBody, name: str, context: Context) -> dict[str, Any]:
    """Count documents, and how many have each value of some metadata fields."""

    def work(collection: Collection) -> dict[str, Any]:
        counts = [collection.count_by(field, asked.where, asked.limit) for field in asked.by]
        documents = counts[0].documents if counts else collection.count(asked.where)
        return {"documents": documents, "counts": [asdict(each) for each in counts]}

    return await context.ask(name, work, pool="long")
