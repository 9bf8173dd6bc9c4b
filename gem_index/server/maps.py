"""Maps of collections: made once per fit, and sent with few bytes per document."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
from fastapi import APIRouter, Query, Request, Response

from gem_index.collection import Collection
from gem_index.collection.corpus.results import DocumentMap
from gem_index.progress import Progress
from gem_index.server.errors import MissingMapError
from gem_index.server.events import EVENTS, answer_with_events
from gem_index.server.responses import JsonResponse
from gem_index.server.routing import READ, WRITE, Context, KeyedRoute

__all__ = ["router"]

router = APIRouter(prefix="/collections/{name}/map", tags=["Collections"], route_class=KeyedRoute)


@router.post("", dependencies=WRITE, responses=EVENTS)
async def make(request: Request, name: str, context: Context) -> Response:
    """Place the documents on a plane, similar ones near each other; the map is stored until the next refit."""

    def work(collection: Collection, progress: Progress) -> Mapping[str, Any]:
        made = collection.make_map(progress)
        return {"shown": len(made.ids), "documents": made.documents}

    return await answer_with_events(request, context, name, work, context.examine)


@router.get("", dependencies=READ)
async def read(name: str, context: Context) -> JsonResponse:
    """Return the map of the present fit.

    `places` has x and y of each document, from 0 to 1, as Base64 of float32 (little-endian). `topics` has the position of
    its topic in `words`, as Base64 of bytes, 255 for none.
    """

    def work(collection: Collection) -> Mapping[str, Any]:
        made = _map_of(collection)
        return {
            "documents": made.documents,
            "ids": made.ids,
            "places": b64encode(made.places.astype("<f4").tobytes()).decode(),
            "topics": _bytes_of(made.topics),
            "words": made.words,
            "fields": made.fields,
        }

    return JsonResponse(await context.ask(name, work))


@router.get("/colours", dependencies=READ)
async def colours(
    name: str,
    context: Context,
    field: Annotated[str, Query(description="A metadata field.", examples=["lang"])],
) -> JsonResponse:
    """Return the groups of the map's documents by a metadata field: its most frequent values, or ranges of numbers.

    `codes` has the position of each document's group in `names`, as Base64 of bytes.
    """

    def work(collection: Collection) -> Mapping[str, Any]:
        found = collection.map_colors(_map_of(collection), field)
        return {
            "names": found.names,
            "counts": found.counts,
            "ordered": found.ordered,
            "codes": _bytes_of(found.codes),
        }

    return JsonResponse(await context.ask(name, work))


def _map_of(collection: Collection) -> DocumentMap:
    made = collection.document_map()
    if made is None:
        raise MissingMapError(collection.name)
    return made


def _bytes_of(numbers: npt.NDArray[np.int32]) -> str:
    return b64encode(numbers.astype(np.uint8).tobytes()).decode()
