"""The rows of documents in a vector database: one per document, or one per piece."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gem_index.errors import ConfigError
from gem_index.errors.quoting import quoted
from gem_index.text.chunking import Chunking, Piece

__all__ = [
    "PLACE",
    "PieceRows",
    "left_rows",
    "piece_fields",
    "piece_id",
    "piece_of",
    "piece_rows",
    "row_ids",
    "taken_id",
]

_ALWAYS = ("parent", "piece", "start", "end")
PLACE = (*_ALWAYS, "heading", "page")
"""The metadata that a row of a piece has in addition to its document's."""


@dataclass(frozen=True)
class PieceRows:
    """Rows; the rows of a document are in order.

    Attributes
    ----------
    ids, texts, metadata : sequence (p,)
        The rows as documents; the metadata of a piece include its document's id, its number and its place.
    embedded : list of str (p,)
        What is embedded of each.
    counts : list of int (n,)
        How many rows each document has.
    """

    ids: Sequence[str]
    texts: Sequence[str]
    metadata: Sequence[Mapping[str, Any]]
    embedded: Sequence[str]
    counts: Sequence[int]

    @property
    def of_pieces(self) -> list[str]:
        """The ids of rows of pieces."""
        return [
            name
            for name, fields in zip(self.ids, self.metadata, strict=True)
            if piece_of(name, fields)
        ]


def row_ids(document_id: str, pieces: int) -> list[str]:
    """Return the ids of a document's rows: the id of the document, or ``id#1``, ``id#2``, ... if it has pieces."""
    if pieces == 1:
        return [document_id]
    return [piece_id(document_id, number) for number in range(1, pieces + 1)]


def piece_id(document_id: str, number: int) -> str:
    """Return the id of the row of a document's piece; the first has the number 1."""
    return f"{document_id}#{number}"


def piece_of(row_id: str, metadata: Mapping[str, Any]) -> tuple[str, int] | None:
    """Return the document's id and the number of a row's piece; None if the row is a document."""
    if not set(_ALWAYS) <= set(metadata):
        return None
    parent, number = metadata["parent"], metadata["piece"]
    if type(number) is not int or row_id != piece_id(parent, number):
        return None  # metadata of the user's own
    return str(parent), number


def piece_fields(parent: str, number: int, piece: Piece) -> dict[str, Any]:
    """Return the metadata that a piece adds to the metadata of its document; heading and page only if it has them."""
    place = {"parent": parent, "piece": number, "start": piece.start, "end": piece.end}
    known = {"heading": piece.heading, "page": piece.page}
    return {**place, **{name: value for name, value in known.items() if value}}


def piece_rows(
    chunking: Chunking,
    ids: Sequence[str],
    texts: Sequence[str],
    metadata: Sequence[Mapping[str, Any]],
) -> PieceRows:
    """Divide documents into rows; without long documents the rows are the documents."""
    cut = {
        place: pieces
        for place, text in enumerate(texts)
        if len(text) >= chunking.shortest and len(pieces := chunking.pieces(text)) > 1
    }
    if not cut:
        return PieceRows(ids, list(map(str, texts)), metadata, texts, [1] * len(ids))
    rows: list[tuple[str, str, Mapping[str, Any], str]] = []
    for place, (name, text, fields) in enumerate(zip(ids, texts, metadata, strict=True)):
        if place not in cut:
            rows.append((name, str(text), fields, text))
        for number, piece in enumerate(cut.get(place, ()), 1):
            rows.append(
                (
                    piece_id(name, number),
                    text[piece.start : piece.end],
                    {**fields, **piece_fields(name, number, piece)},
                    chunking.embedded(text, piece),
                )
            )
    names, parts, fields_of, embedded = zip(*rows, strict=True)
    counts = [len(cut.get(place, (None,))) for place in range(len(ids))]
    return PieceRows(names, parts, fields_of, embedded, counts)


def left_rows(ids: Sequence[str], counts: Sequence[int], before: Sequence[int]) -> list[str]:
    """Return the rows of earlier contents of documents that no row of the new contents replaces.

    Parameters
    ----------
    ids : sequence of str (n,)
    counts, before : sequence of int (n,)
        The number of rows that each document has now and had before.
    """
    left: list[str] = []
    if not any(before):
        return left
    for name, count, earlier in zip(ids, counts, before, strict=True):
        if earlier > count or (earlier == 1) != (count == 1):
            kept = set(row_ids(name, count))
            left += [row for row in row_ids(name, earlier) if row not in kept]
    return left


def taken_id(row_id: str, advice: str) -> ConfigError:
    """Return the error for a document whose id is also the id of another document's piece."""
    return ConfigError(
        f"the document {quoted(row_id)} has the id of a piece of another document; expected another id: "
        f"give it one, or {advice}"
    )
