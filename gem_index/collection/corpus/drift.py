"""Measure how much a refit would change a collection, and whether its new documents are about new subjects."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gem_index.collection.corpus.novelty import Novelty, novelty_of
from gem_index.collection.state.access import CollectionAccess
from gem_index.collection.state.piece_encoder import PieceEncoder
from gem_index.collection.state.texts import CollectionTexts
from gem_index.errors import InputError
from gem_index.files.tables import Tabular
from gem_index.gem.combined import Encoder
from gem_index.progress import ProgressOption, reporting

__all__ = ["Drift", "drift_of", "measure_drift"]

_CHANGE = 0.02
"""A refit is recommended if the mean change of a cosine is above this number (docs/operating.md)."""

_PAIRS = 2000


@dataclass(frozen=True)
class Drift(Tabular):
    """The change that a refit would make.

    The table has a row for each document about a new subject: its ``id``, its ``similarity`` to the nearest fitted
    text, the ``words`` of its topic, and its ``text``.

    Attributes
    ----------
    documents, since_fit : int
        The number of all documents, and the number of documents added after the fit.
    angles : tuple of float
        Principal angles between the components of the model and the components of a fit on the present texts, in degrees,
        ascending; if the model has several encoders, the angles of all encoders.
    score_change : float
        The cosine of a pair of texts is computed twice: by the model, and by a model that is fitted on the present texts.
        This is the mean absolute difference of the two cosines, over many pairs.
    refit_recommended : bool
        Whether a refit is recommended.
    novelty : Novelty or None
        Whether the documents after the fit are about new subjects; None if there are fewer than 20 different new texts, or
        fewer than 20 texts of the fit.
    advice : str
        ``refit``, ``look`` or ``none``. ``look`` means that documents are about new subjects, although a refit would
        change little: read these documents, and refit if they belong to the collection.
    """

    documents: int
    since_fit: int
    angles: tuple[float, ...]
    score_change: float
    refit_recommended: bool
    novelty: Novelty | None = None
    advice: str = "none"

    columns = ("id", "similarity", "words", "text")

    def rows(self) -> Iterator[dict[str, Any]]:
        """Iterate over the rows of the documents about new subjects, the farthest first."""
        if self.novelty is not None:
            for each in self.novelty.documents:
                words = list(self.novelty.topics[each.topic].words)
                values = (each.id, each.similarity, words, each.text)
                yield dict(zip(self.columns, values, strict=True))


def drift_of(access: CollectionAccess, sample: int, progress: ProgressOption = None) -> Drift:
    """Measure how much a refit would change a collection; see :meth:`gem_index.Collection.drift`."""
    with access.reading() as rows:
        texts = CollectionTexts(rows.documents)
        encoder = fresh = access.encoder(rows)
        if not len(texts):
            raise InputError(
                f"the collection {access.name} has no documents; expected some to compare"
            )
        pieces = PieceEncoder(encoder, rows.record.chunking, rows.record.analyzer)
        parts, _ = pieces.parts(texts.sample(sample))
        compared = parts[:: -(-len(parts) // sample)]
        position = texts.position(rows.record.fitted_seq)
        fitted, new = texts.seqs[:position], texts.seqs[position:]
        if rows.changed_since_fit():
            fresh = encoder.unfitted()
            with reporting(progress, "fit") as show:
                fresh.fit(pieces.of_all(texts.all(show)))  # as in a refit
        novelty = novelty_of(rows.documents, encoder, rows.record.analyzer, fitted, new)
    measured = measure_drift(encoder, fresh, compared, len(texts), len(new))
    look = novelty is not None and novelty.found
    advice = "refit" if measured.refit_recommended else "look" if look else "none"
    return replace(measured, novelty=novelty, advice=advice)


def measure_drift(
    encoder: Encoder, fresh: Encoder, texts: Sequence[str], documents: int, since_fit: int
) -> Drift:
    """Compare an encoder with an encoder that is fitted on the present texts, by the cosines of pairs of texts."""
    angles: list[float] = []
    for old, new in zip(encoder.encoders, fresh.encoders, strict=True):
        ours, theirs = old.components.directions, new.components.directions
        if len(ours) and len(theirs):
            # imported here, because few commands need it
            import scipy.linalg

            angles += np.degrees(scipy.linalg.subspace_angles(ours.T, theirs.T)).tolist()
    rng = np.random.default_rng(0)
    left, right = rng.integers(0, len(texts), (2, _PAIRS))
    before, after = (
        (rows[left] * rows[right]).sum(axis=1)
        for rows in (encoder.encode(texts), fresh.encode(texts))
    )
    change = float(np.abs(before - after).mean())
    return Drift(documents, since_fit, tuple(sorted(angles)), change, change > _CHANGE)
