"""Plan a push: read the state of the target, and choose the steps of the push, without any change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from gem_index.collection.push.notes import PushNotes
from gem_index.collection.push.sending import PushOptions
from gem_index.errors import FingerprintMismatchError, TargetChangedError
from gem_index.store.targets import TargetRecord
from gem_index.targets.protocol import Target, TargetTable

__all__ = ["PushPlan", "plan_push"]

Step: TypeAlias = Literal["create", "update", "replace"]


@dataclass(frozen=True)
class PushPlan:
    """The plan of a push.

    Attributes
    ----------
    step : {"create", "update", "replace"}
        ``create``: create the table. ``update``: send the changes. ``replace``: fill a staged table, which then
        replaces the live table.
    live : TargetTable, optional
    record : TargetRecord, optional
        The record of the live table.
    """

    step: Step
    live: TargetTable | None
    record: TargetRecord | None


def plan_push(target: Target, notes: PushNotes, fingerprint: str, options: PushOptions) -> PushPlan:
    """Return the plan of a push; see :class:`PushPlan`.

    Parameters
    ----------
    target : Target
    notes : PushNotes
    fingerprint : str
        The fingerprint of the encoder.
    options : PushOptions

    Raises
    ------
    TargetChangedError
        If the target has changed since the last push, and ``full`` is not set.
    FingerprintMismatchError
        If the target's table and the home's record of this table have fingerprints of different encoders.
    """
    live, record = target.live(), notes.live
    if live is None:
        if record is not None and record.complete and not options.full:
            raise TargetChangedError(
                str(target.url), "a push filled the table before, but it no longer exists"
            )
        return PushPlan("create", None, record)
    if not options.full:
        _check(str(target.url), live, record, notes)
    replaced = (
        options.full
        or notes.staged is not None  # an interrupted full push left it
        or record is None
        or (record.fingerprint, record.texts) != (fingerprint, options.texts)
    )
    return PushPlan("replace" if replaced else "update", live, record)


def _check(name: str, live: TargetTable, record: TargetRecord | None, notes: PushNotes) -> None:
    """Raise an error if a table has changed since the last push."""
    if record is None or live.schema.token != record.token:
        raise TargetChangedError(name, "the table was filled by another collection, home or push")
    if record.complete and (found := live.count()) != (expected := notes.rows(record)):
        raise TargetChangedError(
            name, f"the table holds {found} rows, the last push left {expected}"
        )
    if live.schema.fingerprint != record.fingerprint:
        raise FingerprintMismatchError(
            f"the target {name}",
            record.fingerprint,
            live.schema.fingerprint,
            "push in full to replace its vectors",
            kind="encoder",
        )
