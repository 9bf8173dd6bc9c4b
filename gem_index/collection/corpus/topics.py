"""Topics of a collection: groups of its vectors by k-means, each named by its words."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gem_index.arrays import F32, I32, I64
from gem_index.checks import check_whole_number
from gem_index.collection.corpus.corpus import Corpus, read_corpus
from gem_index.collection.corpus.results import Topic, TopicExample, TopicMapPoint
from gem_index.collection.corpus.topic_list import Topics
from gem_index.collection.state.access import CollectionAccess
from gem_index.errors import InputError, MissingExtraError
from gem_index.index.dense import spread
from gem_index.progress import Progress
from gem_index.store.documents import DocumentRepository
from gem_index.text.analyzer import Analyzer
from gem_index.text.tokens import frequent_english, tokenize

__all__ = ["rows_with_words", "topics_in", "topics_of"]

_FITTED = 10_000  # texts for k-means; then all texts are assigned to the centres
_READ = 50_000  # texts whose words are counted
_DRAWN = 2_000  # points of a map
_MOST_TOPICS = 24  # by default: a list that a person can read
_RESTARTS = 3
_WORDS = 5
_EXAMPLES = 3
_FUNCTION_WORDS = 150  # the most frequent words of English, which describe no topic
_BLOCK = 4096


def topics_of(
    access: CollectionAccess,
    n: int | None,
    where: Mapping[str, Any] | None,
    show: Progress | None,
) -> Topics:
    """Return the topics of a collection; see :meth:`gem_index.Collection.topics`."""
    if n is not None:
        n = check_whole_number(n, "the number of topics", 1, error=InputError)
    _clustering()  # before minutes of encoding
    return topics_in(access, read_corpus(access, where, show), n, show)


def topics_in(
    access: CollectionAccess, corpus: Corpus, n: int | None, show: Progress | None
) -> Topics:
    """Return the topics of the documents of a corpus."""
    known = rows_with_words(corpus.vectors)
    if n is not None and n > len(known):
        raise InputError(
            f"found {n} topics to divide {len(known)} different texts with words into; expected at most that many"
        )
    if not len(known):
        nothing = np.full(len(corpus.vectors), -1, np.int32)
        with access.reading() as rows:
            return Topics(assigned=_assignment(rows.documents, corpus, nothing, {}))
    count = n or max(1, min(_MOST_TOPICS, round(math.sqrt(len(known) / 8))))
    fitted = corpus.vectors[spread(known, _FITTED)]
    topics, nearness = _assigned(corpus.vectors, _centres(fitted, count))
    topics[np.setdiff1d(np.arange(len(topics)), known)] = -1
    return _described(access, corpus, topics, nearness, show)


def _clustering() -> Any:
    try:
        from sklearn.cluster import KMeans  # type: ignore[import-untyped, unused-ignore]
    except ImportError as error:
        raise MissingExtraError("topics", "topics") from error
    return KMeans


def rows_with_words(vectors: F32) -> I64:
    """Return the rows that are not zero."""
    found = [
        begin + np.flatnonzero(np.any(vectors[begin : begin + _BLOCK], axis=1))
        for begin in range(0, len(vectors), _BLOCK)
    ]
    return np.concatenate([np.zeros(0, np.int64), *found])


def _centres(vectors: F32, count: int) -> F32:
    """Return centres (count, d) of length 1 of vectors (n, d), by k-means."""
    fit = _clustering()(count, n_init=_RESTARTS, random_state=0).fit(vectors)
    centres = np.asarray(fit.cluster_centers_, dtype=np.float32)
    lengths = np.linalg.norm(centres, axis=1, keepdims=True)
    return np.asarray(centres / np.maximum(lengths, 1e-12), dtype=np.float32)


def _assigned(vectors: F32, centres: F32) -> tuple[I32, F32]:
    """Return for each vector the number of the nearest centre, and its cosine with it."""
    topics = np.empty(len(vectors), np.int32)
    nearness = np.empty(len(vectors), np.float32)
    for begin in range(0, len(vectors), _BLOCK):
        cosines = vectors[begin : begin + _BLOCK] @ centres.T
        topics[begin : begin + _BLOCK] = cosines.argmax(axis=1)
        nearness[begin : begin + _BLOCK] = cosines.max(axis=1)
    return topics, nearness


def _described(
    access: CollectionAccess, corpus: Corpus, topics: I32, nearness: F32, show: Progress | None
) -> Topics:
    """Return the topics with their words and examples, and the points of a map."""
    sizes = np.bincount(topics[corpus.texts] + 1)[1:]  # documents, equal texts too
    order = [int(t) for t in np.argsort(-sizes, kind="stable") if sizes[t]]
    firsts = np.unique(corpus.texts, return_index=True)[1]  # the first document of each text
    examples = [
        np.flatnonzero(topics == t)[np.argsort(-nearness[topics == t], kind="stable")][:_EXAMPLES]
        for t in order
    ]
    known = np.flatnonzero(topics >= 0)
    read, drawn = spread(known, _READ), spread(known, _DRAWN)
    wanted = np.unique(np.concatenate([read, drawn, *examples]))
    counts = [Counter[str]() for _ in sizes]
    forms: dict[str, Counter[str]] = {}
    stems: dict[str, str] = {}
    kept: dict[int, TopicExample] = {}
    places = {t: place for place, t in enumerate(order)}
    shown = set(np.concatenate([drawn, *examples]).tolist())
    counted = set(read.tolist())
    with access.reading() as rows:
        analyzer = rows.record.analyzer
        assigned = _assignment(rows.documents, corpus, topics, places)
        for begin in range(0, len(wanted), _BLOCK):
            part = wanted[begin : begin + _BLOCK]
            seqs = corpus.seqs[firsts[part]]
            stored = rows.documents.by_seq(seqs.tolist())
            for number, seq in zip(part.tolist(), seqs.tolist(), strict=True):
                if seq not in stored:
                    continue  # deleted meanwhile
                text = stored[seq].text
                if number in counted:
                    _count(analyzer, text, counts[topics[number]], forms, stems)
                if number in shown:
                    kept[number] = TopicExample(stored[seq].document_id, str(text))
            if show is not None:
                show("name", begin + len(part), len(wanted))
    words = _telling_words(analyzer, [counts[t] for t in order])
    return Topics(
        (
            Topic(
                tuple(forms[stem].most_common(1)[0][0] for stem in words[place]),
                int(sizes[t]),
                tuple(kept[number] for number in examples[place].tolist() if number in kept),
            )
            for place, t in enumerate(order)
        ),
        (
            TopicMapPoint(
                kept[number].id,
                kept[number].text,
                places[int(topics[number])],
                np.array(corpus.vectors[number]),
            )
            for number in drawn.tolist()
            if number in kept
        ),
        assigned,
    )


def _assignment(
    documents: DocumentRepository, corpus: Corpus, topics: I32, places: Mapping[int, int]
) -> dict[str, int | None]:
    """Return the position of each document's topic by id, without documents that were deleted meanwhile."""
    here = np.isin(corpus.seqs, documents.seqs())
    numbers = topics[corpus.texts[here]].tolist()
    ids = documents.ids_of(corpus.seqs[here])
    return {name: places.get(number) for name, number in zip(ids, numbers, strict=True)}


def _count(
    analyzer: Analyzer,
    text: str,
    counts: Counter[str],
    forms: dict[str, Counter[str]],
    stems: dict[str, str],
) -> None:
    """Count each stem of a text once, and the words that it comes from."""
    found = set()
    for word in set(tokenize(text)):
        if word not in stems:
            stems[word] = next(iter(analyzer.words(word)), "")
        found.add(stems[word])
        forms.setdefault(stems[word], Counter())[word] += 1
    counts.update(found)


def _telling_words(analyzer: Analyzer, counts: Sequence[Counter[str]]) -> list[list[str]]:
    """Return the stems that distinguish each topic best from all texts.

    A stem counts p log(p / q), where p is its share of the topic's stems and q its share of all stems. This is its part of
    the divergence of the topic's words from all words. Words that all topics have in common count nothing. Function words
    and numbers are left out, because they describe no topic.
    """
    silent = {
        stem for word in frequent_english()[:_FUNCTION_WORDS] for stem in analyzer.words(word)
    }
    total = Counter[str]()
    for topic in counts:
        total.update(topic)
    every = total.total()
    found = []
    for topic in counts:
        size = topic.total()
        scores = {
            stem: held * math.log(held * every / (size * total[stem]))
            for stem, held in topic.items()
            if stem not in silent and len(stem) > 1 and not stem.isdigit()
        }
        best = sorted((-score, stem) for stem, score in scores.items())
        found.append([stem for _, stem in best[:_WORDS]])
    return found
