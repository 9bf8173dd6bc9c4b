"""Measure whether new texts are about new subjects, by their nearest neighbors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np

from gem_index.collection.corpus.results import Topic, TopicExample
from gem_index.collection.corpus.topic_words import TopicWords, topic_names
from gem_index.collection.corpus.topics import assigned_to, centres_of, rows_with_words
from gem_index.common.arrays import F32, I64
from gem_index.gem.combined import Encoder
from gem_index.index.dense import spread
from gem_index.index.hits import Ids
from gem_index.index.neighbors import nearest_among, nearest_neighbors
from gem_index.store.documents import DocumentRepository
from gem_index.text.analyzer import Analyzer

__all__ = ["NovelDocument", "Novelty", "Share", "measure_novelty", "novelty_of"]

FITTED = 10_000
"""The largest number of texts of the fit that are compared."""

NEW = 5_000
"""The largest number of texts after the fit that are compared."""

FEWEST = 20
"""The smallest number of fitted texts, and also of new texts, for a comparison."""

BOUND = 2.5
"""Half of the width of an interval, in standard errors; chosen by ``python -m benchmarks.novelty``."""

# a text is far if its distance is above this quantile of the distances of the fitted texts
_FAR = 0.9
_NEIGHBORS = 3
_PERMUTATIONS = 200
_EXAMPLES = 3


@dataclass(frozen=True)
class Share:
    """A share of the new texts, its interval, and its expected value if the new texts resemble the fitted texts."""

    share: float
    low: float
    high: float
    expected: float

    @property
    def above(self) -> bool:
        """Whether the whole interval is above the expected share."""
        return self.low > self.expected


@dataclass(frozen=True)
class NovelDocument:
    """A document that is far from the fitted documents.

    Attributes
    ----------
    id, text : str
    similarity : float
        The cosine of the document's text with the nearest fitted text.
    topic : int
        The position of the document's topic in :attr:`Novelty.topics`.
    """

    id: str
    text: str
    similarity: float
    topic: int


@dataclass(frozen=True)
class Novelty:
    """Whether the documents that came after the fit are about new subjects.

    Attributes
    ----------
    compared, fitted : int
        The numbers of distinct texts that are compared: at most 5,000 texts after the fit, and at most 10,000 texts of
        the fit. If there are more texts, the compared texts are taken at even intervals.
    far : Share
        The share of new texts that are far. Each text, new or fitted, has a distance to its nearest other fitted text. A
        new text is far if its distance is larger than the distances of 90 % of the fitted texts.
    together : Share
        For each new text, the share of new texts among its 3 nearest texts is computed; ``together`` is the mean.
    found : bool
        Whether the whole interval of at least one of the two shares is above its expected share.
    documents : tuple of NovelDocument
        The far documents, the farthest first; empty if no new subjects are found.
    topics : tuple of Topic
        The topics of these documents, the largest first. The words of a topic distinguish it from the fitted texts.
        Without scikit-learn, there is one topic.
    """

    compared: int
    fitted: int
    far: Share
    together: Share
    found: bool
    documents: tuple[NovelDocument, ...] = ()
    topics: tuple[Topic, ...] = ()


def measure_novelty(fitted: F32, new: F32) -> tuple[Share, Share, F32, float]:
    """Compare new vectors with fitted ones.

    Parameters
    ----------
    fitted : float32 array (n, d)
        At least 4 unit vectors.
    new : float32 array (m, d)
        At least one unit vector.

    Returns
    -------
    tuple
        The shares ``far`` and ``together`` of :class:`Novelty`; the cosine of each new vector with the nearest fitted
        vector, float32 (m,); the cosine below which a vector is far.
    """
    among_fitted = nearest_neighbors(fitted, 1)[1][:, 0]
    nearest = nearest_among(fitted, new)
    bound = float(np.quantile(among_fitted, 1 - _FAR))
    expected = float((among_fitted < bound).mean())
    spread_of_both = math.sqrt(expected * (1 - expected) * (1 / len(fitted) + 1 / len(new)))
    far = _share(float((nearest < bound).mean()), expected, spread_of_both)
    neighbors = nearest_neighbors(np.concatenate([fitted, new]), _NEIGHBORS)[0]
    is_new = np.arange(len(neighbors)) >= len(fitted)
    rng = np.random.default_rng(0)
    shuffled = []
    for _ in range(_PERMUTATIONS):
        labels = rng.permutation(is_new)
        shuffled.append(float(labels[neighbors[labels]].mean()))
    together = _share(
        float(is_new[neighbors[is_new]].mean()),
        float(np.mean(shuffled)),
        float(np.std(shuffled)),
    )
    return far, together, nearest, bound


def _share(share: float, expected: float, error: float) -> Share:
    return Share(share, max(0.0, share - BOUND * error), min(1.0, share + BOUND * error), expected)


def novelty_of(
    documents: DocumentRepository, encoder: Encoder, analyzer: Analyzer, fitted: Ids, new: Ids
) -> Novelty | None:
    """Compare the new documents with the fitted documents; None if there are fewer than 20 new or 20 fitted texts."""
    _, old_texts, old_vectors = _distinct(documents, encoder, _spread(fitted, FITTED))
    seqs, texts, vectors = _distinct(documents, encoder, _spread(new, NEW))
    if min(len(old_texts), len(texts)) < FEWEST:
        return None
    far, together, nearest, bound = measure_novelty(old_vectors, vectors)
    found = far.above or together.above
    if not found:
        return Novelty(len(texts), len(old_texts), far, together, found)
    order = np.argsort(nearest, kind="stable")
    chosen = order[nearest[order] < bound]
    ids = documents.ids_of(seqs[chosen])
    topics, assigned = _topics(
        analyzer, old_texts, ids, [texts[i] for i in chosen], vectors[chosen]
    )
    return Novelty(
        len(texts),
        len(old_texts),
        far,
        together,
        found,
        tuple(
            NovelDocument(name, texts[i], float(nearest[i]), topic)
            for name, i, topic in zip(ids, chosen.tolist(), assigned, strict=True)
        ),
        topics,
    )


def _spread(seqs: Ids, most: int) -> Ids:
    """Return at most ``most`` of the seqs, at even intervals."""
    return spread(seqs, most) if len(seqs) else seqs


def _distinct(
    documents: DocumentRepository, encoder: Encoder, seqs: Ids
) -> tuple[Ids, list[str], F32]:
    """Return the distinct texts with words: for each, the seq of the first document, the text and the vector."""
    firsts: dict[str, int] = {}
    for seq, text in zip(seqs.tolist(), documents.texts(seqs.tolist()), strict=True):
        firsts.setdefault(text, seq)
    texts = list(firsts)
    vectors = encoder.encode(texts)
    known = rows_with_words(vectors)
    kept = np.array(list(firsts.values()), np.int64)[known]
    return kept, [texts[i] for i in known.tolist()], vectors[known]


def _topics(
    analyzer: Analyzer,
    fitted: Sequence[str],
    ids: Sequence[str],
    texts: Sequence[str],
    vectors: F32,
) -> tuple[tuple[Topic, ...], list[int]]:
    """Return topics of novel texts, and the position of each text's topic."""
    if not len(texts):
        return (), []
    count = max(1, round(math.sqrt(len(texts) / 8))) if find_spec("sklearn") else 1
    centres = centres_of(vectors, count) if count > 1 else vectors.mean(axis=0, keepdims=True)
    groups, nearness = assigned_to(vectors, centres)
    sizes = np.bincount(groups)
    order = [int(group) for group in np.argsort(-sizes, kind="stable") if sizes[group]]
    places = {group: place for place, group in enumerate(order)}
    assigned = [places[group] for group in groups.tolist()]
    words = TopicWords(analyzer, len(order) + 1)
    for place, text in zip(assigned, texts, strict=True):
        words.add(place, text)
    for text in fitted:
        words.add(len(order), text)
    distinguishing = words.telling()
    names = topic_names(distinguishing)
    topics = []
    for group in order:
        members: I64 = np.flatnonzero(groups == group)
        typical = members[np.argsort(-nearness[members], kind="stable")][:_EXAMPLES].tolist()
        examples = tuple(TopicExample(ids[i], texts[i]) for i in typical)
        place = places[group]
        topics.append(Topic(distinguishing[place], len(members), examples, names[place]))
    return tuple(topics), assigned
