"""Find the topics of a collection: k-means groups its vectors, and each topic is named by its words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from gem_index.collection.corpus.corpus import Corpus, read_corpus
from gem_index.collection.corpus.main_topics import main_groups, main_topics
from gem_index.collection.corpus.results import Topic, TopicExample, TopicMapPoint
from gem_index.collection.corpus.topic_list import Topics
from gem_index.collection.corpus.topic_words import TopicWords, topic_names
from gem_index.collection.state.access import CollectionAccess
from gem_index.common.arrays import F32, I32, I64
from gem_index.common.checks import check_whole_number
from gem_index.errors import InputError, MissingExtraError
from gem_index.errors.quoting import quoted
from gem_index.index.dense import spread
from gem_index.progress import Progress
from gem_index.store.documents import DocumentRepository
from gem_index.text.tokens import check_texts

__all__ = ["assigned_to", "centres_of", "rows_with_words", "topics_in", "topics_of"]

_FITTED = 10_000  # texts for k-means; afterwards all texts are assigned to the centres
_READ = 50_000  # texts whose words are counted
_DRAWN = 10_000  # points of a map
# the default number of topics is at most this: a person can still read a list of this length
_MOST_TOPICS = 24
_RESTARTS = 3
_EXAMPLES = 3
_BLOCK = 4096

Labeled: TypeAlias = tuple[Sequence[str], F32]
"""Labels (n), and their vectors (n, d)."""


def topics_of(
    access: CollectionAccess,
    n: int | None,
    main: int | None,
    labels: Sequence[str],
    where: Mapping[str, Any] | None,
    show: Progress | None,
) -> Topics:
    """Return the topics of a collection; see :meth:`gem_index.Collection.topics`."""
    if n is not None:
        n = check_whole_number(n, "the number of topics", 1, error=InputError)
    if main is not None:
        main = check_whole_number(main, "the number of main topics", 1, error=InputError)
    _clustering()  # fails now if it is missing, not after minutes of encoding
    named = _named_by(access, labels)
    return topics_in(access, read_corpus(access, where, show), n, show, named, main)


def _named_by(access: CollectionAccess, labels: Sequence[str]) -> Labeled | None:
    """Return the labels with their vectors; None without labels, InputError if a label has no word."""
    if not labels:
        return None
    check_texts(labels, "labels")
    vectors = access.encoder().encode(labels)
    empty = np.flatnonzero(~np.any(vectors, axis=1))
    if len(empty):
        raise InputError(
            f"the label {quoted(labels[int(empty[0])])} has no word with a vector; expected labels of words"
        )
    return labels, vectors


def topics_in(
    access: CollectionAccess,
    corpus: Corpus,
    n: int | None,
    show: Progress | None,
    labels: Labeled | None = None,
    main: int | None = None,
) -> Topics:
    """Return the topics of the documents of a corpus."""
    known = rows_with_words(corpus.vectors)
    if n is not None and n > len(known):
        raise InputError(
            f"found {n} topics for {len(known)} different texts with words; expected at most {len(known):,}"
        )
    if not len(known):
        nothing = np.full(len(corpus.vectors), -1, np.int32)
        with access.reading() as rows:
            return Topics(assigned=_assignment(rows.documents, corpus, nothing, {}))
    count = n or max(1, min(_MOST_TOPICS, round(math.sqrt(len(known) / 8))))
    fitted = corpus.vectors[spread(known, _FITTED)]
    centres = centres_of(fitted, count)
    topics, nearness = assigned_to(corpus.vectors, centres)
    given = [] if labels is None else [labels[0][i] for i in assigned_to(centres, labels[1])[0]]
    topics[np.setdiff1d(np.arange(len(topics)), known)] = -1
    groups = None if main is None else main_groups(centres, main)
    return _described(access, corpus, topics, nearness, given, groups, show)


def _clustering() -> Any:
    try:
        from sklearn.cluster import KMeans  # type: ignore[import-untyped, unused-ignore]
    except ImportError as error:
        raise MissingExtraError("topics", "topics") from error
    return KMeans


def rows_with_words(vectors: F32) -> I64:
    """Return the positions of the vectors that are not zero."""
    found = [
        begin + np.flatnonzero(np.any(vectors[begin : begin + _BLOCK], axis=1))
        for begin in range(0, len(vectors), _BLOCK)
    ]
    return np.concatenate([np.zeros(0, np.int64), *found])


def centres_of(vectors: F32, count: int) -> F32:
    """Return the centres (count, d) of vectors (n, d) by k-means, at unit length."""
    fit = _clustering()(count, n_init=_RESTARTS, random_state=0).fit(vectors)
    centres = np.asarray(fit.cluster_centers_, dtype=np.float32)
    lengths = np.linalg.norm(centres, axis=1, keepdims=True)
    return np.asarray(centres / np.maximum(lengths, 1e-12), dtype=np.float32)


def assigned_to(vectors: F32, centres: F32) -> tuple[I32, F32]:
    """Return, for each vector, the number of the nearest centre, and the cosine with this centre."""
    topics = np.empty(len(vectors), np.int32)
    nearness = np.empty(len(vectors), np.float32)
    for begin in range(0, len(vectors), _BLOCK):
        cosines = vectors[begin : begin + _BLOCK] @ centres.T
        topics[begin : begin + _BLOCK] = cosines.argmax(axis=1)
        nearness[begin : begin + _BLOCK] = cosines.max(axis=1)
    return topics, nearness


def _described(
    access: CollectionAccess,
    corpus: Corpus,
    topics: I32,
    nearness: F32,
    given: Sequence[str],
    groups: Sequence[int] | None,
    show: Progress | None,
) -> Topics:
    """Return the topics with their words and examples, and the points of a map."""
    # the number of documents of each topic; documents with equal texts all count
    sizes = np.bincount(topics[corpus.texts] + 1)[1:]
    order = [int(t) for t in np.argsort(-sizes, kind="stable") if sizes[t]]
    firsts = np.unique(corpus.texts, return_index=True)[1]  # the first document of each text
    examples = [
        np.flatnonzero(topics == t)[np.argsort(-nearness[topics == t], kind="stable")][:_EXAMPLES]
        for t in order
    ]
    known = np.flatnonzero(topics >= 0)
    read, drawn = spread(known, _READ), spread(known, _DRAWN)
    wanted = np.unique(np.concatenate([read, drawn, *examples]))
    kept: dict[int, TopicExample] = {}
    places = {t: place for place, t in enumerate(order)}
    shown = set(np.concatenate([drawn, *examples]).tolist())
    counted = set(read.tolist())
    with access.reading() as rows:
        words = TopicWords(rows.record.analyzer, len(order))
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
                    words.add(places[int(topics[number])], text)
                if number in shown:
                    kept[number] = TopicExample(stored[seq].document_id, str(text))
            if show is not None:
                show("name", begin + len(part), len(wanted))
    distinguishing = words.telling()
    names = topic_names([(given[t],) for t in order] if given else distinguishing)
    found = [
        Topic(
            distinguishing[place],
            int(sizes[t]),
            tuple(kept[number] for number in examples[place].tolist() if number in kept),
            names[place],
        )
        for place, t in enumerate(order)
    ]
    main: list[Topic] = []
    if groups is not None:
        found, main = main_topics(found, [groups[t] for t in order], words)
    return Topics(
        found,
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
        main,
    )


def _assignment(
    documents: DocumentRepository, corpus: Corpus, topics: I32, places: Mapping[int, int]
) -> dict[str, int | None]:
    """Return, for each document id, the position of the document's topic; leave out documents deleted meanwhile."""
    here = np.isin(corpus.seqs, documents.seqs())
    numbers = topics[corpus.texts[here]].tolist()
    ids = documents.ids_of(corpus.seqs[here])
    return {name: places.get(number) for name, number in zip(ids, numbers, strict=True)}
