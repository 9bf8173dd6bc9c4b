"""The user's own pairs of texts, with scores or with the labels 0 and 1."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from gem_index.common.arrays import F64, Mask
from gem_index.common.settings import load_settings
from gem_index.errors import InputError, RecordError
from gem_index.errors.quoting import quoted
from gem_index.readers.objects import rows_of
from gem_index.readers.records import DocumentReader
from gem_index.readers.values import UNSUPPORTED, json_value

__all__ = ["Pairs", "area_under_curve", "best_threshold", "read_pairs"]

_FIRST = ("first", "text1", "sentence1", "question1")
_SECOND = ("second", "text2", "sentence2", "question2")
_SCORE = ("score", "label", "is_duplicate")
_FORM = 'expected two texts and a number, such as {"first": "...", "second": "...", "score": 3.5}'


@dataclass(frozen=True)
class Pairs:
    """Pairs of texts and a number for each.

    Attributes
    ----------
    first, second : tuple of str
        The texts (n,).
    scores : float64 array (n,)
    """

    first: tuple[str, ...]
    second: tuple[str, ...]
    scores: F64

    @property
    def labels(self) -> Mask | None:
        """Whether each pair has the label 1; None if there are other numbers than 0 and 1."""
        return self.scores == 1 if set(self.scores.tolist()) == {0.0, 1.0} else None


def read_pairs(source: str | Path | Iterable[Any]) -> Pairs:
    """Read pairs from a file, a data frame, mappings, or triples (first, second, score).

    Raises
    ------
    RecordError
        If a record has another form.
    InputError
        If there are fewer than two different numbers, or the file cannot be read.
    """
    name = str(source) if isinstance(source, str | Path) else "pairs"
    found = []
    for place, record in _records(source):
        first, second, score = _triple(record)
        is_number = isinstance(score, int | float) and np.isfinite(score)
        if not (isinstance(first, str) and isinstance(second, str) and is_number):
            raise RecordError(name, place, f"found {quoted(record)}; {_FORM}")
        found.append((first, second, float(score)))
    if len({score for *_, score in found}) < 2:
        raise InputError(
            f"{name} holds {len(found)} pairs with equal numbers; expected different numbers, such as 0 and 1"
        )
    firsts, seconds, scores = zip(*found, strict=True)
    return Pairs(firsts, seconds, np.array(scores))


def _records(source: str | Path | Iterable[Any]) -> Iterator[tuple[int, Any]]:
    if isinstance(source, str | Path):
        limit = load_settings().max_record_bytes
        yield from DocumentReader(
            [str(source)], text_fields=_FIRST, types="auto", max_record_bytes=limit
        ).records()
    else:
        yield from enumerate(rows_of(source), 1)


def _triple(record: Any) -> tuple[Any, Any, Any]:
    try:
        if isinstance(record, tuple | list) and len(record) == 3:
            return record[0], record[1], json_value(record[2])
        if isinstance(record, Mapping):
            keys = (
                next((k for k in names if k in record), "") for names in (_FIRST, _SECOND, _SCORE)
            )
            first, second, score = (json_value(record.get(key)) for key in keys)
            return first, second, score
    except UNSUPPORTED:
        pass  # not a number: the caller reports what was expected
    return None, None, None


def area_under_curve(labels: Mask, cosines: F64) -> float:
    """Return the share of pairs of a right and a wrong item in which the right one has the larger cosine; ties count half.

    Source: Mann and Whitney 1947; the area under the ROC curve. NaN without right or without wrong items.
    """
    right, wrong = int(labels.sum()), int((~labels).sum())
    if not right or not wrong:
        return float("nan")
    ranks = stats.rankdata(cosines)
    return float((ranks[labels].sum() - right * (right + 1) / 2) / (right * wrong))


def best_threshold(labels: Mask, cosines: F64) -> tuple[float, float]:
    """Return the threshold of the cosine with the best F1 score, and this score.

    Parameters
    ----------
    labels : bool array (n,)
    cosines : float64 array (n,)
    """
    order = np.argsort(-cosines, kind="stable")
    ordered = cosines[order]
    counts = np.arange(1, len(order) + 1)
    f1 = 2 * np.cumsum(labels[order]) / (counts + labels.sum())
    last = np.append(ordered[1:] < ordered[:-1], True)  # of equal cosines
    place = int(np.argmax(np.where(last, f1, -1.0)))
    return float(ordered[place]), float(f1[place])
