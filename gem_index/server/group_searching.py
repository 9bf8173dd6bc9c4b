"""Search several collections together."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from fastapi import APIRouter
from pydantic import ConfigDict, Field

from gem_index.server.responses import JsonResponse
from gem_index.server.routing import READ, Context, KeyedRoute
from gem_index.server.searching import SearchBody, answer

__all__ = ["router"]

_MOST = 32

router = APIRouter(tags=["Search"], route_class=KeyedRoute)


class GroupSearchBody(SearchBody):
    """The body of a search in several collections, for one query or several."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"collections": ["faq", "tickets"], "query": "a new passport", "k": 3}]
        }
    )

    collections: Annotated[list[str], Field(min_length=1, max_length=_MOST)]


@router.post("/search", dependencies=READ)
async def search_group(asked: GroupSearchBody, context: Context) -> JsonResponse:
    """Search several collections together; each result names its collection.

    `ranked_by` says how the results of the collections were put into one order. `score`: the collections have one model, and
    their scores can be compared. `rank`: they have several models, or the mode is lexical; the first results of all
    collections come first, then all second ones.
    """
    ask = partial(context.ask_group, asked.collections)
    comparable = await ask(lambda group: group.compares_scores(asked.mode))
    found = await answer(asked, context, ask, len(set(asked.collections)))
    return JsonResponse({**found, "ranked_by": "score" if comparable else "rank"})
