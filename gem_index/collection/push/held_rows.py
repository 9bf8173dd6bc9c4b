"""Find the rows of some documents in a table of pieces; other rows are not read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import repeat

from gem_index.collection.piece_rows import PieceRows, piece_id, piece_of, taken_id
from gem_index.targets.protocol import TargetTable
from gem_index.targets.retries import with_retries

__all__ = ["earlier_rows"]

_ASKED = 1000  # rows per request to a table


def earlier_rows(table: TargetTable, ids: Sequence[str], rows: PieceRows) -> dict[str, list[str]]:
    """Return the rows that some documents already have in a table, from their earlier contents.

    Parameters
    ----------
    table : TargetTable
    ids : sequence of str (n,)
        The ids of the documents.
    rows : PieceRows
        The new rows of the documents.

    Returns
    -------
    dict of str to list of str
        The ids of the rows of each document, the last piece first. The caller deletes the rows in this order. So an
        interrupted deletion leaves the first pieces, and from the first pieces a later call finds the other pieces.

    Raises
    ------
    ConfigError
        If the id of a document is also the id of another document's piece, in these rows or in the table.
    """
    owners = _owners(ids, rows)
    known = dict.fromkeys(ids)
    firsts = (piece_id(name, 1) for name in ids)
    held = _held(table, [*ids, *owners, *firsts])
    for row, name in owners.items():
        if row in held and held[row] != name and held[row] not in known:
            raise taken_id(row, "embed the texts whole")
    last = dict(zip(ids, rows.counts, strict=True))
    while True:
        asked = {
            name: range(number + 1, number + 5 + number // 2)
            for name, number in last.items()
            if held.get(piece_id(name, number)) == name
        }
        if not asked:
            break
        found = _held(
            table, [piece_id(name, number) for name, more in asked.items() for number in more]
        )
        held |= found
        last = {
            name: max(number for number in more if found.get(piece_id(name, number)) == name)
            for name, more in asked.items()
            if any(found.get(piece_id(name, number)) == name for number in more)
        }
    earlier: dict[str, list[str]] = {}
    for row, name in reversed(held.items()):
        if name in known:
            earlier.setdefault(name, []).append(row)
    return earlier


def _owners(ids: Sequence[str], rows: PieceRows) -> dict[str, str]:
    """Return the document of each new row; raise ConfigError if a row belongs to two documents."""
    owners: dict[str, str] = {}
    of_rows = (
        name for name, count in zip(ids, rows.counts, strict=True) for name in repeat(name, count)
    )
    for row, name in zip(rows.ids, of_rows, strict=True):
        if owners.setdefault(row, name) != name:
            raise taken_id(row, "embed the texts whole")
    return owners


def _held(table: TargetTable, rows: Iterable[str]) -> dict[str, str]:
    """Return, for each of some rows that the table has, the document of the row, in the order of the rows."""
    wanted = list(dict.fromkeys(rows))
    held: dict[str, str] = {}
    for begin in range(0, len(wanted), _ASKED):
        part = wanted[begin : begin + _ASKED]
        found = with_retries(table.metadata_of, part)
        for row in part:
            if row in found:
                piece = piece_of(row, found[row])
                held[row] = row if piece is None else piece[0]
    return held
