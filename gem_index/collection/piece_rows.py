"""The rows of a vector database that documents become: one each, or one for each of their pieces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gem_index.reading import Cutting

__all__ = ["PieceRows", "piece_rows", "row_ids"]


@dataclass(frozen=True)
class PieceRows:
    """Rows, those of a document in order.

    Attributes
    ----------
    ids, texts, metadata : list (p,)
        Of the rows; the metadata of a piece hold its document's id, its number and its place.
    counts : list of int (n,)
        How many rows each document has.
    """

    ids: list[str]
    texts: list[str]
    metadata: list[Mapping[str, Any]]
    counts: list[int]

    @property
    def of_pieces(self) -> list[str]:
        """The ids of rows that are pieces."""
        return [
            name
            for name, fields in zip(self.ids, self.metadata, strict=True)
            if fields.get("piece") and name == f"{fields.get('parent')}#{fields['piece']}"
        ]


def row_ids(document_id: str, pieces: int) -> list[str]:
    """Return the ids of a document's rows: its own, or ``id#1``, ``id#2``, ... where it is cut."""
    if pieces == 1:
        return [document_id]
    return [f"{document_id}#{number}" for number in range(1, pieces + 1)]


def piece_rows(
    cutting: Cutting,
    ids: Sequence[str],
    texts: Sequence[str],
    metadata: Sequence[Mapping[str, Any]],
) -> PieceRows:
    """Cut documents into rows."""
    rows = PieceRows([], [], [], [])
    for name, text, fields in zip(ids, texts, metadata, strict=True):
        pieces = cutting.pieces(text)
        rows.counts.append(len(pieces))
        rows.ids.extend(row_ids(name, len(pieces)))
        if len(pieces) == 1:
            rows.texts.append(str(text))
            rows.metadata.append(fields)
            continue
        for number, piece in enumerate(pieces, 1):
            rows.texts.append(text[piece.start : piece.end])
            place = {"parent": name, "piece": number, "start": piece.start, "end": piece.end}
            known = {"heading": piece.heading, "page": piece.page}
            rows.metadata.append({**fields, **place, **{k: v for k, v in known.items() if v}})
    return rows
