"""Search a collection, re-rank with its model, explain."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Annotated, Any, Literal

from fastapi import APIRouter
from pydantic import ConfigDict, Field

from gem_index.collection import Collection
from gem_index.collection.push.searching import SearchedTarget
from gem_index.collection.request import check_queries
from gem_index.collection.results import SearchResult, SearchResults
from gem_index.errors import InputError
from gem_index.gem.reranking import rerank as rerank_texts
from gem_index.home.collection_group import CollectionGroup
from gem_index.server.bodies import Several, StrictBody
from gem_index.server.context import Pool, ServerContext, search_pool
from gem_index.server.encoding import SHORT, work_of
from gem_index.server.errors import MissingDocumentError, TooLargeError
from gem_index.server.responses import JsonResponse
from gem_index.server.routing import READ, Context, KeyedRoute

__all__ = ["SearchBody", "answer", "router"]

_EXPLAINED = 10_000  # largest number of characters of a text whose words are paired with the words of another text
_EXPLAINED_QUERY = (
    1000  # the same for a query: it is shorter, because documents can have any length
)
_MOST_EXPLAINED = 100  # hits
_MOST_HITS = 10_000  # results of all queries of a request together
_PLAIN_HITS = 100  # a search for more results runs with the long reads, not with plain searches
_SLICE_HITS = 1000  # results, and
_SLICE_WORK = 20_000  # characters of the queries that are searched at once

router = APIRouter(prefix="/collections/{name}", tags=["Search"], route_class=KeyedRoute)


class SearchBody(StrictBody):
    """The body of a search, for one query or several."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"query": "a new passport", "k": 3, "where": {"lang": "en"}}]
        }
    )

    query: str | None = None
    queries: Several[str] | None = None
    k: Annotated[int, Field(ge=1, le=10_000)] = 10
    mode: str | None = None
    fusion: str = "weighted"
    where: dict[str, Any] | None = None
    min_score: float | Literal["auto"] | None = Field(
        default=None,
        description="Only results with at least this score. auto: the score that a calibration of the collection stored.",
    )
    rerank: bool = False
    why: bool = False
    pairs: Annotated[int, Field(ge=0)] | None = Field(
        default=None,
        description="With why: the largest number of word pairs to return for a result, strongest first. By default all.",
    )
    collapse: bool | float = False
    pieces: bool = False
    exact: bool = False
    correct: bool = True
    offset: Annotated[int, Field(ge=0, le=10_000)] = Field(
        default=0, description="How many of the best results to leave out, for the next page."
    )
    boost: str | None = Field(
        default=None,
        description="Prefer recent documents, created_at:30d, or large numbers of a field, votes:10.",
    )
    sort_by: str | None = Field(
        default=None,
        description="Return the results in the order of a field; -FIELD: the largest first.",
    )

    def search_options(self) -> dict[str, Any]:
        """Return the options of a search, beside its queries and its k."""
        return self.model_dump(
            include=set(SearchBody.model_fields) - {"query", "queries", "k", "pairs"}
        )


class RerankBody(StrictBody):
    """The body of a request for a re-ranking with a collection's model."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"query": "a new passport", "candidates": ["renew a passport", "a bank"]}]
        }
    )

    query: str
    candidates: Several[str]
    top_n: Annotated[int, Field(ge=1)] | None = None


class ExplainBody(StrictBody):
    """The body of a request that explains a text, or why two texts match."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"text": "a new passport", "with": "renew a passport"}]},
        populate_by_name=True,
    )

    text: str
    other: str | None = Field(default=None, alias="with")


class SimilarBody(StrictBody):
    """The body of a request for the documents nearest to one."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"id": "1", "k": 5}]})

    id: str
    k: Annotated[int, Field(ge=1, le=10_000)] = 10
    where: dict[str, Any] | None = None


@router.post("/search", dependencies=READ)
async def search(asked: SearchBody, name: str, context: Context) -> JsonResponse:
    """Search for one query, or for several at once."""
    return JsonResponse(await answer(asked, context, partial(context.ask_searched, name)))


async def answer(
    asked: SearchBody,
    context: ServerContext,
    ask: Callable[..., Awaitable[Any]],
    collections: int = 1,
) -> dict[str, Any]:
    """Return the answer to a search.

    Parameters
    ----------
    asked : SearchBody
    context : ServerContext
    ask : callable
        Calls a function with the collection in a thread; ``pool`` as for :meth:`ServerContext.read`.
    collections : int
        Number of collections that are searched.
    """
    if (asked.query is None) == (asked.queries is None):
        found = "neither query nor queries" if asked.query is None else "query and queries"
        raise InputError(f"found {found}; expected one of them")
    if asked.why and asked.k > _MOST_EXPLAINED:
        raise InputError(
            f"k is {asked.k} with why; expected at most {_MOST_EXPLAINED} results with an explanation"
        )
    several = asked.queries is not None
    given = asked.queries if asked.queries is not None else [asked.query]
    context.check_texts(given)
    queries = [context.check_query(each) for each in given]
    if asked.why:
        _check_lengths(queries, _EXPLAINED_QUERY, "query")
    if collections * len(queries) * (asked.k + asked.offset) > _MOST_HITS:
        of = f" in {collections} collections" if collections > 1 else ""
        raise TooLargeError(
            f"found {len(queries)} queries{of} with k {asked.k} and offset {asked.offset}; expected at most {_MOST_HITS} "
            "results per request, with those that the offset leaves out"
        )
    options = asked.search_options()

    def search_part(
        searched: Collection | SearchedTarget | CollectionGroup, part: Sequence[str]
    ) -> list[dict[str, Any]]:
        if several:
            answers = searched.search_many(part, asked.k, **options)
        else:
            answers = [searched.search(part[0], asked.k, **options)]
        return [
            {
                "query": query,
                "results": [
                    _shortened(hit, asked.pairs).to_dict(
                        why=asked.why, similar=bool(asked.collapse)
                    )
                    for hit in hits
                ],
                "corrected": dict(hits.corrected),
                **({"synonyms": dict(hits.synonyms)} if hits.synonyms else {}),
            }
            for query, hits in zip(part, answers, strict=True)
        ]

    plain = not (
        several or asked.why or asked.rerank or asked.boost or asked.pieces or asked.collapse
    )
    pool = search_pool(
        long=not plain or collections > 1 or asked.k > _PLAIN_HITS or work_of(queries) > SHORT,
        alone=asked.where or asked.offset,
    )
    if several:  # each part would number its queries from 1
        check_queries(queries, asked.k, **options)
    searches: list[dict[str, Any]] = []
    for part in _slices(queries, asked.k * collections):
        searches += await ask(partial(search_part, part=part), pool=pool)
    return {"searches": searches} if several else searches[0]


def _slices(queries: list[str], k: int) -> Iterator[list[str]]:
    """Divide queries into parts that are searched at once; other requests have their turn after each part."""
    part: list[str] = []
    work = 0
    for query in queries:
        work += len(query)
        if part and (len(part) * k >= _SLICE_HITS or work > _SLICE_WORK):
            yield part
            part, work = [], len(query)
        part.append(query)
    yield part


def _shortened(hit: SearchResult, pairs: int | None) -> SearchResult:
    """Return a result with only its strongest pairs of words."""
    if hit.why is None or pairs is None:
        return hit
    return replace(hit, why=replace(hit.why, pairs=hit.why.pairs[:pairs]))


@router.post("/similar", dependencies=READ)
@router.post("/neighbours", dependencies=READ, include_in_schema=False)
async def similar(asked: SimilarBody, name: str, context: Context) -> JsonResponse:
    """Return the documents that are nearest in meaning to a document, without itself."""

    def work(collection: Collection) -> SearchResults:
        if not collection.get([asked.id]):
            raise MissingDocumentError(name, asked.id)
        return collection.similar(asked.id, asked.k, asked.where)

    hits = await context.ask(name, work, pool="alone")
    return JsonResponse({"id": asked.id, "results": [hit.to_dict() for hit in hits]})


@router.post("/rerank", dependencies=READ)
async def rerank(asked: RerankBody, name: str, context: Context) -> JsonResponse:
    """Order candidates by their cosine with a query."""
    texts = context.check_texts(asked.candidates)
    query = context.check_query(asked.query)
    pool: Pool = "long" if work_of([query, *texts]) > SHORT else "alone"
    found = await context.ask_searched(
        name, lambda each: rerank_texts(query, texts, each.encoder, asked.top_n), pool=pool
    )
    return JsonResponse({"query": asked.query, "results": [asdict(each) for each in found]})


@router.post("/explain", dependencies=READ)
async def explain(asked: ExplainBody, name: str, context: Context) -> JsonResponse:
    """Return the weights of a text's words, or how much each pair of words adds to the cosine of two texts."""
    texts = context.check_texts([asked.text] if asked.other is None else [asked.text, asked.other])
    _check_lengths(texts, _EXPLAINED, "text")

    def work(collection: Collection | SearchedTarget) -> Any:
        encoder = collection.encoder
        return encoder.explain(texts[0]) if len(texts) == 1 else encoder.explain_match(*texts)

    pool: Pool = "long" if work_of(texts) > SHORT else "alone"
    return JsonResponse(asdict(await context.ask_searched(name, work, pool=pool)))


def _check_lengths(texts: Sequence[str], most: int, what: str) -> None:
    for place, text in enumerate(texts):
        if len(text) > most:
            raise TooLargeError(
                f"{what} {place} has {len(text)} characters; expected at most {most} of one that is explained"
            )
