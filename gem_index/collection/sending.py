"""What a push of a collection and an embedding of files share: their options, and how documents reach a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from typing import Any

from gem_index.errors import ConfigError
from gem_index.quoting import quoted
from gem_index.targets.batch import TargetBatch
from gem_index.targets.protocol import Target, TargetTable
from gem_index.targets.retries import with_retries

__all__ = ["PushOptions", "send", "storable"]


@dataclass(frozen=True, kw_only=True)
class PushOptions:
    """How a collection is pushed; see :meth:`gem_index.Collection.push`."""

    full: bool = False
    dry_run: bool = False
    batch: int = 1000
    texts: bool = True
    drop_unsupported: bool = False

    def __post_init__(self) -> None:
        batch: object = self.batch
        if isinstance(batch, bool) or not isinstance(batch, int) or not 1 <= batch <= 100_000:
            raise ConfigError(
                f"the batch is {quoted(batch)}; expected a whole number from 1 to 100000"
            )


def storable(
    target: Target,
    ids: Sequence[str],
    metadata: list[Mapping[str, Any]],
    drop_unsupported: bool,
) -> list[Mapping[str, Any]]:
    """Return the metadata of documents as far as a target can store it: the same list if it can store all.

    Raises
    ------
    ConfigError
        If a field cannot be stored and is not to be left out.
    """
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


def send(table: TargetTable, batch: TargetBatch) -> None:
    """Upsert documents, again if the database is unavailable: then some may have arrived, and none is new."""
    attempts = chain([batch], repeat(batch.sent()))
    with_retries(lambda: table.upsert(next(attempts)))
