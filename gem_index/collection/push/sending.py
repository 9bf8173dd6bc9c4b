"""The options of a push or of embedding, and the functions that send documents to a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from typing import Any

from gem_index.collection.piece_rows import PieceRows
from gem_index.common.arrays import F32, SparseVector
from gem_index.common.checks import check_whole_number
from gem_index.errors import ConfigError
from gem_index.errors.quoting import quoted
from gem_index.targets.batch import TargetBatch
from gem_index.targets.metadata import JsonObjects
from gem_index.targets.protocol import JsonTarget, Target, TargetTable
from gem_index.targets.retries import with_retries

__all__ = ["PushOptions", "batch_of", "send", "storable"]


@dataclass(frozen=True, kw_only=True)
class PushOptions:
    """The options of a push; see :meth:`gem_index.Collection.push`."""

    full: bool = False
    dry_run: bool = False
    batch: int = 1000
    texts: bool = True
    drop_unsupported: bool = False
    words: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "batch", check_whole_number(self.batch, "the batch", 1, 100_000))


def storable(
    target: Target,
    ids: Sequence[str],
    metadata: Sequence[Mapping[str, Any]],
    drop_unsupported: bool,
) -> Sequence[Mapping[str, Any]]:
    """Return the metadata that a target can store; if the target can store all, return the same object.

    Raises
    ------
    ConfigError
        If a field cannot be stored, and ``drop_unsupported`` is not set.
    """
    as_json = metadata.texts if isinstance(metadata, JsonObjects) else None
    if as_json is not None and isinstance(target, JsonTarget) and target.stores_json(as_json):
        return metadata
    unsupported = [target.unsupported(fields) for fields in metadata]
    if not any(unsupported):
        return metadata
    if not drop_unsupported:
        place = next(place for place, names in enumerate(unsupported) if names)
        name = unsupported[place][0]
        raise ConfigError(
            f"the target cannot store the field {quoted(name)} of the document {quoted(ids[place])}, "
            f"{quoted(metadata[place][name], 60)}; expected other metadata, or that such fields are left out"
        )
    return [
        {name: value for name, value in fields.items() if name not in left_out}
        for fields, left_out in zip(metadata, unsupported, strict=True)
    ]


def batch_of(
    target: Target,
    rows: PieceRows,
    vectors: F32,
    options: PushOptions,
    words: Sequence[SparseVector] | None = None,
    *,
    new: bool = False,
) -> TargetBatch:
    """Return rows for a target, with vectors (p, d) and sparse vectors (p).

    ``new`` means that the table has none of these rows.

    Raises
    ------
    ConfigError
        If a field cannot be stored, and ``drop_unsupported`` is not set.
    """
    kept = storable(target, rows.ids, rows.metadata, options.drop_unsupported)
    texts = rows.texts if options.texts else None
    return TargetBatch(rows.ids, vectors, texts, kept, words, new=new)


def send(table: TargetTable, batch: TargetBatch, old_rows: Sequence[str] = ()) -> None:
    """Upsert documents, then delete their old rows; if the database is unavailable, try each step again.

    Parameters
    ----------
    table : TargetTable
    batch : TargetBatch
    old_rows : sequence of str, optional
        The ids of the rows that were stored for earlier contents of the documents. Rows that the batch writes again are
        not deleted.
    """
    # The first attempt may have stored some of the rows. So the later attempts do not send the rows as new.
    attempts = chain([batch], repeat(batch.sent()))
    with_retries(lambda: table.upsert(next(attempts)))
    if old_rows:
        sent = set(batch.ids)
        with_retries(table.delete, [row for row in old_rows if row not in sent])
