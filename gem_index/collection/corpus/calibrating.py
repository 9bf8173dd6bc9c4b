"""Measure the calibration of a collection: the scores below which results are weak."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from gem_index.collection.request import MODES, SearchRequest
from gem_index.collection.results import SearchResults
from gem_index.collection.search.answer import answer_all
from gem_index.collection.state.access import CollectionAccess
from gem_index.collection.state.calibration import Calibration, ModeCalibration
from gem_index.collection.state.texts import CollectionTexts
from gem_index.common.arrays import F64, Mask
from gem_index.errors import InputError
from gem_index.errors.quoting import quoted
from gem_index.progress import Progress
from gem_index.text.tokens import tokenize
from gem_index.text.units import unit_spans

__all__ = ["calibrate", "check_expected", "lowest_score", "part_of", "score_reached_by"]

_WRONG = 0.1
"""If right documents are given: at most this share of the first results at or above the score is wrong."""

_LEFT_OUT = 0.7
"""If no right documents are given: the score is this quantile of the best scores of the queries (docs/evaluation.md)."""

_SAMPLED = 1000  # documents from which queries are made
_UNITS = 12  # words of a query that is made from a document
_LEAST = 10  # queries; fewer cannot measure a share of one in ten
_BLOCK = 256  # queries that are searched at once


def calibrate(
    access: CollectionAccess, queries: Mapping[str, Sequence[str]] | None, show: Progress | None
) -> Calibration:
    """Measure and store the calibration; see :meth:`gem_index.Collection.calibrate`."""
    with access.reading() as rows:
        count = rows.documents.count()
        parts = _parts(CollectionTexts(rows.documents)) if queries is None else {}
    if queries is not None:
        check_expected(access, queries)
    right = parts if queries is None else queries
    if len(right) < _LEAST:
        found = f"{len(right)} queries" if queries is not None else f"{len(right)} documents"
        raise InputError(f"found {found} to calibrate with; expected at least {_LEAST}")
    pieces = access.view().pieces
    modes = {}
    for place, mode in enumerate(reversed(MODES)):

        def shown(done: int, begin: int = place * len(right)) -> None:
            if show is not None:
                show("search", begin + done, len(MODES) * len(right))

        results = _first_two(access, list(right), mode, shown)
        modes[mode] = _without_own(results, right) if queries is None else _known(results, right)
    result = Calibration(modes, len(right), queries is not None, count, pieces.fingerprint)
    with access.writing_rows() as rows:
        rows.names.use_calibration(access.id, result.to_json())
    return result


def check_expected(access: CollectionAccess, queries: Mapping[str, Sequence[str]]) -> None:
    """Check that a collection has the right documents of queries.

    Raises
    ------
    InputError
        If one of the right documents is missing.
    """
    wanted = sorted({name for names in queries.values() for name in names})
    with access.reading() as rows:
        known = rows.documents.seqs_of(wanted)
    missing = next((name for name in wanted if name not in known), None)
    if missing is not None:
        raise InputError(
            f"the queries expect {quoted(missing)}, which the collection {access.name} does not have; expected ids of its "
            "documents"
        )


def _parts(texts: CollectionTexts) -> dict[str, list[str]]:
    """Return queries that are parts of sampled documents, each with the id of its document."""
    rng = np.random.default_rng(0)
    found = {}
    for stored in texts.sampled(_SAMPLED):
        part = part_of(stored.text, rng)
        if tokenize(part):
            found[part] = [stored.document_id]
    return found


def part_of(text: str, rng: np.random.Generator, units: int = _UNITS) -> str:
    """Return consecutive words of a text, from a random place, as a query."""
    spans = unit_spans(text)
    begin = int(rng.integers(max(1, len(spans) - units + 1)))
    chosen = spans[begin : begin + units]
    return text[chosen[0][0] : chosen[-1][1]] if chosen else ""


def _first_two(
    access: CollectionAccess, queries: list[str], mode: str, shown: Callable[[int], None]
) -> list[SearchResults]:
    found: list[SearchResults] = []
    for begin in range(0, len(queries), _BLOCK):
        block = queries[begin : begin + _BLOCK]
        requests = [SearchRequest(query, 2, mode=mode, best_piece=False) for query in block]
        found += answer_all(access, requests)
        shown(len(found))
    return found


def _without_own(
    found: Sequence[SearchResults], own: Mapping[str, Sequence[str]]
) -> ModeCalibration:
    """Return the calibration of queries from documents; the document of a query does not count among its results."""
    scores = np.array(
        [
            next((hit.score for hit in hits if hit.id not in ids), 0.0)
            for hits, ids in zip(found, own.values(), strict=True)
        ]
    )
    bound = score_reached_by(scores)
    return ModeCalibration(bound, int((scores >= bound).sum()), None)


def score_reached_by(scores: F64, quantile: float = _LEFT_OUT) -> float:
    """Return the score below which a share ``quantile`` of the queries' best scores (n,) lies."""
    return float(np.quantile(scores, quantile))


def _known(found: Sequence[SearchResults], right: Mapping[str, Sequence[str]]) -> ModeCalibration:
    """Return the calibration from the first results and the right documents."""
    pairs = [
        (hits[0].score, hits[0].id in ids)
        for hits, ids in zip(found, right.values(), strict=True)
        if hits
    ]
    scores = np.array([score for score, _ in pairs])
    wrong = ~np.array([ok for _, ok in pairs], dtype=bool)
    bound = lowest_score(scores, wrong)
    if bound is None:
        return ModeCalibration(None, 0, 0)
    reached = scores >= bound
    return ModeCalibration(bound, int(reached.sum()), int(wrong[reached].sum()))


def lowest_score(scores: F64, wrong: Mask, share: float = _WRONG) -> float | None:
    """Return the lowest score that ten or more results reach, at most a share of them wrong; None without such a score.

    Parameters
    ----------
    scores : float64 array (n,)
        The scores of first results.
    wrong : bool array (n,)
    share : float
    """
    order = np.argsort(-scores, kind="stable")
    scores, wrong = scores[order], wrong[order]
    counts = np.arange(1, len(scores) + 1)
    last = np.append(scores[1:] < scores[:-1], True)  # the last of equal scores
    good = last & (counts >= _LEAST) & (np.cumsum(wrong) <= share * counts)
    places = np.flatnonzero(good)
    return float(scores[places[-1]]) if len(places) else None
