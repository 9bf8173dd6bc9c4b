"""Plan a push: look where the target stands, and decide what is to be done; nothing is changed."""

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
    """What a push does.

    Attributes
    ----------
    step : {"create", "update", "replace"}
        Make the table; send what has changed; or fill a staged table, which then replaces the live one.
    live : TargetTable, optional
    record : TargetRecord, optional
        What is known of the live table.
    """

    step: Step
    live: TargetTable | None
    record: TargetRecord | None


def plan_push(target: Target, notes: PushNotes, fingerprint: str, options: PushOptions) -> PushPlan:
    """Decide what a push of vectors of an encoder does.

    Parameters
    ----------
    target : Target
    notes : PushNotes
    fingerprint : str
        The encoder's.
    options : PushOptions

    Raises
    ------
    TargetChangedError
        If the target is not as the last push left it, and is not to be replaced in full.
    FingerprintMismatchError
        If its table says another encoder than the notes.
    """
    live, record = target.live(), notes.live
    if live is None:
        if record is not None and record.complete and not options.full:
            raise TargetChangedError(
                str(target.url), "there is no table, and a push filled it before"
            )
        return PushPlan("create", None, record)
    if not options.full:
        _check(str(target.url), live, record, notes)
    replaced = (
        options.full
        or record is None
        or (record.fingerprint, record.texts) != (fingerprint, options.texts)
    )
    return PushPlan("replace" if replaced else "update", live, record)


def _check(name: str, live: TargetTable, record: TargetRecord | None, notes: PushNotes) -> None:
    """Raise an error if a table is not as the last push left it."""
    if record is None or live.schema.token != record.token:
        raise TargetChangedError(name, "the table was filled by another collection, home or push")
    if record.complete and (found := live.count()) != (expected := notes.rows(record)):
        raise TargetChangedError(name, f"the table has {found} rows, the last push left {expected}")
    if live.schema.fingerprint != record.fingerprint:
        raise FingerprintMismatchError(
            f"the target {name}",
            record.fingerprint,
            live.schema.fingerprint,
            "push in full to replace its vectors",
            kind="encoder",
        )
