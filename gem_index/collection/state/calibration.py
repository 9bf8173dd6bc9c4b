"""The calibration of a collection: the scores below which results are weak."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Literal

from gem_index.collection.request import SearchRequest
from gem_index.errors import Action, Advice, InputError
from gem_index.errors.quoting import quoted
from gem_index.store.records import CollectionRecord

__all__ = ["Calibration", "ModeCalibration", "calibration_of", "calibration_state", "score_bound"]


@dataclass(frozen=True)
class ModeCalibration:
    """The calibration of one search mode.

    Attributes
    ----------
    min_score : float, optional
        Results with a lower score are weak. None if no score separates right from wrong first results.
    reached : int
        The number of queries whose first result has at least this score.
    wrong : int, optional
        The number of wrong documents among these first results; None if the right documents were not known.
    """

    min_score: float | None
    reached: int
    wrong: int | None


@dataclass(frozen=True)
class Calibration:
    """The scores below which a collection's results are weak; see :meth:`gem_index.Collection.calibrate`.

    Attributes
    ----------
    modes : mapping of str to ModeCalibration
        The calibration of each mode: ``hybrid``, ``dense`` and ``lexical``.
    queries : int
        The number of queries of the measurement.
    known_answers : bool
        Whether the caller gave the right documents of the queries. Otherwise each query is a part of a document, and this
        document is removed from the results of the query.
    documents : int
        The number of documents that the collection had at the time of the measurement.
    fingerprint : str
        The index fingerprint (model, chunking and language). If the index fingerprint of the collection changes, the
        calibration is void.
    """

    modes: Mapping[str, ModeCalibration]
    queries: int
    known_answers: bool
    documents: int
    fingerprint: str

    def to_json(self) -> str:
        """Return the calibration as JSON text."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Calibration:
        """Return the calibration that :meth:`to_json` wrote."""
        fields = json.loads(text)
        modes = {mode: ModeCalibration(**values) for mode, values in fields.pop("modes").items()}
        return cls(modes, **fields)


def calibration_of(record: CollectionRecord, fingerprint: str) -> Calibration | None:
    """Return the stored calibration of a collection if it is valid for an index fingerprint, else None."""
    if not record.calibration:
        return None
    found = Calibration.from_json(record.calibration)
    return found if found.fingerprint == fingerprint else None


def calibration_state(
    record: CollectionRecord, fingerprint: str
) -> Literal["missing", "valid", "void"]:
    """Return the state of a collection's calibration for an index fingerprint."""
    if not record.calibration:
        return "missing"
    return "void" if calibration_of(record, fingerprint) is None else "valid"


def score_bound(record: CollectionRecord, fingerprint: str, asked: SearchRequest) -> float | None:
    """Return the score below which the results of a search are weak; None if this score is not known.

    Raises
    ------
    InputError
        If the search has ``min_score="auto"``, and the score is not known.
    """
    found = calibration_of(record, fingerprint)
    bound = None
    if found is not None and not asked.by_ranks:
        bound = found.modes[str(asked.mode)].min_score
    if bound is not None or asked.min_score != "auto":
        return bound
    name = quoted(record.name)
    advice = Advice(Action.CALIBRATE, {"collection": record.name})
    if found is not None:
        raise InputError(
            f"found the min_score auto, but no score of the mode {asked.mode} separates right results of {name} from wrong "
            "ones; expected a number, or another mode"
        )
    if record.calibration:
        raise InputError(
            f"found the min_score auto, but {name} was calibrated with another model, chunking or language; expected a "
            "number, or a new calibration",
            advice,
        )
    raise InputError(
        f"found the min_score auto, but {name} is not calibrated; expected a number, or a calibration",
        advice,
    )
