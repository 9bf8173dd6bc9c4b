"""Collections: list, create, drop, status, description, synonyms, refit, drift, near-duplicates, push."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from fastapi import APIRouter, Request, Response
from pydantic import ConfigDict

from gem_index.collection import Collection
from gem_index.errors import Action, Advice, UnknownNameError
from gem_index.progress import Progress
from gem_index.server.bodies import StrictBody
from gem_index.server.context import ServerContext
from gem_index.server.events import EVENTS, answer_with_events
from gem_index.server.responses import JsonResponse
from gem_index.server.routing import ADMIN, READ, Context, KeyedRoute
from gem_index.vectors.specification import VectorSpec

__all__ = ["router"]

router = APIRouter(prefix="/collections", tags=["Collections"], route_class=KeyedRoute)


class NewCollection(StrictBody):
    """The body of a request for a new collection.

    ``vectors`` names registered or bundled word vectors, several joined by ``+``.
    """

    model_config = ConfigDict(json_schema_extra={"examples": [{"name": "faq"}]})

    name: str
    vectors: str | None = None
    preset: str | None = None
    index: str | None = None
    language: str | None = None


class DescriptionBody(StrictBody):
    """The body of a request that describes a collection."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"description": "Visa questions"}]})

    description: str


class SynonymsBody(StrictBody):
    """The body of a request that sets synonyms."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"groups": [["VPN", "virtual private network"]]}]}
    )

    groups: list[list[str]]


class PushBody(StrictBody):
    """The body of a request for a push: the name of a database that the server was started with."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"target": "shop"}]})

    target: str
    full: bool = False
    dry_run: bool = False
    texts: bool = True
    drop_unsupported: bool = False


class ExpectedDocuments(StrictBody):
    """A query with the ids of its right documents; none if no document is right."""

    query: str
    expected: list[str]


class CalibrateBody(StrictBody):
    """The body of a request for a calibration: ten queries or more; without them, parts of the documents are the queries."""

    model_config = ConfigDict(json_schema_extra={"examples": [{}]})

    queries: list[ExpectedDocuments] | None = None


class DuplicatesBody(StrictBody):
    """The body of a request for groups of near-duplicates."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"threshold": 0.95}]})

    threshold: float = 0.95
    views: Sequence[str] = ("wording", "meaning")
    overlap: float = 0.7
    contrasts: bool = False
    link: str = "single"
    where: dict[str, Any] | None = None


@router.get("", dependencies=READ)
async def list_all(context: Context) -> dict[str, Any]:
    """List the collections, and the tables of vector databases that are searched as collections are."""
    found = await context.read(context.home.collections)
    return {
        "collections": [asdict(status) for status in found],
        "tables": [{"name": each.name} for each in context.tables],
    }


@router.post("", status_code=201, dependencies=ADMIN)
async def create(asked: NewCollection, context: Context) -> dict[str, Any]:
    """Create an empty collection."""
    context.tables.check_collection(asked.name)

    def work() -> dict[str, Any]:
        if asked.vectors is not None:
            _check_names(asked.vectors, context)
        made = context.home.create_collection(
            asked.name,
            vectors=asked.vectors,
            config=asked.preset,
            index=asked.index,
            language=asked.language,
        )
        return asdict(made.status())

    return await context.write(work)


def _check_names(vectors: str, context: ServerContext) -> None:
    """Refuse word vectors that are not registered: a request may not name a path or a URL."""
    known = {each.name for each in context.home.vectors.list()}
    for part in VectorSpec.parse(vectors).parts:
        if part.name not in known:
            raise UnknownNameError(
                "word vectors",
                part.name,
                known,
                Advice(Action.REGISTER_VECTORS),
            )


@router.get("/{name}", dependencies=READ)
async def status(name: str, context: Context) -> dict[str, Any]:
    """Return the state of a collection."""
    return asdict(await context.ask(name, Collection.status))


@router.put("/{name}/description", dependencies=ADMIN)
async def describe(asked: DescriptionBody, name: str, context: Context) -> dict[str, Any]:
    """Store a description of a collection, and return its state."""

    def work(collection: Collection) -> dict[str, Any]:
        collection.set_description(asked.description)
        return asdict(collection.status())

    return await context.change(name, work)


@router.get("/{name}/synonyms", dependencies=READ)
async def synonyms(name: str, context: Context) -> dict[str, Any]:
    """Return the groups of synonyms of a collection."""
    found = await context.ask(name, lambda collection: collection.synonyms)
    return {"groups": found.groups}


@router.put("/{name}/synonyms", dependencies=ADMIN)
async def set_synonyms(asked: SynonymsBody, name: str, context: Context) -> dict[str, Any]:
    """Store groups of synonyms instead of those stored before; a search uses them at once."""

    def work(collection: Collection) -> dict[str, Any]:
        collection.set_synonyms(asked.groups)
        return {"groups": collection.synonyms.groups}

    return await context.change(name, work)


@router.delete("/{name}", dependencies=ADMIN)
async def drop(name: str, context: Context) -> dict[str, str]:
    """Remove a collection with its documents."""
    context.tables.check_collection(name)
    await context.write(lambda: context.home.drop(name))
    return {"dropped": name}


@router.get("/{name}/drift", dependencies=READ)
async def drift(name: str, context: Context) -> dict[str, Any]:
    """Return how much a refit would change the cosines, and whether the new documents are about new subjects."""
    return asdict(await context.examine(name, Collection.drift))


@router.post("/{name}/duplicates", dependencies=READ)
async def duplicates(asked: DuplicatesBody, name: str, context: Context) -> JsonResponse:
    """Return groups of near-duplicates, the largest first."""
    groups = await context.examine(name, lambda c: c.duplicates(**asked.model_dump()))
    return JsonResponse({"groups": [asdict(group) for group in groups]})


@router.post("/{name}/refit", dependencies=ADMIN, responses=EVENTS)
async def refit(request: Request, name: str, context: Context) -> Response:
    """Fit the model on the present texts."""

    def work(collection: Collection, progress: Progress) -> Mapping[str, Any]:
        collection.refit(progress=progress)
        return asdict(collection.status())

    return await answer_with_events(request, context, name, work)


@router.post("/{name}/calibrate", dependencies=ADMIN, responses=EVENTS)
async def calibrate(
    request: Request, asked: CalibrateBody, name: str, context: Context
) -> Response:
    """Measure the score below which results are weak, and store it: from queries with known documents, or without them."""
    queries = None if asked.queries is None else [each.model_dump() for each in asked.queries]

    def work(collection: Collection, progress: Progress) -> Mapping[str, Any]:
        return asdict(collection.calibrate(queries, progress))

    return await answer_with_events(request, context, name, work)


@router.post("/{name}/push", dependencies=ADMIN, responses=EVENTS)
async def push(request: Request, asked: PushBody, name: str, context: Context) -> Response:
    """Push the collection into a vector database; later pushes send only what has changed."""
    if asked.target not in context.targets:
        advice = "start the server with that target"
        raise UnknownNameError("target", asked.target, context.targets, advice)
    options = asked.model_dump(exclude={"target"})

    def work(collection: Collection, progress: Progress) -> Mapping[str, Any]:
        report = collection.push(context.targets[asked.target], progress=progress, **options)
        return {**asdict(report), "target": asked.target}

    return await answer_with_events(request, context, name, work)
