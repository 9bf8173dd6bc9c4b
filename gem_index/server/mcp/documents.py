"""Tools on whole documents: read and add."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, Field

from gem_index.documents import Document
from gem_index.errors import InputError
from gem_index.errors.quoting import quoted
from gem_index.readers import documents_from
from gem_index.server.bodies import Several, StrictBody
from gem_index.server.mcp.shared import (
    Answer,
    Arguments,
    CollectionName,
    Identifier,
    SharedCollections,
    counted,
    from_json,
)

__all__ = ["AddAnswer", "AddArguments", "ReadAnswer", "ReadArguments", "add", "read"]


def _one_or_several(given: object) -> object:
    found = from_json(given)
    return [found] if isinstance(found, str) else found


class ReadArguments(Arguments):
    """The ids of documents."""

    collection: CollectionName
    ids: Annotated[Several[Identifier], BeforeValidator(_one_or_several)] = Field(
        description="Ids of documents, as search returns them.", min_length=1, max_length=20
    )
    max_characters: int | None = Field(
        default=None,
        ge=1,
        description="The largest number of characters of each text to return; all by default.",
    )
    offset: int = Field(
        default=0, ge=0, description="The first character of each text to return, counted from 0."
    )


class WholeDocument(BaseModel):
    """A document."""

    id: str
    text: str
    characters: int = Field(description="The length of the complete text.")
    shortened: bool = Field(description="Whether the text continues after this part.")
    metadata: dict[str, Any]


class ReadAnswer(Answer):
    """Whole documents."""

    collection: str
    documents: list[WholeDocument]
    missing: list[str] = Field(description="Ids that the collection does not have.")

    @property
    def summary(self) -> str:
        """The number of documents."""
        missing = f"; {len(self.missing)} missing" if self.missing else ""
        return f"{counted(len(self.documents), 'document')} of {self.collection}{missing}."


async def read(shared: SharedCollections, asked: ReadArguments) -> ReadAnswer:
    """Return complete documents, in the order of the ids."""
    ids = list(dict.fromkeys(asked.ids))
    found = await shared.ask_searched(asked.collection, lambda collection: collection.get(ids))
    rows = {each.id: each for each in found}
    if not rows:
        raise InputError(
            f"the collection {asked.collection} has no document {quoted(ids[0])}; expected an id that search returned"
        )
    return ReadAnswer(
        collection=asked.collection,
        documents=[
            _shown(rows[name], asked.offset, asked.max_characters) for name in ids if name in rows
        ],
        missing=[name for name in ids if name not in rows],
    )


def _shown(document: Document, offset: int, most: int | None) -> WholeDocument:
    text = str(document.text)
    end = len(text) if most is None else offset + most
    return WholeDocument(
        id=document.id,
        text=text[offset:end],
        characters=len(text),
        shortened=end < len(text),
        metadata=dict(document.metadata),
    )


class NewDocument(StrictBody):
    """A document to store."""

    id: Identifier | None = Field(
        default=None, description="Unique in the collection; made from the text if it is left out."
    )
    text: str = Field(min_length=1)
    metadata: dict[str, Any] = Field(
        default_factory=dict, description="Values for filters and for readers of the results."
    )


class AddArguments(Arguments):
    """Documents."""

    collection: CollectionName
    documents: Several[NewDocument] = Field(min_length=1, max_length=100)


class AddAnswer(Answer):
    """The counts and ids of stored documents."""

    collection: str
    ids: list[str] = Field(description="The ids of the given documents, in their order.")
    added: int
    updated: int
    unchanged: int
    documents: int = Field(description="Number of documents in the collection now.")

    @property
    def summary(self) -> str:
        """The number of stored documents."""
        return (
            f"{self.added} added, {self.updated} updated, {self.unchanged} unchanged; {self.collection} holds "
            f"{counted(self.documents, 'document')} now."
        )


async def add(shared: SharedCollections, asked: AddArguments) -> AddAnswer:
    """Store documents by id, in one transaction."""
    shared.context.check_texts([each.text for each in asked.documents])
    documents = [_document(each) for each in asked.documents]
    report = await shared.change(asked.collection, lambda collection: collection.upsert(documents))
    return AddAnswer(
        collection=asked.collection,
        ids=[each.id for each in documents],
        added=report.added,
        updated=report.updated,
        unchanged=report.unchanged,
        documents=report.documents,
    )


def _document(asked: NewDocument) -> Document:
    if asked.id is not None:
        return Document(id=asked.id, text=asked.text, metadata=asked.metadata)
    [named] = documents_from([asked.text])
    return Document(id=named.id, text=asked.text, metadata=asked.metadata)
