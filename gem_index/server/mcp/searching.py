"""Tools that find: list_collections and search."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, Field

from gem_index.collection import Collection
from gem_index.collection.push.searching import SearchedTarget
from gem_index.collection.results import SearchResult, SearchResults
from gem_index.collection.state.metadata_fields import MetadataField
from gem_index.errors import GemIndexError
from gem_index.home.collection_group import CollectionGroup
from gem_index.server.context import search_pool
from gem_index.server.encoding import SHORT
from gem_index.server.errors import ADVICE_FOR_ASSISTANTS, message_for
from gem_index.server.mcp.explaining import WordPair, pairs_of
from gem_index.server.mcp.shared import (
    Answer,
    Arguments,
    Rounded,
    SharedCollections,
    counted,
    from_json,
)

__all__ = [
    "ListAnswer",
    "ListArguments",
    "SearchAnswer",
    "SearchArguments",
    "list_collections",
    "search",
]

_SHOWN = 500  # characters of a found text
_WHY = 5  # pairs of words for each result


class ListArguments(Arguments):
    """No arguments."""


class FieldOfMetadata(BaseModel):
    """A field of the metadata."""

    name: str
    kinds: list[str] = Field(description="The kinds of its values, such as number, text, ISO date.")
    values: list[Any] = Field(description="Frequent values.")


class CollectionSize(BaseModel):
    """A collection."""

    name: str
    description: str = Field(description="A description of the documents; empty if there is none.")
    documents: int = Field(
        description="Number of documents; of a table of a vector database, the number of its rows, which may be pieces."
    )
    fields: list[FieldOfMetadata] = Field(
        description="The fields of the metadata, for filters, the most frequent first; of a sample of the documents."
    )


class ListAnswer(Answer):
    """The collections."""

    collections: list[CollectionSize]

    @property
    def summary(self) -> str:
        """How many."""
        return f"{counted(len(self.collections), 'collection')}."


async def list_collections(shared: SharedCollections, _asked: ListArguments) -> ListAnswer:
    """Return the names of the collections, their descriptions and sizes, and the fields of their metadata."""
    rows = [
        _size(
            status.name,
            status.description,
            status.documents,
            await shared.ask(status.name, Collection.metadata_fields, pool="long"),
        )
        for status in await shared.listed()
    ]
    for table in shared.context.tables:
        try:
            number, fields = await shared.ask_searched(
                table.name, lambda each: (each.count(), each.metadata_fields())
            )
            rows.append(_size(table.name, "", number, fields))
        except GemIndexError as error:  # the assistant can still use the others
            problem = message_for(error, ADVICE_FOR_ASSISTANTS)
            rows.append(_size(table.name, f"It cannot be searched now: {problem}", 0, []))
    return ListAnswer(collections=rows)


def _size(
    name: str, description: str, documents: int, fields: list[MetadataField]
) -> CollectionSize:
    return CollectionSize(
        name=name,
        description=description,
        documents=documents,
        fields=[
            FieldOfMetadata(name=each.name, kinds=list(each.kinds), values=list(each.values))
            for each in fields
        ],
    )


class SearchArguments(Arguments):
    """A query."""

    collection: str = Field(
        description="Name of a collection, as list_collections returns it. Several names joined by commas are searched "
        "together.",
        max_length=1000,
    )
    query: str = Field(
        description="What to find, in the words that a text about it would use: a question, a sentence or a few keywords, "
        "in the language of the texts.",
        min_length=1,
        max_length=10_000,
    )
    k: int = Field(default=10, ge=1, le=50, description="At most this many documents.")
    offset: int = Field(
        default=0,
        ge=0,
        le=1000,
        description="How many of the best documents to leave out, for the next ones.",
    )
    mode: Literal["hybrid", "dense", "lexical"] = Field(
        default="hybrid",
        description="How documents are compared with the query. hybrid: by meaning and by words, best in most cases. dense: "
        "by meaning alone, also without a common word. lexical: by common words alone (BM25), for names, numbers, codes and "
        "exact terms.",
    )
    where: Annotated[dict[str, Any] | None, BeforeValidator(from_json)] = Field(
        default=None,
        description='Only documents whose metadata match, such as {"lang": "en", "year": {"$gte": 2020}}: every entry must '
        "hold. A value stands for equality; an object holds operators: $eq, $ne, $in, $nin (with a list), $gt, $gte, $lt, "
        '$lte, $exists (true or false), $contains and $like. {"$and": [...]}, {"$or": [...]} and {"$not": {...}} join '
        "filters. A field that no document has is an error that names the existing fields.",
    )
    min_score: float | Literal["auto"] | None = Field(
        default=None,
        description="Only documents with at least this score. auto: the score of the collection's calibration, below which "
        "documents are weak; an error if the collection is not calibrated.",
    )
    boost: str | None = Field(
        default=None,
        description="Prefer recent documents, or large numbers of a metadata field: created_at:30d (or h, w, y), votes:10.",
    )
    sort_by: str | None = Field(
        default=None,
        description="Return the found documents in the order of a metadata field; -year: the largest or latest first.",
    )
    why: bool = Field(
        default=False, description="Also return which words make each document match in meaning."
    )


class Found(BaseModel):
    """A found document."""

    id: str
    score: Rounded = Field(
        description="hybrid: at most 1, or a little more if the collection has synonyms; dense: the cosine, -1 to 1; "
        "lexical: BM25. Comparable within one search of one collection; of several collections with different models, "
        "only their order counts."
    )
    text: str = Field(
        description="The text; of a long text, the part that matches best or the beginning."
    )
    shortened: bool = Field(
        description="Whether the document's text is longer; read returns all of it."
    )
    metadata: dict[str, Any]
    weak: bool | None = Field(
        default=None,
        description="Whether the score is so low that the document is probably no answer. Absent if the collection is not "
        "calibrated.",
    )
    collection: str | None = Field(
        default=None, description="The document's collection, if several are searched."
    )
    heading: str | None = Field(default=None, description="The headings above the shown part.")
    page: int | None = Field(default=None, description="The page on which the shown part begins.")
    why: list[WordPair] | None = Field(default=None, description="The strongest pairs of words.")


class SearchAnswer(Answer):
    """Found documents."""

    collection: str
    results: list[Found] = Field(description="Best first.")
    corrected: dict[str, str] = Field(
        description="Words of the query that no document contains, each with the word that replaced it."
    )
    synonyms: dict[str, list[str]] = Field(
        default_factory=dict,
        description="Forms in the query that have synonyms, each with the other forms that were searched for.",
    )

    @property
    def summary(self) -> str:
        """How many were found."""
        return f"{counted(len(self.results), 'document')} of {self.collection}, best first."


async def search(shared: SharedCollections, asked: SearchArguments) -> SearchAnswer:
    """Return the documents that match a query best."""
    query = shared.context.check_query(asked.query)

    def work(collection: Collection | SearchedTarget | CollectionGroup) -> SearchResults:
        return collection.search(
            query,
            asked.k,
            asked.where,
            mode=asked.mode,
            min_score=asked.min_score,
            why=asked.why,
            offset=asked.offset,
            boost=asked.boost,
            sort_by=asked.sort_by,
        )

    names = [each.strip() for each in asked.collection.split(",")]
    if len(names) > 1:
        hits = await shared.ask_group(names, work)
    else:
        pool = search_pool(
            long=asked.why or len(query) > SHORT,
            alone=asked.where or asked.offset or asked.boost,
        )
        hits = await shared.ask_searched(asked.collection, work, pool=pool)
    return SearchAnswer(
        collection=asked.collection,
        results=[_found(hit) for hit in hits],
        corrected=dict(hits.corrected),
        synonyms={form: list(others) for form, others in hits.synonyms.items()},
    )


def _found(hit: SearchResult) -> Found:
    part = hit.text if hit.piece is None else hit.piece.text
    text = part if len(part) <= _SHOWN else part[:_SHOWN].rstrip() + "…"
    return Found(
        id=hit.id,
        score=hit.score,
        text=text,
        shortened=len(part) > _SHOWN or len(part) < len(hit.text),
        metadata=dict(hit.metadata),
        weak=hit.weak,
        collection=hit.collection,
        heading=(hit.piece.heading or None) if hit.piece else None,
        page=hit.piece.page if hit.piece else None,
        why=pairs_of(hit.why, _WHY) if hit.why else None,
    )
