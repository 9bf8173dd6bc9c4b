"""Main topics: groups of near topics, by Ward's method."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gem_index.collection.corpus.results import Topic
from gem_index.collection.corpus.topic_words import TopicWords, topic_names
from gem_index.common.arrays import F32
from gem_index.errors import InputError, MissingExtraError

__all__ = ["main_groups", "main_topics"]


def main_groups(centres: F32, count: int) -> list[int]:
    """Return the number of each topic's main topic, computed from the centres (n, d) of the topics.

    Ward's method repeatedly joins the two groups whose union is the most compact. ``benchmarks/main_topics.py``
    compares Ward's method with others: average and complete linkage make one large group of many topics, and k-means
    agrees less with labels.

    Raises
    ------
    InputError
        If there are fewer topics than ``count``.
    """
    try:
        from sklearn.cluster import AgglomerativeClustering  # type: ignore[import-untyped, unused-ignore]
    except ImportError as error:
        raise MissingExtraError("topics", "topics") from error
    if count > len(centres):
        raise InputError(
            f"found {count} main topics to divide {len(centres)} topics into; expected at most {len(centres)}"
        )
    if len(centres) == 1:
        return [0]
    groups: list[int] = AgglomerativeClustering(count).fit(centres).labels_.tolist()
    return groups


def main_topics(
    topics: Sequence[Topic], groups: Sequence[int], words: TopicWords
) -> tuple[list[Topic], list[Topic]]:
    """Return the topics, each with the name of its main topic, and the main topics, the largest first.

    Parameters
    ----------
    topics : sequence of Topic
    groups : sequence of int
        The number of the main topic of each topic.
    words : TopicWords
        The counted words of the topics.
    """
    members = {
        group: [t for t, g in zip(topics, groups, strict=True) if g == group] for group in groups
    }
    sizes = {group: sum(t.documents for t in found) for group, found in members.items()}
    # stable: groups of equal size stay in the order of their largest topics
    order = sorted(members, key=lambda group: -sizes[group])
    telling = words.joined([order.index(group) for group in groups]).telling()
    names = topic_names(telling)
    main = [
        Topic(
            telling[place],
            sizes[group],
            tuple(each.examples[0] for each in members[group] if each.examples),
            names[place],
        )
        for place, group in enumerate(order)
    ]
    return [
        replace(topic, main=names[order.index(group)])
        for topic, group in zip(topics, groups, strict=True)
    ], main
